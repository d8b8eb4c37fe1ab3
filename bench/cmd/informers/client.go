package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/bench/probe"
)

// job is what a client process does.
type job struct {
	Client, Reads       string
	Informers           int // 1 follows all namespaces
	Objects, Namespaces int
	Server, CA          string
}

// scopes are the namespaces of the informers.
func (j job) scopes() []string {
	if j.Informers == 1 {
		return []string{""}
	}
	var all []string
	for i := range j.Informers {
		all = append(all, namespace(i))
	}
	return all
}

// reading is what the process knows of itself. CPU was read before garbage was collected,
// After behind it, in seconds.
type reading struct {
	CPU, After float64
	Heap, RSS  float64 // bytes; Heap after a collection
	Goroutines int
	Reads      int64
	Late       []float64 // latencies of all changes in ms, sorted
}

func (r reading) late(q float64) float64 {
	if len(r.Late) == 0 {
		return 0
	}
	return r.Late[int(q*float64(len(r.Late)-1))]
}

// followed is what both sides' informers give the measurement.
type followed struct {
	wait func(context.Context) error // until all are synced
	read map[string]func(i int) int  // by job.Reads: read something, return how many objects it was
}

// meter counts what handlers see.
type meter struct {
	mu    sync.Mutex
	known int       // objects that were there
	late  []float64 // of the changes
	moved chan struct{}
}

// seen takes the state of an object.
func (m *meter) seen(o *corev1.ConfigMap) {
	now := time.Now().UnixNano()
	at, err := strconv.ParseInt(o.Data["at"], 10, 64)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || m.known < cap(m.late) { // of an earlier client's run, or none
		m.known++
	} else {
		m.late = append(m.late, float64(now-at)/1e6)
	}
	close(m.moved)
	m.moved = make(chan struct{})
}

// until waits until cond, called under the lock, holds.
func (m *meter) until(ctx context.Context, cond func() bool) error {
	for {
		m.mu.Lock()
		held, moved := cond(), m.moved
		m.mu.Unlock()
		if held {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// run starts the informers, and prints a reading when they are synced, and one for each number
// that it reads from stdin, when so many changes were seen.
func (j job) run(ctx context.Context) error {
	begin := cpu()
	m := &meter{moved: make(chan struct{}), late: make([]float64, 0, j.Objects)}
	start := ours
	if j.Client == "client-go" {
		start = clientGo
	}
	f, err := start(ctx, j, m)
	if err != nil {
		return err
	}
	if err := f.wait(ctx); err != nil {
		return err
	}
	if err := m.until(ctx, func() bool { return m.known == j.Objects }); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	answer := func(reads int64) error {
		m.mu.Lock()
		late := slices.Sorted(slices.Values(m.late))
		m.mu.Unlock()
		r := reading{CPU: cpu() - begin, Goroutines: runtime.NumGoroutine(), RSS: rss(), Reads: reads, Late: late}
		runtime.GC()
		runtime.GC()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		r.Heap, r.After = float64(mem.HeapAlloc), cpu()-begin
		return out.Encode(r)
	}
	if err := answer(0); err != nil {
		return err
	}
	var n int
	if _, err := fmt.Scanln(&n); err != nil {
		return err
	}
	if err := answer(0); err != nil {
		return err
	}
	end := j.readers(f)
	if _, err := fmt.Scanln(&n); err != nil {
		return err
	}
	if err := m.until(ctx, func() bool { return len(m.late) >= n }); err != nil {
		return err
	}
	reads, err := end()
	if err != nil {
		return err
	}
	return answer(reads)
}

// readers starts 8 goroutines that read, and returns what ends them.
func (j job) readers(f followed) (end func() (int64, error)) {
	read := f.read[j.Reads]
	if read == nil {
		return func() (int64, error) { return 0, nil }
	}
	want := map[string]int{"key": 1, "index": j.Objects / j.Namespaces, "all": j.Objects, "list": j.Objects}[j.Reads]
	var stop atomic.Bool
	var reads, wrong atomic.Int64
	var group sync.WaitGroup
	for first := range 8 {
		group.Go(func() {
			n := int64(0)
			for k := first * 1009; !stop.Load(); k++ {
				if read(k*7919%j.Objects) != want {
					wrong.Add(1)
				}
				n++
			}
			reads.Add(n)
		})
	}
	return func() (int64, error) {
		stop.Store(true)
		group.Wait()
		if n := wrong.Load(); n > 0 {
			return 0, fmt.Errorf("%d reads did not return %d objects", n, want)
		}
		return reads.Load(), nil
	}
}

func cpu() float64 { return float64(probe.ProcessorTime(syscall.RUSAGE_SELF)) / 1e9 }

// rss is the resident set now, in bytes.
func rss() float64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	words := strings.Fields(string(b))
	pages, err := strconv.Atoi(words[1])
	if err != nil {
		return 0
	}
	return float64(pages * os.Getpagesize())
}
