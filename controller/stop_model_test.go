package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/queue"
)

var seeds = flag.Int("model.seeds", 15, "how many lives of controllers TestStopModel plays")

// TestStopModel plays leaders that follow each other, by a seed. Objects are written
// and deleted all the time; the function of the controller is slow, fails, panics, ends
// its goroutine, requeues, awaits its writes, and may not look at its context. Each
// leader is stopped at a random moment: while keys are handed out, amid runs, amid
// grace. Always:
//
//   - a key is with one run at a time;
//   - no run begins after the context has ended, and none runs after Run has returned;
//   - Run returns as soon as the runs do, and leaves neither handlers nor taken keys;
//   - what is written is seen by a later run of the same leader, if that is given time,
//     or else of the next one.
func TestStopModel(t *testing.T) {
	for seed := range *seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			run(t, func(t *testing.T, w *world) { playLeaders(t, w, rand.New(rand.NewPCG(uint64(seed), 3))) })
		})
	}
}

// leaders is what the runs of all leaders have done.
type leaders struct {
	t    *testing.T
	w    *world
	dice *rand.Rand // guarded by mu

	mu      sync.Mutex
	calm    bool
	stopped bool           // no run may begin
	over    bool           // no run may be there
	running map[string]int // by key
	seen    map[string]string
	mapped  int // calls of the handler
}

const longestRun = 300 * time.Millisecond

func playLeaders(t *testing.T, w *world, dice *rand.Rand) {
	m := &leaders{t: t, w: w, dice: dice, running: make(map[string]int), seen: make(map[string]string)}
	ctx, cancel := context.WithCancel(t.Context())
	var standing sync.WaitGroup
	standing.Go(func() { _ = w.maps.Run(ctx) })
	writing, quiet := make(chan struct{}), make(chan struct{})
	writer := func() {
		n := 0
		for {
			select {
			case <-writing:
				close(quiet)
				return
			case <-time.After(time.Duration(n%7) * time.Millisecond):
			}
			n++
			k := strconv.Itoa((n * 7) % 10)
			if n%5 == 0 {
				w.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: k})
				continue
			}
			w.put(k, strconv.Itoa(n))
		}
	}
	for range 12 {
		writing, quiet = make(chan struct{}), make(chan struct{})
		go writer()
		m.live(ctx, func() { // a quiet time: all must be seen
			close(writing)
			<-quiet
		})
		select {
		case <-quiet:
		default:
			close(writing)
			<-quiet
		}
	}
	cancel()
	standing.Wait()
}

