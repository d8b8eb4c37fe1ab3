package hook

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestWhatWaitsIsBoundedInBytes: objects that come and go under names of their own do
// not fill the memory, though each name has one event; a first list does not wait.
func TestWhatWaitsIsBoundedInBytes(t *testing.T) {
	for _, o := range []Options{{}, {Every: true}, {Batch: 1000, Window: time.Hour}, {Retries: 1}} {
		t.Run(fmt.Sprintf("every %t, batch %d, retries %d", o.Every, o.Batch, o.Retries), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.Held, o.Concurrency = 100, 1
				b := &book{takes: always(time.Second)}
				if o.Retries > 0 {
					b.fails = func([]Event) error { return errors.New("no") }
				}
				_, err := play(t, o, b, func(p *Pool, _, _ func()) {
					began := time.Now()
					seq := int64(0)
					add := func(kind, name string) {
						seq++
						e := event(seq, kind, name, name)
						e.Size = 10
						p.Add(e)
						synctest.Wait()
					}
					if !o.Every {
						for i := range 500 {
							add("ADDED", fmt.Sprint("first", i))
						}
						if d := time.Since(began); d != 0 {
							t.Errorf("a first list waited %v", d)
						}
					}
					before := p.Counts().Unfinished
					for i := range 100 {
						add("ADDED", fmt.Sprint(i))
						add("DELETED", fmt.Sprint(i))
						if n := p.Counts().Unfinished; n > before+30 {
							t.Fatalf("%d wait", n-before)
						}
					}
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestQueueCountsWhatItHolds: whatever happens to a queue, what is charged is what the
// open entries are charged for, and at the end nothing.
func TestQueueCountsWhatItHolds(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		q := newQueue(seed%2 == 0, seed%3 == 0)
		var running []*job
		step := func(adding bool, seq int64) {
			switch n := rnd.IntN(4); {
			case n < 2 && adding:
				e := event(seq, []string{"ADDED", "MODIFIED", "DELETED"}[rnd.IntN(3)], fmt.Sprint(rnd.IntN(3)), fmt.Sprint(rnd.IntN(2)))
				e.Size = 1 + rnd.IntN(9)
				q.add(e)
			case n == 2 && len(running) < 2:
				j, _ := q.due(time.Now().Add(time.Hour))
				if j == nil {
					j = q.take(1 + rnd.IntN(3))
				}
				if j != nil {
					running = append(running, j)
				}
			case len(running) > 0:
				j := running[0]
				if running = running[1:]; rnd.IntN(2) == 0 {
					q.rest(j, time.Now())
				} else {
					q.finish(j)
				}
			}
			sum := 0
			for _, e := range q.open {
				if sum += e.cost; e.cost == 0 && (e.Type == "DELETED" || e.lane.newest != e) {
					t.Fatalf("seed %d: %s of %s is not charged", seed, e.Type, e.Name)
				}
			}
			if sum != q.held {
				t.Fatalf("seed %d: %d are charged, and %d said", seed, sum, q.held)
			}
		}
		for seq := range int64(100) {
			step(true, seq+1)
		}
		for len(q.open) > 0 {
			step(false, 0)
		}
		if q.held != 0 {
			t.Fatalf("seed %d: %d are held by nothing", seed, q.held)
		}
	}
}
