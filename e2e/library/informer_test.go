package library_test

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// What TestInformer does.
const (
	informerSeed = 20261122
	saveOften    = 20 * time.Millisecond
	saveNever    = time.Hour // but at the end
)

// TestInformer kills a process that runs a cache.Informer with a snapshot, and the
// apiserver, at every kind of moment, while objects of a custom resource are
// created, changed, deleted and created again. After each round the log of all
// lives is held against the writes.
func TestInformer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	t.Logf("seed %d", informerSeed)
	h := newLives(ctx, t)
	for _, round := range []struct {
		name string
		run  func()
	}{
		{"killed while it lists", h.killedListing},
		{"killed under load", h.killedUnderLoad},
		{"killed right after a snapshot", h.killedAfterSaving},
		{"killed while it saves", h.killedSaving},
		{"killed before it drops a journal", h.killedDropping},
		{"killed before an acknowledgement", h.killedBefore},
		{"killed before a handler returned", h.killedAfter},
		{"killed while it delivers its snapshot", h.killedDelivering},
		{"the apiserver killed", h.serverKilled},
		{"history expired while it was down", h.historyExpired},
		{"all killed, its last words unsaved", h.allKilled},
		{"a damaged snapshot", h.damaged},
		{"nothing happened", h.nothing},
	} {
		began := time.Now()
		round.run()
		t.Logf("%-40s %6s  lives up to %d, %d writes, acknowledged %d", round.name,
			time.Since(began).Round(10*time.Millisecond), h.number-1, len(h.ledger.written()), h.acknowledged)
	}
	for _, from := range []beginning{cold, served, expired} {
		t.Logf("%s starts: %v ms until synced; delivered %d deletions of what an earlier life had delivered", from, h.took[from], h.inherited[from])
		if h.inherited[from] == 0 {
			t.Errorf("no %s start had a deletion to deliver: the test has shown nothing", from)
		}
	}
	t.Logf("%d objects were in a snapshot and their namesakes in the journal; %d were in the journal, and not yet delivered", h.replaced, h.announced)
	if h.replaced == 0 || h.announced == 0 {
		t.Error("the test has not shown both")
	}
}

// lives are the lives of one informer, and the account of what they delivered.
type lives struct {
	*testing.T
	ctx        context.Context
	cluster    *cluster.Cluster
	proxy      *cluster.Proxy // before it, for the informer
	ledger     *ledger
	random     *rand.Rand
	program    string
	kubeconfig string
	id         string // of the cluster
	path       string // of the snapshot
	log        *os.File
	torn       []byte // read and not yet a line

	now    *life
	number int
	known  map[string]int // by UID, what was delivered and not yet as deleted: the first life that delivered it

	inherited map[beginning]int     // deletions of what an earlier life had delivered
	took      map[beginning][]int64 // ms until synced

	acknowledged int // writes
	saved        int // writes that were in the last snapshot

	snapshot *snapshot  // that the last life left; nil = none
	journal  []delivery // what it left besides, the oldest first
	noted    noted      // and what may be there too

	replaced  int // objects whose place one of the journal took
	announced int // objects of which only the journal knew
}

func newLives(ctx context.Context, t *testing.T) *lives {
	c := cluster.ForTest(t, cluster.Options{})
	proxy, err := cluster.NewProxy(c.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	h := &lives{
		T: t, ctx: ctx, cluster: c, proxy: proxy, random: rand.New(rand.NewPCG(informerSeed, 1)), program: setup.BuildAsTest(t, "..", "./cmd/informer"),
		kubeconfig: setup.Kubeconfig(t, c, proxy.URL()), path: filepath.Join(dir, "foos.snapshot"),
		known: map[string]int{}, inherited: map[beginning]int{}, took: map[beginning][]int64{},
	}
	var system struct {
		Metadata setup.Metadata `json:"metadata"`
	}
	h.must(json.Unmarshal(setup.MustSend(t, c, http.MethodGet, "/api/v1/namespaces/kube-system", "", ""), &system))
	h.id = system.Metadata.UID
	h.log, err = os.OpenFile(filepath.Join(dir, "log.ndjson"), os.O_CREATE|os.O_RDONLY, 0o600)
	h.must(err)
	t.Cleanup(func() { h.log.Close() })
	h.ledger = newLedger(ctx, t, c, informerSeed, 600)
	h.must(h.ledger.left(0))
	return h
}

func (h *lives) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// write lets n writes happen.
func (h *lives) write(n int) {
	h.Helper()
	h.ledger.allow(n)
	h.must(h.ledger.left(0))
}

// begin checks the last life and begins the next, once nothing more is written.
func (h *lives) begin(from beginning, every time.Duration, hold string) *life {
	h.Helper()
	snap := h.account()
	if (snap == nil) != (from == cold) {
		h.Fatalf("a %s life begins, and is there a snapshot: %t", from, snap != nil)
	}
	return h.launch(from, snap, every, hold)
}

// differences returns in how many deltas the next life will deliver a list.
func (h *lives) differences() int {
	h.Helper()
	var saved state
	if s := h.account(); s != nil {
		saved = s.state
	}
	s, _ := restored(saved, h.journal)
	return s.distance(h.ledger.now())
}

// settle waits until the informer has delivered the present state, compares it with
// the server's, and its store and indexes too. Only the lost may be gone without a delivery.
func (l *life) settle(lost ...string) {
	l.Helper()
	l.must(l.ledger.left(0))
	want := l.ledger.now()
	l.until("the present state", func() bool { return maps.Equal(l.state, want) })
	l.marked("synced", 0)
	truth, namespaces, letters := foosNow(l.T, l.cluster)
	before := l.marks["shown"]
	l.send("show")
	l.marked("shown", before)
	if before == 0 {
		l.took[l.from] = append(l.took[l.from], l.last("synced").Millis)
	}
	shown := l.last("shown")
	for what, diff := range map[string]string{
		"what was written":      cmp.Diff(truth, want),
		"what was delivered":    cmp.Diff(truth, l.state),
		"the store":             cmp.Diff(truth, shown.Objects),
		"the index by space":    cmp.Diff(namespaces, shown.Namespaces),
		"the index by a letter": cmp.Diff(letters, shown.Letters),
	} {
		if diff != "" {
			l.Fatalf("life %d: %s differs (-server +got):\n%s", l.number, what, diff)
		}
	}
	l.lives.lost(truth, lost)
}

func (h *lives) stat() os.FileInfo {
	h.Helper()
	fi, err := os.Stat(h.path)
	if !os.IsNotExist(err) {
		h.must(err)
	}
	return fi
}

// replaced waits until the snapshot is another file than before.
func (l *life) replaced(before os.FileInfo) {
	l.Helper()
	l.until("a snapshot", func() bool {
		fi := l.stat()
		return fi != nil && (before == nil || !os.SameFile(before, fi) || !before.ModTime().Equal(fi.ModTime()))
	})
}
