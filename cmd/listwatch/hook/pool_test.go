package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// book writes down what runs, instead of running it: "t+1s a:ADDED#1 b:..." when
// a run begins.
type book struct {
	mu    sync.Mutex
	began time.Time
	lines []string
	// takes and fails say how a run goes; nil = at once, and well.
	takes func([]Event) time.Duration
	fails func([]Event) error
}

func (b *book) run(ctx context.Context, events []Event) error {
	var names []string
	for _, e := range events {
		names = append(names, fmt.Sprintf("%s:%s#%d", e.Name, e.Type, e.Seq))
	}
	b.mu.Lock()
	b.lines = append(b.lines, fmt.Sprintf("%v %s", time.Since(b.began).Round(time.Second), strings.Join(names, " ")))
	b.mu.Unlock()
	if b.takes != nil {
		select {
		case <-time.After(b.takes(events)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if b.fails != nil {
		return b.fails(events)
	}
	return nil
}

// play runs f beside a pool whose runs are written down.
func play(t *testing.T, o Options, b *book, f func(p *Pool, stop, kill func())) (Summary, error) {
	t.Helper()
	b.began = time.Now()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	hard, kill := context.WithCancel(t.Context())
	defer kill()
	p := New(o)
	p.run = b.run
	go func() {
		f(p, stop, kill)
		p.Close()
	}()
	return p.Run(ctx, hard)
}

func event(seq int64, typ, name, uid string) Event {
	return Event{Seq: seq, Type: typ, Object: true, Resource: "pods", Name: name, UID: uid}
}

func always(d time.Duration) func([]Event) time.Duration {
	return func([]Event) time.Duration { return d }
}

func TestPoolQueues(t *testing.T) {
	broken := func([]Event) error { return errors.New("exit code 1") }
	for _, test := range []struct {
		name   string
		opts   Options
		book   *book
		events []Event
		want   []string
	}{
		{"runs objects beside each other, up to the limit", Options{Concurrency: 2}, &book{takes: always(10 * time.Second)},
			[]Event{event(1, "ADDED", "a", "1"), event(2, "ADDED", "b", "2"), event(3, "ADDED", "c", "3")},
			[]string{"0s a:ADDED#1", "0s b:ADDED#2", "10s c:ADDED#3"}},
		{"four by default", Options{}, &book{takes: always(10 * time.Second)},
			[]Event{event(1, "ADDED", "a", "1"), event(2, "ADDED", "b", "2"), event(3, "ADDED", "c", "3"), event(4, "ADDED", "d", "4"), event(5, "ADDED", "e", "5")},
			[]string{"0s a:ADDED#1", "0s b:ADDED#2", "0s c:ADDED#3", "0s d:ADDED#4", "10s e:ADDED#5"}},
		{"runs the latest state of an object that is running", Options{}, &book{takes: always(10 * time.Second)},
			[]Event{event(1, "ADDED", "a", "1"), event(2, "MODIFIED", "a", "1"), event(3, "MODIFIED", "a", "1")},
			[]string{"0s a:ADDED#1", "10s a:MODIFIED#3"}},
		{"runs each state where each counts", Options{Every: true}, &book{takes: always(10 * time.Second)},
			[]Event{event(1, "ADDED", "a", "1"), event(2, "MODIFIED", "a", "1"), event(3, "MODIFIED", "a", "1")},
			[]string{"0s a:ADDED#1", "10s a:MODIFIED#2", "20s a:MODIFIED#3"}},
		{"tells of an addition that a modification replaced", Options{Concurrency: 1}, &book{takes: always(10 * time.Second)},
			[]Event{event(1, "ADDED", "x", "0"), event(2, "ADDED", "a", "1"), event(3, "MODIFIED", "a", "1")},
			[]string{"0s x:ADDED#1", "10s a:ADDED#3"}},
		{"does not let a namesake swallow a deletion", Options{}, &book{takes: always(10 * time.Second)},
			[]Event{event(1, "ADDED", "a", "1"), event(2, "DELETED", "a", "1"), event(3, "ADDED", "a", "2"), event(4, "MODIFIED", "a", "2")},
			[]string{"0s a:ADDED#1", "10s a:DELETED#2", "20s a:ADDED#4"}},
		{"lets the same object come back", Options{}, &book{takes: always(10 * time.Second)},
			[]Event{event(1, "ADDED", "a", "1"), event(2, "DELETED", "a", "1"), event(3, "ADDED", "a", "1")},
			[]string{"0s a:ADDED#1", "10s a:ADDED#3"}},
		{"keeps events about the watch apart by type", Options{Concurrency: 1}, &book{takes: always(10 * time.Second)},
			[]Event{event(1, "ADDED", "a", "1"), {Seq: 2, Type: "DISCONNECTED"}, {Seq: 3, Type: "RECONNECTED"}, {Seq: 4, Type: "RECONNECTED"}},
			[]string{"0s a:ADDED#1", "10s :DISCONNECTED#2", "20s :RECONNECTED#4"}},
		{"makes batches", Options{Batch: 2, Window: 5 * time.Second}, &book{takes: always(10 * time.Second)},
			[]Event{event(1, "ADDED", "a", "1"), event(2, "ADDED", "b", "2"), event(3, "ADDED", "c", "3"), event(4, "DELETED", "c", "3"), event(5, "ADDED", "c", "4")},
			[]string{"0s a:ADDED#1 b:ADDED#2", "10s c:DELETED#4 c:ADDED#5"}},
		{"limits the rate", Options{Rate: 0.1, Burst: 2}, &book{},
			[]Event{event(1, "ADDED", "a", "1"), event(2, "ADDED", "b", "2"), event(3, "ADDED", "c", "3"), event(4, "ADDED", "d", "4")},
			[]string{"0s a:ADDED#1", "0s b:ADDED#2", "10s c:ADDED#3", "20s d:ADDED#4"}},
		{"does not retry unless told to", Options{}, &book{fails: broken}, []Event{event(1, "ADDED", "a", "1")}, []string{"0s a:ADDED#1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := play(t, test.opts, test.book, func(p *Pool, _, _ func()) {
					for _, e := range test.events {
						p.Add(e)
						synctest.Wait() // one starts before the next is added
					}
				})
				if diff := cmp.Diff(test.want, test.book.lines); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
		})
	}
}

func TestPoolSendsABatchWhenItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		_, err := play(t, Options{Batch: 10, Window: 5 * time.Second}, b, func(p *Pool, _, _ func()) {
			p.Add(event(1, "ADDED", "a", "1"))
			time.Sleep(2 * time.Second)
			p.Add(event(2, "ADDED", "b", "2"))
			time.Sleep(10 * time.Second)
			p.Add(event(3, "ADDED", "c", "3"))
		})
		if diff := cmp.Diff([]string{"5s a:ADDED#1 b:ADDED#2", "12s c:ADDED#3"}, b.lines); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestPoolRetriesWithBackoffAndTheLatestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		b := &book{fails: func(es []Event) error {
			if es[0].Name == "a" {
				return errors.New("exit code 1")
			}
			return nil
		}}
		opts := Options{Concurrency: 1, Retries: 2, Backoff: 8 * time.Second, BackoffMax: 12 * time.Second,
			Failed: func(e Event, err error, runs int, again time.Duration) {
				low, high := 4*time.Second, 8*time.Second
				if runs == 2 {
					low, high = 6*time.Second, 12*time.Second
				}
				if runs < 3 && (again < low || again > high) {
					t.Errorf("retry %d in %v, want %v to %v", runs, again, low, high)
				}
				told = append(told, fmt.Sprintf("%s#%d %v %d %v", e.Name, e.Seq, err, runs, again > 0))
			}}
		sum, err := play(t, opts, b, func(p *Pool, _, _ func()) {
			p.Add(event(1, "ADDED", "a", "1"))
			synctest.Wait()
			p.Add(event(2, "ADDED", "b", "2")) // is not held up
			p.Add(event(3, "MODIFIED", "a", "1"))
			synctest.Wait()
			if p.Done() != 0 {
				t.Errorf("done up to %d while the first fails", p.Done())
			}
			time.Sleep(time.Minute)
			p.Add(event(4, "MODIFIED", "a", "1")) // begins anew
		})
		want := []string{"a#1 exit code 1 1 true", "a#3 exit code 1 2 true", "a#3 exit code 1 3 false",
			"a#4 exit code 1 1 true", "a#4 exit code 1 2 true", "a#4 exit code 1 3 false"}
		if diff := cmp.Diff(want, told); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if diff := cmp.Diff(Summary{Runs: 1, Failed: 2}, sum); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
	})
}

