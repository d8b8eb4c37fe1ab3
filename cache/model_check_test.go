package cache_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// thing is what the model keeps. Its data may be such that it does not decode.
type thing struct {
	kube.Meta `json:"metadata"`
	Data      struct {
		N int `json:"n"`
	} `json:"data"`
}

// known is what the model needs to know of an object.
type known interface {
	cache.Labeled
	cache.Owned[kube.OwnerReference]
	GetUID() string
}

// fact is what the server has under a key.
type fact struct {
	uid, revision string
	labels        map[string]string
	bad           bool // it does not decode as a thing
}

// believer is a consumer that knows only the deltas that it got, and
// complains of each that does not follow from the ones before.
type believer[T known] struct {
	t       *testing.T
	name    string
	keep    func(T) bool    // the objects that it gets; nil = all
	resync  atomic.Bool     // it may get resyncs
	slow    time.Duration   // the longest pause in a call
	lax     *atomic.Bool    // the server was restored: a kept state may be of a future that never came
	synced  <-chan struct{} // nil = of Changes, which folds, or of no handler of its own
	removed atomic.Int32    // 0, or 1 and the calls since it was removed
	busy    atomic.Bool
	leave   func() // for guests

	mu        sync.Mutex
	rnd       *rand.Rand
	objects   map[kube.Key]T
	loaded    map[kube.Key]T // by Initial, in all
	delivered []string       // the last of them
}

func newBeliever[T known](m *model, name string) *believer[T] {
	return &believer[T]{
		t: m.t, name: name, lax: &m.lax, rnd: rand.New(rand.NewPCG(m.rnd.Uint64(), 0)),
		objects: map[kube.Key]T{}, loaded: map[kube.Key]T{},
	}
}

// take is a handler.
func (b *believer[T]) take(d cache.Delta[T]) {
	if !b.busy.CompareAndSwap(false, true) {
		b.t.Errorf("%s: two calls at a time", b.name)
	}
	defer b.busy.Store(false)
	if b.removed.Load() > 0 && b.removed.Add(1) > 2 { // one may be under way
		b.t.Errorf("%s got %s of %s after it was removed", b.name, d.Type, d.Key)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slow > 0 && b.rnd.IntN(4) == 0 {
		pause := time.Duration(b.rnd.Int64N(int64(b.slow)))
		b.mu.Unlock()
		<-time.After(pause)
		b.mu.Lock()
	}
	b.delivered = append(b.delivered[max(0, len(b.delivered)-15):], fmt.Sprintf("%s %s %s %s>%s initial=%t inferred=%t resync=%t",
		d.Type, d.Key, d.UID, d.Old.GetResourceVersion(), d.New.GetResourceVersion(), d.Initial, d.Inferred, d.Resync))
	if why := b.illegal(d); why != "" {
		b.t.Errorf("%s: %s:\n\t%s", b.name, why, strings.Join(b.delivered, "\n\t"))
	}
	if d.Initial {
		b.loaded[d.Key] = d.New
	}
	if d.Type == watch.Deleted {
		delete(b.objects, d.Key)
		return
	}
	b.objects[d.Key] = d.New
}

// illegal says what is wrong with a delta; "" = nothing.
func (b *believer[T]) illegal(d cache.Delta[T]) string {
	last, have := b.objects[d.Key]
	isAdded := d.Type == watch.Added
	switch {
	case isAdded && have:
		return "added, but it is there"
	case !isAdded && !have:
		return "not added, and not there"
	case isAdded && !reflect.ValueOf(d.Old).IsZero():
		return "added with an old state"
	case have && !reflect.DeepEqual(d.Old, last):
		return fmt.Sprintf("the old state is not that of the last delta, %s", last.GetResourceVersion())
	case kube.KeyOf(d.New) != d.Key || d.New.GetUID() != d.UID:
		return fmt.Sprintf("the new state is of %s %s", kube.KeyOf(d.New), d.New.GetUID())
	case have && d.Old.GetUID() != d.UID:
		return "it changed its UID, which is a deletion and an addition"
	case d.Type == watch.Modified && !d.Resync && !d.Inferred && !newer(d.New, d.Old) && !b.lax.Load():
		return "it went back in time"
	case d.Resync && (d.Type != watch.Modified || !reflect.DeepEqual(d.New, last) || !b.resync.Load()):
		return "a resync with changes, or one that was not requested"
	case d.Initial && (d.Type == watch.Deleted || d.Inferred && b.synced != nil || closed(b.synced)):
		return "initial, and yet not at the beginning"
	case b.keep != nil && !isAdded && !b.keep(d.Old), b.keep != nil && d.Type != watch.Deleted && !b.keep(d.New):
		return "it was to be left out"
	}
	return ""
}

func newer[T known](a, b T) bool {
	return kube.Revision(a.GetResourceVersion()).Newer(kube.Revision(b.GetResourceVersion()))
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default: // or nil
		return false
	}
}

