package main

import (
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/listwatch/listwatch/bench/probe"
	"github.com/listwatch/listwatch/watch"
)

// reader is a way to read objects by key, and to write them.
type reader struct {
	name  string
	read  func(i int) *corev1.Pod
	write func(i int)
}

// readers returns ours and client-go's.
func (w *world) readers() (ours reader, theirs []reader) {
	ours = reader{"", func(i int) *corev1.Pod {
		p, _ := w.ours.Get(w.keys[i])
		return p
	}, func(i int) {
		w.revision++
		w.ours.Apply(event(watch.Modified, w.keys[i], w.uids[i], strconv.FormatInt(w.revision, 10), w.here[i]))
	}}
	bare := reader{"ThreadSafeStore.Get, with the key made before", func(i int) *corev1.Pod {
		p, _ := w.bare.Get(w.text[i])
		return p.(*corev1.Pod)
	}, func(i int) { w.bare.Update(w.text[i], w.here[i]) }}
	pods := corelisters.NewPodLister(w.indexer)
	lister := reader{"PodLister.Get, of namespace and name", func(i int) *corev1.Pod {
		p, _ := pods.Pods(w.keys[i].Namespace).Get(w.keys[i].Name)
		return p // nil if it is not there
	}, func(i int) { _ = w.indexer.Update(w.here[i]) }} // fails without metadata only
	return ours, []reader{bare, lister}
}

// contests lets our reader meet each of the others.
func contests(what string, turns int, ours reader, theirs []reader, measure func(reader) (probe.Side, error)) (out []probe.Contest, err error) {
	runtime.GC()
	sides := make([][]probe.Side, len(theirs)+1) // the first is ours
	for range turns {
		for s, r := range append([]reader{ours}, theirs...) {
			side, err := measure(r)
			if err != nil {
				return nil, err
			}
			sides[s] = append(sides[s], side)
		}
	}
	for s, peer := range theirs {
		out = append(out, probe.Contest{What: what, Peer: peer.name, Ours: probe.Median(sides[0]), Theirs: probe.Median(sides[s+1])})
	}
	return out, nil
}

// readContests measures one goroutine that reads alone, 8 readers beside 1 writer that
// pauses, and beside one that does not.
func (w *world) readContests(turns int, length time.Duration) ([]probe.Contest, error) {
	ours, theirs := w.readers()
	out, err := contests("Get, 1 reader alone", turns, ours, theirs, func(r reader) (probe.Side, error) {
		return turn(2*len(w.keys), func(k int) error {
			if p := r.read(w.next(k)); p == nil || p.Name == "" {
				return errors.New("an object is not there")
			}
			return nil
		})
	})
	for _, c := range []struct {
		what  string
		pause time.Duration
	}{{"Get, 8 readers, 1 writer now and then", time.Millisecond}, {"Get, 8 readers, 1 writer without pause", 0}} {
		more, err2 := contests(c.what, turns, ours, theirs, func(r reader) (probe.Side, error) { return w.read(r, c.pause, length), nil })
		out, err = append(out, more...), errors.Join(err, err2)
	}
	return out, err
}

// read lets readers read for a while. They look at what they were given, as
// whoever reads does. The writer pauses after every ten writes.
func (w *world) read(r reader, pause, length time.Duration) probe.Side {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var stop atomic.Bool
	var reads, writes, missed atomic.Int64
	var all sync.WaitGroup
	for first := range 8 {
		all.Go(func() {
			n, none := 0, 0
			for k := first * 1009; !stop.Load(); k++ {
				if p := r.read(w.next(k)); p == nil || p.Name == "" {
					none++
				}
				n++
			}
			reads.Add(int64(n))
			missed.Add(int64(none))
		})
	}
	all.Go(func() {
		n := 0
		for ; !stop.Load(); n++ {
			r.write(w.next(n * 31))
			if pause > 0 && n%10 == 9 {
				time.Sleep(pause)
			}
		}
		writes.Add(int64(n))
	})
	began, cpu := time.Now(), probe.ProcessorTime(syscall.RUSAGE_SELF)
	time.Sleep(length)
	stop.Store(true)
	all.Wait()
	took := time.Since(began).Seconds()
	cpu = probe.ProcessorTime(syscall.RUSAGE_SELF) - cpu
	runtime.ReadMemStats(&after)
	n := float64(reads.Load() - missed.Load())
	return probe.Side{
		Nanoseconds: float64(cpu) / n,
		Allocs:      float64(after.Mallocs-before.Mallocs) / n, Bytes: float64(after.TotalAlloc-before.TotalAlloc) / n,
		Reads: n / took, Writes: float64(writes.Load()) / took,
	}
}