// TestPoolRetriesWithWhatCameMeanwhile: and not with what has failed.
func TestPoolRetriesWithWhatCameMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{takes: always(10 * time.Second), fails: func(es []Event) error {
			if es[0].Seq == 1 {
				return errors.New("exit code 1")
			}
			return nil
		}}
		sum, err := play(t, Options{Retries: 1, Backoff: time.Nanosecond}, b, func(p *Pool, _, _ func()) {
			p.Add(event(1, "ADDED", "a", "1"))
			synctest.Wait()
			p.Add(event(2, "MODIFIED", "a", "1"))
		})
		if diff := cmp.Diff([]string{"0s a:ADDED#1", "10s a:ADDED#2"}, b.lines); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if diff := cmp.Diff(Summary{Runs: 1}, sum); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
	})
}

func TestPoolEndsWhenTooManyFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{takes: func(es []Event) time.Duration { return time.Duration(es[0].Seq) * time.Second },
			fails: func([]Event) error { return errors.New("exit code 1") }}
		var p *Pool
		sum, err := play(t, Options{Concurrency: 1, Errors: 2}, b, func(pool *Pool, _, _ func()) {
			p = pool
			for i := range int64(5) {
				p.Add(event(i+1, "ADDED", fmt.Sprint(i), "1"))
			}
			<-p.Stopped()
			p.Add(event(6, "ADDED", "late", "1"))
		})
		if !errors.Is(err, ErrFailures) || p.Done() != 1 {
			t.Errorf("%v, done up to %d; want ErrFailures and 1: the next program begins with the one that was too many", err, p.Done())
		}
		if diff := cmp.Diff(Summary{Failed: 2, Dropped: sum.Dropped}, sum); diff != "" || sum.Dropped < 3 {
			t.Errorf("summary %+v (-want +got):\n%s", sum, diff)
		}
	})
}

