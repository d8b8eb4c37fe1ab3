package cache_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// 200 stops take some ten seconds, and with the race detector a minute or more:
//
//	go test ./cache -run TestInformerStops -stops 200
var stops = flag.Int("stops", 40, "stops of TestInformerStops")

const stopsOfASeed = 10

// TestInformerStops stops informers at random moments in all ways, under 5,000 writes a
// second, and begins another life with what was left: see ledger for what must hold
// over the lives. In the end stores and consumers have what the server has.
func TestInformerStops(t *testing.T) {
	for seed := range uint64(max(1, *stops/stopsOfASeed)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			inWorld(t, func(t *testing.T, w *world) {
				m := newMortals(w, seed, dir)
				dice := rand.New(rand.NewPCG(m.rnd.Uint64(), 4))
				w.wg.Go(func() { m.write(dice) })
				for n := range stopsOfASeed {
					m.live(n == 0, false)
					m.meanwhile()
				}
				m.quiet.Store(true)
				m.live(false, true)
			})
		})
	}
}

// mortals are the lives of an informer, and the consumers that outlive it.
type mortals struct {
	*world
	rnd     *rand.Rand
	dir     string // empty = no snapshot
	options options
	folds   cache.FIFOOptions
	handler *ledger
	chosen  *ledger     // of a handler that is for even objects
	changes *ledger     // of a loop over Changes
	quiet   atomic.Bool // nothing is written any more
	forget  kube.Key    // an object that a loop may know and that must be gone before the next life
}

// life is one of them.
type life struct {
	*mortals
	i     *informer
	pause time.Duration // of the handler
	stall time.Duration // of the handler before it is killed

	mu   sync.Mutex
	fate string // what the handler does at its next call
	left map[string][]byte
	dead bool // killed: what consumers do from now on did not happen
}

func newMortals(w *world, seed uint64, dir string) *mortals {
	m := &mortals{
		world: w, rnd: rand.New(rand.NewPCG(seed, 3)), dir: dir,
		handler: newLedger(w.t, "handler", w.uidOf), changes: newLedger(w.t, "changes", w.uidOf),
		folds: cache.FIFOOptions{Cancel: seed%2 == 1},
	}
	m.chosen = newLedger(w.t, "selected", func(kube.Key) string { return "" })
	m.chosen.keep = isEven
	switch seed % 4 {
	case 0:
		m.options.Watch = watch.Options{Initial: watch.Paged, Limit: 7}
	case 1:
		m.dir = ""
		m.options.Namespaces = []string{"a", "b"}
	}
	return m
}

func isEven(o kube.Partial) bool {
	v := o.Labels["v"]
	return v != "" && v[len(v)-1]%2 == 0
}

// write changes something 5,000 times a second, until it is quiet.
func (m *mortals) write(rnd *rand.Rand) {
	for m.ctx.Err() == nil && !m.quiet.Load() {
		for range 5 {
			ns, name := string(rune('a'+rnd.IntN(2))), fmt.Sprint("x", rnd.IntN(60))
			switch rnd.IntN(8) {
			case 0:
				m.delete(ns, name)
			case 1:
				m.delete(ns, name)
				m.put(ns, name, fmt.Sprint(rnd.Int()))
			default:
				m.put(ns, name, fmt.Sprint(rnd.Int()))
			}
		}
		<-time.After(time.Millisecond)
	}
}

// meanwhile nobody lives.
func (m *mortals) meanwhile() {
	<-time.After(time.Duration(m.rnd.IntN(20)) * time.Millisecond)
	forget := m.forget != kube.Key{}
	if forget {
		m.delete(m.forget.Namespace, m.forget.Name)
		m.forget = kube.Key{}
	}
	if forget || m.rnd.IntN(3) == 0 {
		m.srv.Expire()
	}
}

