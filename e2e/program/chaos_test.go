package program_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

// The size of TestChaos.
const (
	chaosSeed   = 20261121
	chaosWrites = 5000
	chaosCuts   = 21
	cutWrites   = 150 // around each cut
	idleTimeout = 5 * time.Second
)

// TestChaos breaks what can break between the program and a real apiserver,
// while 5,000 writes go on, and then holds the output against the writes.
func TestChaos(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	t.Logf("seed %d", chaosSeed)
	h := newChaos(ctx, t)
	for i := range chaosCuts {
		h.cut(i)
	}
	h.silence()
	h.forget()
	h.restartAtRest()
	h.restartUnderLoad()
	h.expire()
	record := h.finish()

	for _, resource := range load.Resources() {
		a := newAccount(h.story.records, resource, record)
		a.check(t)
		if len(a.relists) != h.expired {
			t.Errorf("%s: %d relists, want the %d that a 410 forced", resource, len(a.relists), h.expired)
		}
		if a.disconnected < h.broken || a.reconnected != a.disconnected {
			t.Errorf("%s: %d DISCONNECTED and %d RECONNECTED, want the same number, at least %d",
				resource, a.disconnected, a.reconnected, h.broken)
		}
		t.Logf("%s: %s", resource, a)
	}
	checkSequence(t, h.story.records)
}

// chaos is a cluster, a proxy before it, the program behind that, and writers
// that speak to the cluster itself.
type chaos struct {
	*session
	proxy    *cluster.Proxy
	random   *rand.Rand
	throttle *throttle
	loaded   chan loaded

	broken  int // how often every watch was broken
	expired int // how often every watch was made to expire
}

type loaded struct {
	record *load.Record
	err    error
}

func newChaos(ctx context.Context, t *testing.T) *chaos {
	c := cluster.ForTest(t, cluster.Options{})
	proxy, err := cluster.NewProxy(c.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	h := &chaos{
		session: newSession(ctx, t, c), proxy: proxy, random: rand.New(rand.NewPCG(chaosSeed, 1)),
		throttle: newThrottle(c.Authorize(c.Transport())), loaded: make(chan loaded, 1),
	}
	config := load.Config{URL: c.URL(), HTTP: &http.Client{Transport: h.throttle}, Seed: chaosSeed,
		Writes: chaosWrites, Payload: 1500, Retry: 4 * time.Minute}
	prepared := config
	prepared.HTTP = c.HTTPClient()
	if err := load.Setup(ctx, prepared); err != nil {
		t.Fatal(err)
	}
	h.start(setup.BuildProgram(t), proxy.URL(), "--idle-timeout", idleTimeout.String())
	go func() {
		record, err := load.Run(ctx, config)
		h.throttle.release() // whoever waits for progress is not kept waiting
		h.loaded <- loaded{record, err}
	}()
	return h
}

// cut breaks every connection amid writes, in one of three ways.
func (h *chaos) cut(i int) {
	before := h.story.count("DISCONNECTED")
	switch i % 3 {
	case 0: // at once
		h.throttle.allow(cutWrites)
		h.must(h.throttle.progress(h.ctx, cutWrites/2))
		h.proxy.CutAll()
	case 1: // inside a frame
		h.proxy.CutAfter(1 + h.random.Int64N(30_000))
		h.throttle.allow(cutWrites)
	case 2: // and refuse new ones for a while
		h.throttle.allow(cutWrites)
		h.must(h.throttle.progress(h.ctx, cutWrites/2))
		h.proxy.Refuse()
		h.proxy.CutAll()
		h.must(h.throttle.progress(h.ctx, 0))
		h.must(h.proxy.Accept())
	}
	h.until("DISCONNECTED", before)
	h.broken++
}

// silence stops all bytes, without an end of any connection, for longer than the
// program bears.
func (h *chaos) silence() {
	before := h.story.count("DISCONNECTED")
	h.proxy.Pause()
	h.throttle.allow(cutWrites)
	h.must(h.story.until(h.ctx, "silence to be noticed", func() bool {
		for resource, n := range before {
			if h.story.counts[resource]["DISCONNECTED"] == n {
				return false
			}
		}
		return true
	}))
	h.must(h.throttle.progress(h.ctx, 0))
	h.proxy.Resume()
	h.until("DISCONNECTED", before)
	h.broken++
}

// forget loses every connection without a sign. Only silence shows it, and new
// connections work.
func (h *chaos) forget() {
	before := h.story.count("DISCONNECTED")
	h.proxy.Forget()
	h.throttle.allow(cutWrites)
	began := time.Now()
	h.until("DISCONNECTED", before)
	h.broken++
	h.Logf("found again %s after the connections were forgotten", time.Since(began).Round(time.Second))
}

// restartAtRest kills the apiserver while the program has seen everything. The
// new one's history begins after what the program saw, so it answers 410 though
// nothing changed, and the program must relist and find just that.
func (h *chaos) restartAtRest() {
	h.must(h.throttle.progress(h.ctx, 0))
	h.caughtUp()
	from := h.length()
	h.restart(func() {})
	for _, r := range h.story.records[from:h.length()] {
		if r.isObject() && isLoad(&r) {
			h.Errorf("nothing was written during the restart, but the program prints %s %v %+v", r.Type, r.ref(), r.version())
		}
	}
}

// restartUnderLoad kills the apiserver while it is being written to.
func (h *chaos) restartUnderLoad() {
	h.throttle.allow(400)
	h.must(h.throttle.progress(h.ctx, 200))
	h.restart(func() {})
}

// expire makes the program miss writes whose history is gone when it is back:
// what was created, changed and deleted in between it can only learn by listing again.
func (h *chaos) expire() {
	h.throttle.allow(400)
	h.must(h.throttle.progress(h.ctx, 300))
	h.proxy.Refuse()
	h.proxy.CutAll()
	h.must(h.throttle.progress(h.ctx, 0))
	h.restart(func() {
		if _, err := h.cluster.Compact(h.ctx); err != nil {
			h.Fatal(err)
		}
		h.must(h.proxy.Accept())
		h.throttle.allow(200) // during the relist
	})
}

// restart kills the apiserver and starts it again, calls then, and waits until
// the program has relisted.
func (h *chaos) restart(then func()) {
	before := h.story.count("RELISTED")
	h.must(h.cluster.KillAPIServer())
	if _, err := h.cluster.Advance(h.ctx); err != nil {
		h.Fatal(err)
	}
	h.must(h.cluster.StartAPIServer(h.ctx))
	then()
	h.until("RELISTED", before)
	h.broken++
	h.expired++
}

// finish lets the load end and the program catch up, and stops it.
func (h *chaos) finish() *load.Record {
	h.throttle.release()
	done := <-h.loaded
	h.must(done.err)
	if len(done.record.Writes) != chaosWrites {
		h.Fatalf("%d writes, want %d", len(done.record.Writes), chaosWrites)
	}
	h.caughtUp()
	h.stop()
	return done.record
}
