package queue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/queue"
)

// model is what a queue does, said as plainly as can be.
type model struct {
	now   time.Duration
	ready []*modelKey // in the order in which they became ready
	keys  map[int]*modelKey
}

type modelKey struct {
	key      int
	priority int
	ready    bool
	since    time.Duration
	running  bool
	again    bool          // added while running
	due      time.Duration // of a delay; 0 = none
}

const modelAgeing = 100 * time.Millisecond

func (m *model) add(k, priority int, delay time.Duration) {
	e := m.keys[k]
	if e == nil {
		e = &modelKey{key: k}
		m.keys[k] = e
	}
	pending := e.ready || e.again || e.due != 0
	raised := pending && priority > e.priority
	if !pending || raised {
		e.priority = priority
	}
	if e.ready && raised { // behind those of its new priority
		m.ready = slices.DeleteFunc(m.ready, func(o *modelKey) bool { return o == e })
		m.ready = append(m.ready, e)
	}
	switch {
	case delay > 0:
		if !e.ready && !e.again && (e.due == 0 || m.now+delay < e.due) {
			e.due = m.now + delay
		}
	case !e.ready && !e.again:
		m.make(e)
	}
}

func (m *model) make(e *modelKey) {
	e.due, e.since = 0, m.now
	if e.running {
		e.again = true
		return
	}
	e.ready = true
	m.ready = append(m.ready, e)
}

func (m *model) advance(d time.Duration) {
	m.now += d
	var due []*modelKey
	for _, e := range m.keys {
		if e.due != 0 && e.due <= m.now {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b *modelKey) int { return int(a.due - b.due) })
	for _, e := range due {
		now := m.now
		m.now = e.due // it became ready then
		m.make(e)
		m.now = now
	}
}

// get returns the key whose turn it is, or -1: the first of each priority compete.
func (m *model) get() int {
	var best *modelKey
	firsts := make(map[int]bool)
	for _, e := range m.ready {
		if firsts[e.priority] {
			continue
		}
		firsts[e.priority] = true
		if best == nil || rank(e) < rank(best) || rank(e) == rank(best) && e.priority > best.priority {
			best = e
		}
	}
	if best == nil {
		return -1
	}
	m.ready = slices.DeleteFunc(m.ready, func(o *modelKey) bool { return o == best })
	best.ready, best.running = false, true
	return best.key
}

func rank(e *modelKey) time.Duration { return e.since - time.Duration(e.priority)*modelAgeing }

func (m *model) done(k int) {
	e := m.keys[k]
	if e == nil || !e.running {
		return
	}
	e.running = false
	if e.again {
		e.again = false
		since := e.since
		m.make(e)
		e.since = since
	}
}

// TestQueueModel holds a queue against the model, in random operations.
func TestQueueModel(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) { playQueue(t, rand.New(rand.NewPCG(seed, 1)), 1500) })
	}
}

func FuzzQueue(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		synctest.Test(t, func(t *testing.T) { playQueue(t, rand.New(rand.NewPCG(a, b)), 300) })
	})
}

func playQueue(t *testing.T, dice *rand.Rand, steps int) {
	q := queue.New(queue.Options[int, string]{Ageing: modelAgeing})
	defer q.Close()
	m := &model{keys: make(map[int]*modelKey)}
	// No two delays end at one moment, when either key may come first.
	delays := dice.Perm(4000)
	for step := range steps {
		var what string
		k := dice.IntN(8)
		switch dice.IntN(6) {
		case 0:
			what = fmt.Sprintf("Add(%d)", k)
			q.Add(k)
			m.add(k, 0, 0)
		case 1:
			d := time.Duration(delays[step%len(delays)])*time.Millisecond + time.Duration(step)*time.Nanosecond + time.Nanosecond
			p := dice.IntN(3) - 1
			what = fmt.Sprintf("AddWith(%d, %s, %d)", k, d, p)
			q.AddWith(k, queue.Add[string]{After: d, Priority: p})
			m.add(k, p, d)
		case 2:
			p := []int{low, -1, 1, 7}[dice.IntN(4)]
			what = fmt.Sprintf("AddWith(%d, priority %d)", k, p)
			q.AddWith(k, queue.Add[string]{Priority: p})
			m.add(k, p, 0)
		case 3:
			want := m.get()
			what = fmt.Sprintf("Get() = %d", want)
			if got := tryGet(t, q); got != want {
				t.Fatalf("step %d, %s: got %d", step, what, got)
			}
		case 4:
			what = fmt.Sprintf("Done(%d)", k)
			q.Done(k)
			m.done(k)
		case 5:
			d := time.Duration(dice.IntN(400)) * time.Millisecond
			what = fmt.Sprintf("%s pass", d)
			<-time.After(d)
			synctest.Wait()
			m.advance(d)
		}
		delayed, running := 0, 0
		for _, e := range m.keys {
			if e.due != 0 {
				delayed++
			}
			if e.running {
				running++
			}
		}
		if s := q.Stats(); s.Depth != len(m.ready) || s.Delayed != delayed || s.Running != running || q.Len() != s.Depth {
			t.Fatalf("step %d, %s: %+v, want %d ready, %d delayed, %d running", step, what, s, len(m.ready), delayed, running)
		}
	}
}

// tryGet returns the next key of q, -1 if it has none, without letting time pass.
func tryGet(t *testing.T, q *queue.Queue[int, string]) int {
	if q.Len() == 0 {
		return -1
	}
	item, err := q.Get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return item.Key
}