// differs compares what it believes with a store.
func (b *believer[T]) differs(s *cache.Store[T]) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	want := maps.Collect(s.All())
	maps.DeleteFunc(want, func(_ kube.Key, o T) bool { return b.keep != nil && !b.keep(o) })
	if reflect.DeepEqual(want, b.objects) {
		return ""
	}
	return fmt.Sprintf("%s believes %v, the store has %v; it got\n\t%s", b.name, states(b.objects), states(want), strings.Join(b.delivered, "\n\t"))
}

func states[T known](objects map[kube.Key]T) (lines []string) {
	for k, o := range objects {
		lines = append(lines, fmt.Sprintf("%s@%s", k, o.GetResourceVersion()))
	}
	slices.Sort(lines)
	return lines
}

// subject is an informer with all that hangs on it.
type subject[T known] struct {
	name   string
	i      *cache.Informer[T]
	covers func(kube.Key, fact) bool // whether it should have an object; nil = always
	lazy   bool                      // T has no data, so everything decodes

	believers []*believer[T]
	indexes   []*indexed[T]
}

// indexed is an index and its definition.
type indexed[T known] struct {
	*cache.Index[T, string]
	values func(T) []string
}

// index adds the three ready-made indexes and checks them from now on.
func (s *subject[T]) index() {
	s.indexes = []*indexed[T]{
		{cache.ByNamespace(s.i.Store()), func(o T) []string { return []string{o.GetNamespace()} }},
		{cache.ByLabel(s.i.Store(), "app"), func(o T) []string {
			if v, ok := o.GetLabels()["app"]; ok {
				return []string{v}
			}
			return nil
		}},
		{cache.ByOwner(s.i.Store()), func(o T) (uids []string) {
			for _, r := range o.GetOwnerReferences() {
				uids = append(uids, r.UID)
			}
			return uids
		}},
	}
}

// differs compares the store with the truth, and everybody with the store.
func (s *subject[T]) differs(truth map[kube.Key]fact) string {
	store := s.i.Store()
	if !store.Synced() {
		return fmt.Sprintf("%s is not synced: %v", s.name, s.i.Status().Err)
	}
	for k, f := range truth {
		o, ok := store.Get(k)
		switch wanted := s.covers == nil || s.covers(k, f); {
		case !wanted && ok:
			return fmt.Sprintf("%s has %s, which it should not", s.name, k)
		case !wanted:
		case ok && o.GetUID() != f.uid:
			return fmt.Sprintf("%s has %s with the UID %s, the server %s (bad=%t)", s.name, k, o.GetUID(), f.uid, f.bad)
		case f.bad && !s.lazy: // some state that could be read, or none
		case !ok || o.GetResourceVersion() != f.revision:
			return fmt.Sprintf("%s has %s at %q, the server at %s", s.name, k, o0(o, ok), f.revision)
		}
	}
	for k := range store.All() {
		if _, ok := truth[k]; !ok {
			return fmt.Sprintf("%s has %s, which is gone", s.name, k)
		}
	}
	for _, b := range s.believers {
		if diff := b.differs(store); diff != "" {
			return s.name + ": " + diff
		}
	}
	for n, x := range s.indexes {
		if diff := x.differs(store); diff != "" {
			return fmt.Sprintf("%s: index %d: %s", s.name, n, diff)
		}
	}
	return ""
}

func o0[T known](o T, ok bool) string {
	if !ok {
		return ""
	}
	return o.GetResourceVersion()
}

// differs compares an index with its definition.
func (x *indexed[T]) differs(s *cache.Store[T]) string {
	want := map[string][]kube.Key{}
	for k, o := range s.Select("", nil) {
		for _, v := range x.values(o) {
			want[v] = append(want[v], k)
		}
	}
	got := map[string][]kube.Key{}
	for v := range x.Values() {
		got[v] = x.Keys(v)
	}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return fmt.Sprintf("%v, want %v", got, want)
}