func TestPoolIsStopped(t *testing.T) {
	for _, test := range []struct {
		name  string
		kill  bool
		takes time.Duration
		want  Summary
		after time.Duration
	}{
		{"lets runs end", false, 4 * time.Second, Summary{Runs: 1, Dropped: 2}, 4 * time.Second},
		{"ends runs after the grace period", false, time.Hour, Summary{Killed: 1, Dropped: 2}, 6 * time.Second},
		{"kills at once", true, time.Hour, Summary{Killed: 1, Dropped: 2}, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := &book{takes: always(test.takes)}
				sum, err := play(t, Options{Concurrency: 1, Grace: 5 * time.Second}, b, func(p *Pool, stop, kill func()) {
					p.Add(event(1, "ADDED", "a", "1"))
					p.Add(event(2, "ADDED", "b", "2"))
					p.Add(event(3, "MODIFIED", "a", "1"))
					time.Sleep(time.Second)
					if stop(); test.kill {
						kill()
					}
				})
				if diff := cmp.Diff(test.want, sum); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				if d := time.Since(began); d != test.after {
					t.Errorf("it took %v, want %v", d, test.after)
				}
			})
		})
	}
}

func TestPoolIsKilledInItsGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		sum, _ := play(t, Options{Grace: time.Hour}, &book{takes: always(2 * time.Hour)}, func(p *Pool, stop, kill func()) {
			p.Add(event(1, "ADDED", "a", "1"))
			stop()
			time.Sleep(time.Second)
			kill()
		})
		if sum.Killed != 1 || time.Since(began) != time.Second {
			t.Errorf("%+v after %v", sum, time.Since(began))
		}
	})
}

func TestPoolHoldsBackWhoAddsTooMuch(t *testing.T) {
	for _, every := range []bool{true, false} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := Options{Concurrency: 1, Backlog: 3, Every: every}
				_, err := play(t, opts, &book{takes: always(time.Minute)}, func(p *Pool, _, _ func()) {
					began := time.Now()
					var waited []time.Duration
					for i := range int64(6) {
						uid := fmt.Sprint(i) // deletions of one name: none replaces another
						p.Add(event(i+1, "DELETED", "a", uid))
						waited = append(waited, time.Since(began))
					}
					want := []time.Duration{0, 0, 0, 0, time.Minute, 2 * time.Minute}
					if every {
						want = []time.Duration{0, 0, 0, time.Minute, 2 * time.Minute, 3 * time.Minute}
					}
					if diff := cmp.Diff(want, waited); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPoolTakesOneStateOfManyObjects: a first list of any length is taken in at once,
// and run a few at a time.
func TestPoolTakesOneStateOfManyObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 50_000
		b := &book{takes: always(time.Second)}
		sum, err := play(t, Options{}, b, func(p *Pool, _, _ func()) {
			began := time.Now()
			for i := range int64(objects) {
				p.Add(event(i+1, "ADDED", fmt.Sprint(i), "1"))
			}
			if d := time.Since(began); d != 0 {
				t.Errorf("they waited %v", d)
			}
		})
		if sum.Runs != objects || err != nil || time.Since(b.began) != objects/4*time.Second {
			t.Errorf("%+v, %v after %v", sum, err, time.Since(b.began))
		}
	})
}

func TestPoolDoneGrowsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{takes: func(es []Event) time.Duration { return time.Duration(10-es[0].Seq) * time.Second }}
		var seen []int64
		_, err := play(t, Options{}, b, func(p *Pool, _, _ func()) {
			note := func() {
				synctest.Wait()
				seen = append(seen, p.Done())
			}
			p.Pass(1)
			note()
			p.Add(event(2, "ADDED", "a", "1")) // 8 s
			p.Add(event(3, "ADDED", "b", "2")) // 7 s
			p.Pass(4)
			p.Add(event(5, "ADDED", "c", "3")) // 5 s
			note()
			time.Sleep(7500 * time.Millisecond)
			note()
			time.Sleep(time.Second)
			note()
			p.Pass(6)
			note()
		})
		if diff := cmp.Diff([]int64{1, 1, 1, 5, 6}, slices.Clone(seen)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
