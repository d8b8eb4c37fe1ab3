package cache_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// ledger is a consumer of deltas whose memory outlives the process of its informer.
// It knows an object once its handler has returned from it, and forgets it once its
// handler has returned from its deletion. Over any number of lives of the informer
// the deltas must chain:
//
//   - Within a life, the first delta of an object is Added, each further one starts from
//     the state of the one before, and one handler gets one call at a time.
//   - What is known when a life begins is delivered in that life, with the same UID,
//     though another object may have its name by then.
//   - A deletion is delivered only when the server no longer has that object.
//   - A life that begins with a snapshot delivers again only what it holds, as Initial.
//
// So no deletion is invented; and where in the end the ledger knows what the server has,
// none was missed.
type ledger struct {
	t    *testing.T
	name string
	uid  func(kube.Key) string   // what the server has now; empty = nothing
	keep func(kube.Partial) bool // what it is for, and then uid says nothing; nil = everything

	mu      sync.Mutex
	known   map[incarnation]bool      // over all lives
	pending map[incarnation]bool      // known when the life began and not delivered since
	objects map[kube.Key]kube.Partial // of this life
	busy    bool
	lines   []string // the last deltas
}

// incarnation is one object: a name may have several, one after the other.
type incarnation struct {
	key kube.Key
	uid string
}

func newLedger(t *testing.T, name string, uid func(kube.Key) string) *ledger {
	return &ledger{t: t, name: name, uid: uid, known: map[incarnation]bool{}, objects: map[kube.Key]kube.Partial{}}
}

// uidOf returns the UID of an object that the server has now.
func (w *world) uidOf(k kube.Key) string {
	b := w.srv.Get(kube.ConfigMaps, k)
	if b == nil {
		return ""
	}
	o, err := codec.Decode[kube.Partial](b)
	if err != nil {
		w.t.Error(err)
	}
	return o.UID
}

// begin begins a life. A cold one, that has no snapshot to begin with, cannot know
// what went meanwhile.
func (l *ledger) begin(cold bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cold {
		clear(l.known)
	}
	l.pending = maps.Clone(l.known)
	l.busy = false
	clear(l.objects)
	l.lines = append(l.lines, "life")
}

// enter checks a delta that a handler was called with.
func (l *ledger) enter(d delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines[max(0, len(l.lines)-20):], fmt.Sprintf("%s %s %s %s>%s initial=%t inferred=%t",
		d.Type, d.Key, d.UID, d.Old.ResourceVersion, d.New.ResourceVersion, d.Initial, d.Inferred))
	if l.busy {
		l.wrong("two calls at a time")
	}
	l.busy = true
	last, have := l.objects[d.Key]
	switch {
	case have == (d.Type == watch.Added):
		l.wrong("delivered before: %t", have)
	case have && last.ResourceVersion != d.Old.ResourceVersion:
		l.wrong("the old state is not that of the last delta, %s", last.ResourceVersion)
	case d.Type == watch.Modified && !kube.Revision(d.New.ResourceVersion).Newer(kube.Revision(last.ResourceVersion)) && !d.Inferred:
		l.wrong("it went back in time")
	case d.Type == watch.Deleted && l.uid(d.Key) == d.UID:
		l.wrong("a deletion that did not happen")
	}
	delete(l.pending, incarnation{d.Key, d.UID})
	if d.Type == watch.Deleted {
		delete(l.objects, d.Key)
	} else {
		l.objects[d.Key] = d.New
	}
}

// leave notes that the handler returned.
func (l *ledger) leave(d delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	if d.Type == watch.Deleted {
		delete(l.known, incarnation{d.Key, d.UID})
	} else {
		l.known[incarnation{d.Key, d.UID}] = true
	}
}

func (l *ledger) take(d delta) {
	l.enter(d)
	l.leave(d)
}

// slowly is take with a pause.
func (l *ledger) slowly(pause time.Duration) func(delta) {
	return func(d delta) {
		l.enter(d)
		<-time.After(pause)
		l.leave(d)
	}
}

func (l *ledger) wrong(format string, args ...any) {
	l.t.Errorf("%s: %s:\n\t%s", l.name, fmt.Sprintf(format, args...), strings.Join(l.lines, "\n\t"))
}

// settled is for when the informer has synced and nothing happens any more: the
// ledger, the store and the server must agree.
func (l *ledger) settled(s *cache.Store[kube.Partial], truth []string) {
	l.t.Helper()
	if diff := cmp.Diff(truth, stateOf(s)); diff != "" {
		l.t.Errorf("%s: the store (-server +store):\n%s", l.name, diff)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keep != nil {
		truth = nil
		for _, o := range s.Select("", l.keep) {
			truth = append(truth, describe(o))
		}
		slices.Sort(truth)
	}
	var state []string
	for _, o := range l.objects {
		state = append(state, describe(o))
	}
	slices.Sort(state)
	if diff := cmp.Diff(truth, state); diff != "" {
		l.wrong("(-server +delivered)\n%s", diff)
	}
	for o := range l.pending {
		l.wrong("%s %s was known when the life began and is not delivered", o.key, o.uid)
	}
	want := map[incarnation]bool{}
	for k, o := range l.objects {
		want[incarnation{k, o.UID}] = true
	}
	if diff := cmp.Diff(want, l.known, cmp.AllowUnexported(incarnation{})); diff != "" {
		l.wrong("(-server +known)\n%s", diff)
	}
}
