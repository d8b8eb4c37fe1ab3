// Queue compares listwatch's work queue with client-go's and controller-runtime's:
// how many keys a second 1, 8 and 64 workers get through it. It prints a list of
// probe.Contest as JSON.
//
// In the contest "drain", 100,000 keys are added, and then workers take them. In
// "flow" they are added while the workers take them, each four times, so that some
// are merged. A worker does nothing with a key.
//
// The sides take turns. Time is the wall's, from the first add to the last key done.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/listwatch/listwatch/bench/probe"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/queue"
)

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	ctrllog.SetLogger(logr.Discard())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "queue:", err)
		os.Exit(1)
	}
}

func run() error {
	n := flag.Int("keys", 100_000, "how many")
	turns := flag.Int("turns", 5, "of each side, of which the median counts")
	profile := flag.String("profile", "", "file for a CPU profile")
	flag.Parse()
	end, err := probe.Profile(*profile)
	if err != nil {
		return err
	}
	defer end()
	keys := make([]kube.Key, *n)
	for i := range keys {
		keys[i] = kube.Key{Namespace: "team-" + strconv.Itoa(i%50), Name: "web-" + strconv.Itoa(i)}
	}
	var out []probe.Contest
	for _, workers := range []int{1, 8, 64} {
		for _, c := range []struct {
			name string
			play func(peer, []kube.Key, int) (int, error)
		}{{"drain", drain}, {"flow", flow}} {
			sides := make([][]probe.Side, len(makers))
			for range *turns {
				for i, m := range makers {
					s, err := measure(m.make, c.play, keys, workers)
					if err != nil {
						return fmt.Errorf("%s, %s, %d workers: %w", m.name, c.name, workers, err)
					}
					sides[i] = append(sides[i], s)
				}
			}
			for i, m := range makers[1:] {
				out = append(out, probe.Contest{What: fmt.Sprintf("%s, workers: %d", c.name, workers), Peer: m.name, Ours: probe.Median(sides[0]), Theirs: probe.Median(sides[i+1])})
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// peer is what all three do.
type peer interface {
	Add(kube.Key)
	Get() (kube.Key, bool) // false = closed
	Done(kube.Key)
	Close()
}

var makers = []struct {
	name string
	make func() peer
}{
	{"ours", func() peer { return ours{queue.New(queue.Options[kube.Key, string]{})} }},
	{"client-go's rate limiting queue", func() peer {
		return clientGo{workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[kube.Key]())}
	}},
	{"controller-runtime's priority queue", func() peer { return runtimeQueue{priorityqueue.New[kube.Key]("bench")} }},
}

type ours struct{ *queue.Queue[kube.Key, string] }

func (q ours) Get() (kube.Key, bool) {
	item, err := q.Queue.Get(context.Background())
	return item.Key, err == nil
}

type clientGo struct {
	workqueue.TypedRateLimitingInterface[kube.Key]
}

func (q clientGo) Get() (kube.Key, bool) {
	k, closed := q.TypedRateLimitingInterface.Get()
	return k, !closed
}
func (q clientGo) Close() { q.ShutDown() }

type runtimeQueue struct {
	priorityqueue.PriorityQueue[kube.Key]
}

func (q runtimeQueue) Get() (kube.Key, bool) {
	k, _, closed := q.GetWithPriority()
	return k, !closed
}
func (q runtimeQueue) Close() { q.ShutDown() }

// drain adds every key, lets the workers take them, and returns how many they took.
func drain(q peer, keys []kube.Key, workers int) (int, error) {
	for _, k := range keys {
		q.Add(k)
	}
	return take(q, len(keys), workers, func() {})
}

// flow adds every key four times while the workers take them.
func flow(q peer, keys []kube.Key, workers int) (int, error) {
	return take(q, len(keys), workers, func() {
		for range 4 {
			for _, k := range keys {
				q.Add(k)
			}
		}
	})
}

// last is the key behind all others: keys of one priority come in order.
var last = kube.Key{Name: "last"}

// take lets workers take keys until each of n has been taken and add has returned.
func take(q peer, n, workers int, add func()) (int, error) {
	var running sync.WaitGroup
	counts := make([]int, workers)
	for w := range workers {
		running.Go(func() {
			for {
				k, ok := q.Get()
				if !ok {
					return
				}
				q.Done(k)
				if k == last {
					q.Close() // controller-runtime's would drop what is in it
					return
				}
				counts[w]++
			}
		})
	}
	add()
	q.Add(last)
	running.Wait()
	taken := 0
	for _, c := range counts {
		taken += c
	}
	if taken < n-workers { // those that controller-runtime's had ready for them, and dropped
		return 0, fmt.Errorf("%d of %d keys came", taken, n)
	}
	return taken, nil
}

// measure plays one turn.
func measure(make func() peer, play func(peer, []kube.Key, int) (int, error), keys []kube.Key, workers int) (probe.Side, error) {
	runtime.GC()
	q := make()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, cpu := time.Now(), probe.ProcessorTime(syscall.RUSAGE_SELF)
	taken, err := play(q, keys, workers)
	if err != nil {
		return probe.Side{}, err
	}
	took, used := time.Since(began), probe.ProcessorTime(syscall.RUSAGE_SELF)-cpu
	runtime.ReadMemStats(&after)
	each := func(v uint64) float64 { return float64(v) / float64(taken) }
	return probe.Side{
		Nanoseconds: float64(used) / float64(taken), Keys: float64(taken) / took.Seconds(),
		Allocs: each(after.Mallocs - before.Mallocs), Bytes: each(after.TotalAlloc - before.TotalAlloc),
	}, nil
}
