package main

import (
	"runtime"
	"runtime/debug"

	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/bench/probe"
	"github.com/listwatch/listwatch/watch"
)

// update is a change that our store and client-go's make in turns. A turn changes
// every object twice: to another state, and back.
type update struct {
	w     *world
	what  string
	other []*corev1.Pod
}

// updater is one of client-go's ways to do it.
type updater struct {
	name  string
	apply func(w *world, i int, p *corev1.Pod) error
}

func (w *world) updates() []update {
	return []update{
		{w, "update, values of indexes as before", w.again},
		{w, "update, another value of an index", w.moved},
	}
}

var updaters = []updater{
	{"ThreadSafeStore.Update", func(w *world, i int, p *corev1.Pod) error {
		w.bare.Update(w.text[i], p)
		return nil
	}},
	{"Indexer.Get and Update, as its informers do", func(w *world, _ int, p *corev1.Pod) error {
		_, _, err := w.indexer.Get(p) // the handler's old object, which Apply returns
		if err == nil {
			err = w.indexer.Update(p)
		}
		return err
	}},
}

func (u update) run(turns int) (out []probe.Contest, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	sides := make([][]probe.Side, len(updaters)+1) // the first is ours
	n := len(u.w.keys)
	for range turns {
		revisions := u.w.revisions(2 * n)
		for s := range sides {
			side, err := turn(2*n, func(k int) error {
				i, p := u.change(k)
				if s > 0 {
					return updaters[s-1].apply(u.w, i, p)
				}
				u.w.ours.Apply(event(watch.Modified, u.w.keys[i], u.w.uids[i], revisions[k], p))
				return nil
			})
			if err != nil {
				return nil, err
			}
			sides[s] = append(sides[s], side)
		}
	}
	for s, peer := range updaters {
		out = append(out, probe.Contest{What: u.what, Peer: peer.name, Ours: probe.Median(sides[0]), Theirs: probe.Median(sides[s+1])})
	}
	return out, nil
}

// change returns the k-th change of a turn.
func (u update) change(k int) (int, *corev1.Pod) {
	n := len(u.w.keys)
	i := u.w.next(k % n)
	if k < n {
		return i, u.other[i]
	}
	return i, u.w.here[i]
}

// turn measures n operations of one goroutine.
func turn(n int, operation func(k int) error) (probe.Side, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := threadTime()
	for k := range n {
		if err := operation(k); err != nil {
			return probe.Side{}, err
		}
	}
	took := threadTime() - began
	runtime.ReadMemStats(&after)
	each := func(v uint64) float64 { return float64(v) / float64(n) }
	return probe.Side{
		Nanoseconds: float64(took) / float64(n),
		Allocs:      each(after.Mallocs - before.Mallocs), Bytes: each(after.TotalAlloc - before.TotalAlloc),
	}, nil
}

// threadTime is that of this thread.
func threadTime() int64 {
	const thread = 1 // RUSAGE_THREAD
	return probe.ProcessorTime(thread)
}
