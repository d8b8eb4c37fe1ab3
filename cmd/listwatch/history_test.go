package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// restless changes objects of some types at random, and remembers what it did: the
// history that the server should be told to have had.
type restless struct {
	srv   *apitest.Server
	types []kube.Resource
	names int // of each type
	loses int // one act of so many forgets the history; 0 = none

	mu     sync.Mutex
	rnd    *rand.Rand
	acts   int
	exist  map[string]map[string]bool // by type and name
	judges []*judge                   // who hears of it
}

// history is what happened to the objects of one type, as a judge keeps it.
type history struct {
	all   []state          // by revision; of a long story, the end
	at    int              // the judge has come to all[at]
	alive map[string]state // by name, there

	chosen map[string]state // by name, at the end of all: what the judge's runs select
}

// state is what one act made of an object.
type state struct {
	rev             int
	what, name, uid string
	object          string // normal; of DELETED the last
}

func newRestless(srv *apitest.Server, seed uint64, names int, types ...kube.Resource) *restless {
	w := &restless{srv: srv, types: types, names: names, rnd: rand.New(rand.NewPCG(seed, 2)), exist: map[string]map[string]bool{}}
	for _, r := range types {
		w.exist[r.GroupResource()] = map[string]bool{}
	}
	return w
}

// run acts every now and then.
func (w *restless) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.act()
		case <-ctx.Done():
			return
		}
	}
}

func (w *restless) act() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acts++
	if w.loses > 0 && w.rnd.IntN(w.loses) == 0 {
		w.srv.Expire()
		w.srv.CloseWatches()
	}
	r := w.types[w.rnd.IntN(len(w.types))]
	key := kube.Key{Namespace: "a", Name: fmt.Sprintf("c%02d", w.rnd.IntN(w.names))}
	known := w.exist[r.GroupResource()][key.Name]
	if known && w.rnd.IntN(4) == 0 {
		w.delete(r, key)
		if w.rnd.IntN(3) > 0 { // else there is a namesake at once
			return
		}
		known = false
	}
	rev := w.srv.Put(r, body(r, key, w.acts, strings.Repeat("é", w.rnd.IntN(40))))
	s := state{what: "ADDED", name: key.Name}
	if known {
		s.what = "MODIFIED"
	}
	w.remember(r, s, rev, w.srv.Get(r, key))
}

func (w *restless) delete(r kube.Resource, key kube.Key) {
	last := w.srv.Get(r, key)
	w.remember(r, state{what: "DELETED", name: key.Name}, w.srv.Delete(r, key), last)
}

func (w *restless) remember(r kube.Resource, s state, rev kube.Revision, object []byte) {
	s.rev, _ = strconv.Atoi(string(rev))
	s.object = normal(object)
	s.uid = member(string(object), `"uid":"`)
	w.exist[r.GroupResource()][s.name] = s.what != "DELETED"
	for _, j := range w.judges {
		j.remember(j.history[r.GroupResource()], s)
	}
}

// body is an object of the act n.
func body(r kube.Resource, key kube.Key, n int, text string) string {
	meta := fmt.Sprintf(`"metadata":{"namespace":%q,"name":%q,"annotations":{"n":"%d","text":%q}}`, key.Namespace, key.Name, n, text)
	if r == kube.Pods {
		return fmt.Sprintf(`{%s,"spec":{"containers":[{"name":"c","image":"i:%d"}]},"status":{"phase":"Running"}}`, meta, n%3)
	}
	return fmt.Sprintf(`{%s,"data":{"n":"%d"}}`, meta, n)
}

// find returns the place of what happened at a revision.
func (h *history) find(rev int) (int, bool) {
	return slices.BinarySearchFunc(h.all, rev, func(s state, rev int) int { return s.rev - rev })
}

// move brings h to what follows at.
func (h *history) move(at int) {
	for ; h.at < at; h.at++ {
		s := h.all[h.at]
		if h.alive[s.name] = s; s.what == "DELETED" {
			delete(h.alive, s.name)
		}
	}
}

// forget drops what is older than rev and judged: of a soak not all can be kept.
func (h *history) forget(rev int) {
	at, _ := h.find(rev)
	at = min(at, h.at)
	h.all, h.at = slices.Clone(h.all[at:]), h.at-at
}

// prune drops all that is judged.
func (h *history) prune() { h.all, h.at = slices.Clone(h.all[h.at:]), 0 }

// normal is an object without its revision, which a deletion changes.
func normal(object []byte) string {
	text := string(object)
	rev := member(text, `"resourceVersion":"`)
	return strings.Replace(text, `"resourceVersion":"`+rev+`"`, `"resourceVersion":""`, 1)
}

// member returns the text behind name up to the next quote.
func member(text, name string) string {
	_, after, _ := strings.Cut(text, name)
	value, _, _ := strings.Cut(after, `"`)
	return value
}