// live lets one leader live.
func (m *leaders) live(ctx context.Context, hush func()) {
	t := m.t
	o := controller.Options[kube.Key]{Workers: 1 + m.roll(4), AwaitTimeout: time.Second}
	if m.roll(2) == 0 {
		o.Grace = time.Duration(m.roll(400)) * time.Millisecond
	}
	if m.roll(4) == 0 {
		o.Timeout = 20 * time.Millisecond
	}
	o.Queue.Backoff = queue.Backoff{QPS: -1, Max: time.Second}
	var c *controller.Controller[kube.Key]
	c = controller.New("maps", func(ctx context.Context, k kube.Key) (controller.Result, error) { return m.reconcile(ctx, c, k) }, o)
	controller.Map(c, m.w.maps, func(o configMap) []kube.Key {
		m.mu.Lock()
		m.mapped++
		m.mu.Unlock()
		return []kube.Key{kube.KeyOf(o)}
	})
	leading, stop := context.WithCancel(ctx)
	m.set(func() { m.stopped, m.over, m.calm = false, false, false; clear(m.seen) })
	done := make(chan error, 1)
	go func() {
		err := c.Run(leading)
		m.set(func() { m.over = true })
		done <- err
	}()
	pass(time.Duration(m.roll(500))*time.Millisecond + time.Duration(m.roll(1000))*time.Microsecond)
	if m.roll(2) == 0 {
		m.set(func() { m.calm = true })
		hush()
		pass(time.Minute)
		synctest.Wait()
		m.set(func() {
			for k, v := range m.seen {
				if v == "" {
					delete(m.seen, k) // it was seen to be gone
				}
			}
			if diff := cmp.Diff(m.exist(), m.seen); diff != "" {
				t.Errorf("what the runs of this leader saw (-want +got):\n%s", diff)
			}
			m.calm = false
		})
		for range 5 { // and it is stopped amid runs
			m.w.put(strconv.Itoa(m.roll(10)), "late")
		}
		pass(time.Duration(m.roll(20)) * time.Millisecond)
	}
	began := time.Now()
	if m.roll(2) == 0 {
		for k := range 4 { // keys are on their way to workers
			c.Queue().Add(kube.Key{Namespace: "a", Name: strconv.Itoa(k)})
		}
	} else {
		synctest.Wait() // all workers have a key, or wait for one
		m.set(func() { m.stopped = true })
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if took, most := time.Since(began), longestRun+o.Grace; took > most {
		t.Errorf("Run returned %s after its end, want %s at most", took, most)
	}
	if s := c.Stats().Queue; s.Running != 0 {
		t.Errorf("keys that nobody gave back: %+v", s)
	}
	synctest.Wait() // Remove does not wait for a call that has begun
	m.set(func() { m.mapped = 0 })
	m.w.put("y", "1")
	m.w.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "y"})
	synctest.Wait()
	pass(10 * time.Millisecond)
	m.set(func() {
		if m.mapped != 0 {
			t.Errorf("%d calls of a handler after the end", m.mapped)
		}
	})
}

// exist returns the objects of the server.
func (m *leaders) exist() map[string]string {
	all := make(map[string]string)
	objects, _ := m.w.List(kube.ConfigMaps)
	for _, b := range objects {
		var o configMap
		if err := json.Unmarshal(b, &o); err != nil {
			m.t.Fatal(err)
		}
		all[o.Name] = o.Data["v"]
	}
	return all
}

func (m *leaders) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *leaders) roll(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dice.IntN(n)
}

func pass(d time.Duration) { <-time.After(d) }

// reconcile is one run.
func (m *leaders) reconcile(ctx context.Context, c *controller.Controller[kube.Key], k kube.Key) (controller.Result, error) {
	o, _ := m.w.maps.Store().Get(k)
	calm := false
	m.set(func() {
		if m.stopped {
			m.t.Errorf("a run of %s begins after the end of its context", k)
		}
		if m.running[k.Name]++; m.running[k.Name] > 1 {
			m.t.Errorf("%s is with two runs", k)
		}
		calm = m.calm
	})
	defer m.set(func() {
		m.running[k.Name]--
		if m.over {
			m.t.Errorf("a run of %s after Run returned", k)
		}
	})
	length := time.Duration(m.roll(int(longestRun)))
	if m.roll(3) > 0 {
		length = time.Duration(m.roll(int(5 * time.Millisecond)))
	}
	if m.roll(2) == 0 {
		pass(length) // without a look at the context
	} else {
		select {
		case <-ctx.Done():
			return controller.Result{}, ctx.Err()
		case <-time.After(length):
		}
	}
	result, err := controller.Result{}, error(nil)
	if !calm {
		switch m.roll(12) {
		case 0:
			panic(errBroken)
		case 1:
			runtime.Goexit()
		case 2, 3:
			err = errBroken
		case 4:
			err = errors.Join(ctx.Err(), errBroken)
		case 5:
			result.Requeue = true
		case 6:
			result.RequeueAfter = time.Duration(1+m.roll(50)) * time.Millisecond
		case 7:
			result.RequeueAfter = 1<<63 - 1 // as good as never: a change brings it again
		case 8:
			o.Namespace, o.Name, o.ResourceVersion = k.Namespace, k.Name, "1000000000"
			c.Await(k, m.w.maps, o) // in vain
		}
	}
	if err == nil {
		m.set(func() { m.seen[k.Name] = o.Data["v"] })
	}
	return result, err
}