// live runs an informer to its end, or until it is quiet.
func (m *mortals) live(first, last bool) {
	cold := first || m.dir == ""
	m.handler.begin(cold)
	m.changes.begin(cold)
	m.chosen.begin(cold)
	o := m.options
	o.OnError = func(err error) {
		if strings.Contains(err.Error(), "snapshot") {
			m.t.Error(err)
		}
	}
	if m.dir != "" {
		o.Snapshot = cache.Snapshot{Path: filepath.Join(m.dir, "maps"), Cluster: "c1", Every: time.Duration(1+m.rnd.IntN(30)) * time.Millisecond}
		if last {
			o.Snapshot.Every = time.Second
		}
	}
	l := &life{mortals: m, i: cache.New(m.maps, o), pause: []time.Duration{0, 50, 200, 1000}[m.rnd.IntN(4)] * time.Microsecond}
	l.stall = time.Duration(m.rnd.IntN(2)) * 100 * time.Millisecond // in which the loop takes all that waits
	ctx, cancel := context.WithCancel(m.ctx)
	var ends sync.WaitGroup
	follow := func() {
		ends.Go(func() { l.follow(ctx) })
		synctest.Wait() // it is there before Run
	}
	if early := m.rnd.IntN(2) == 0; early { // and takes events that the handler has not returned from
		follow()
		l.i.HandleSelected(isEven, l.handleSelected)
		l.i.Handle(l.handle)
	} else {
		l.i.Handle(l.handle)
		l.i.HandleSelected(isEven, l.handleSelected)
		follow()
	}
	ends.Go(func() {
		defer func() { _ = recover() }()
		_ = l.i.Run(ctx)
	})
	if last {
		m.pass(2 * time.Minute)
		m.handler.settled(l.i.Store(), m.truth())
		m.changes.settled(l.i.Store(), m.truth())
		m.chosen.settled(l.i.Store(), m.truth())
	} else {
		l.end()
	}
	cancel()
	ends.Wait()
	l.putBack()
}

// end lets some time pass, disturbs the watch, and chooses an end.
func (l *life) end() {
	<-time.After(time.Duration(l.rnd.IntN(40)) * time.Millisecond)
	switch l.rnd.IntN(4) {
	case 0:
		l.srv.Expire() // and so a list
		l.srv.Cut()
	case 1:
		l.srv.CloseWatches()
	}
	<-time.After(time.Duration(l.rnd.IntN(20_000)) * time.Microsecond)
	fates := []string{"", "goexit"}
	if l.dir != "" {
		fates = []string{"", "", "goexit", "panic", "killed", "killed in a call", "killed when selected"}
	}
	fate := fates[l.rnd.IntN(len(fates))]
	if fate == "killed" {
		l.i.Handle(func(delta) { l.kill() }) // which holds exclusive
		return
	}
	if fate != "" {
		l.mu.Lock()
		l.fate = fate
		l.mu.Unlock()
		<-time.After(10*time.Millisecond + l.stall)
	}
}

// handle is a handler.
func (l *life) handle(d delta) {
	l.mu.Lock()
	fate := l.fate
	if fate == "killed when selected" {
		fate = ""
	} else if fate == "killed in a call" && (d.Type != watch.Added || d.Initial) {
		fate = "" // at the next object that is new
	} else {
		l.fate = ""
	}
	l.mu.Unlock()
	l.enter(l.handler, d)
	if l.pause > 0 {
		<-time.After(l.pause)
	}
	switch fate {
	case "panic":
		panic("on purpose")
	case "goexit":
		runtime.Goexit()
	case "killed in a call":
		<-time.After(l.stall) // the slow loop goes on
		if l.kill(); l.stall > 0 {
			l.forget = d.Key
		}
	}
	l.leave(l.handler, d)
}

// handleSelected is a handler that is for even objects.
func (l *life) handleSelected(d delta) {
	l.mu.Lock()
	fate := l.fate
	l.mu.Unlock()
	l.enter(l.chosen, d)
	l.leave(l.chosen, d)
	if fate == "killed when selected" && d.Type == watch.Added && !d.Initial {
		l.kill()
		l.forget = d.Key
	}
}

// follow is a slow consumer.
func (l *life) follow(ctx context.Context) {
	for d := range l.i.Changes(ctx, l.folds) {
		l.enter(l.changes, d)
		<-time.After(500 * time.Microsecond)
		l.leave(l.changes, d)
	}
}

func (l *life) enter(to *ledger, d delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dead {
		to.enter(d)
	}
}

func (l *life) leave(to *ledger, d delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dead {
		to.leave(d)
	}
}

// kill notes what a process that is killed now leaves on the disk. No event is applied
// meanwhile, but a snapshot may be on its way to the disk: the journal is copied before
// the snapshot that stands for it.
func (l *life) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	l.dead, l.left = true, map[string][]byte{}
	names, err := filepath.Glob(filepath.Join(l.dir, "maps?*"))
	if err != nil {
		l.t.Error(err)
	}
	for _, name := range append(names, filepath.Join(l.dir, "maps")) {
		switch b, err := os.ReadFile(name); {
		case err == nil:
			l.left[name] = b
		case !errors.Is(err, fs.ErrNotExist):
			l.t.Error(err)
		}
	}
}

// putBack makes the disk hold what was left, if it was killed.
func (l *life) putBack() {
	if !l.dead {
		return
	}
	for name, b := range l.left {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			l.t.Error(err)
		}
	}
	names, err := filepath.Glob(filepath.Join(l.dir, "*"))
	if err != nil {
		l.t.Error(err)
	}
	for _, name := range names {
		if l.left[name] == nil {
			if err := os.Remove(name); err != nil {
				l.t.Error(err)
			}
		}
	}
}
