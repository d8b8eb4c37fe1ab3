package lease_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// TestRunReleasesTheLease when the work has ended, so that another leads at once.
func TestRunReleasesTheLease(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		time.Sleep(5 * time.Second)
		s.lines("a")
		if err := a.stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		if diff := cmp.Diff([]string{"update 200"}, s.lines("a")); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
		if diff := cmp.Diff(spec{Seconds: 1, Transitions: 5, Acquired: now, Renewed: now}, s.lease().Spec); diff != "" {
			t.Errorf("spec (-want +got):\n%s", diff)
		}
		if a.IsLeader() || a.Leader() != "" {
			t.Errorf("IsLeader %v, Leader %q", a.IsLeader(), a.Leader())
		}
		s.replica("b", lease.Options{}).start()
		if took := s.until("b"); took != 0 {
			t.Errorf("b leads after %v", took)
		}
	})
}

// TestRunReleasesThoughTheLeaseWasChanged: it retries on conflict, as long as the
// Lease is its own.
func TestRunReleasesThoughTheLeaseWasChanged(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		n := 0
		s.srv.Mutate(apitest.Match{Verb: "update"}, func(*apitest.Admission) error {
			if n++; n <= 3 {
				return &kube.Status{Code: http.StatusConflict, Reason: "Conflict", Message: "changed"}
			}
			return nil
		})
		a.stop()
		if got := s.lease().Spec; got.Holder != "" || got.Seconds != 1 || n != 4 {
			t.Errorf("spec %+v after %d writes", got, n)
		}
	})
}

// TestRunDoesNotReleaseWhatIsAnothers: the Lease changed hands unseen.
func TestRunDoesNotReleaseWhatIsAnothers(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		time.Sleep(time.Second)
		s.put(`{"holderIdentity":"b","leaseDurationSeconds":15}`)
		a.stop()
		if got := s.lease().Spec.Holder; got != "b" {
			t.Errorf("holder %q", got)
		}
	})
}

// TestRunReleasesWhenTheServerIsBack, but does not wait longer than that is of use.
func TestRunReleasesWhenTheServerIsBack(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		a.link.set(severed)
		time.AfterFunc(5*time.Second, func() { a.link.set(fair) })
		began := time.Now()
		a.stop()
		if took := time.Since(began); took != 6*time.Second || s.lease().Spec.Holder != "" {
			t.Errorf("it took %v, holder %q", took, s.lease().Spec.Holder)
		}
	})
	for name, w := range map[string]weather{"severed": severed, "mute": mute} {
		t.Run(name, func(t *testing.T) {
			leading(t, func(t *testing.T, s *stage, a *replica) {
				a.link.set(w)
				began := time.Now()
				a.stop()
				if took := time.Since(began); took != 10*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestRunKeepsTheLeaseWhileTheWorkEnds, however long that takes.
func TestRunKeepsTheLeaseWhileTheWorkEnds(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		a.linger = func() time.Duration { return 5 * time.Minute }
		s.replica("b", lease.Options{}).start()
		time.Sleep(5 * time.Second)
		a.cancel()
		time.Sleep(4 * time.Minute)
		if !a.IsLeader() || a.ended() || a.Check() != nil {
			t.Errorf("IsLeader %v, ended %v, Check %v", a.IsLeader(), a.ended(), a.Check())
		}
		if took := s.until("b"); took < time.Minute || took > time.Minute+2*time.Second {
			t.Errorf("b leads after another %v", took)
		}
	})
}

// TestRunKeepsALostLeaseWhileTheWorkEnds, if nobody has taken it yet: the work went
// on for too long, and nobody else should begin.
func TestRunKeepsALostLeaseWhileTheWorkEnds(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		a.linger = func() time.Duration { return 5 * time.Minute }
		s.replica("b", lease.Options{}).start()
		a.link.set(severed)
		time.Sleep(11 * time.Second)
		if a.IsLeader() {
			t.Error("IsLeader after the deadline")
		}
		a.link.set(fair)
		time.Sleep(4 * time.Minute)
		if a.IsLeader() || a.Check() != nil {
			t.Errorf("IsLeader %v, Check %v", a.IsLeader(), a.Check())
		}
		s.until("b") // the stage sees to it that a has ended
		a.await()
		if !errors.Is(a.err, lease.ErrLost) {
			t.Errorf("Run: %v", a.err)
		}
	})
}

// TestCheckFailsWhenTheWorkGoesOnThoughAnotherMayLead, and not before.
func TestCheckFailsWhenTheWorkGoesOnThoughAnotherMayLead(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		a.linger = func() time.Duration { return time.Minute }
		a.link.set(severed)
		time.Sleep(14 * time.Second)
		if err := a.Check(); err != nil {
			t.Errorf("Check after 14 s: %v", err)
		}
		time.Sleep(time.Second)
		if err := a.Check(); !errors.Is(err, lease.ErrLost) {
			t.Errorf("Check after 15 s: %v", err)
		}
		a.await()
		if err := a.Check(); err != nil {
			t.Errorf("Check after the end: %v", err)
		}
	})
	leading(t, func(t *testing.T, s *stage, a *replica) {
		a.linger = func() time.Duration { return time.Minute }
		s.put(`{"holderIdentity":"b"}`)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if err := a.Check(); !errors.Is(err, lease.ErrLost) {
			t.Errorf("Check after the Lease was taken away: %v", err)
		}
	})
}

// TestRunReturnsWhatTheWorkDid, and leadership that was lost.
func TestRunReturnsWhatTheWorkDid(t *testing.T) {
	oops := errors.New("oops")
	lose := func(ctx context.Context, s *stage) {
		s.put(`{"holderIdentity":"b"}`)
		<-ctx.Done()
	}
	for _, tt := range []struct {
		name string
		lead func(ctx context.Context, s *stage) error
		want []error
		not  []error
	}{
		{"nothing", func(context.Context, *stage) error { return nil }, nil, nil},
		{"an error", func(context.Context, *stage) error { return oops }, []error{oops}, []error{lease.ErrLost}},
		{"lost", func(ctx context.Context, s *stage) error { lose(ctx, s); return nil }, []error{lease.ErrLost}, nil},
		{"lost, said by the context", func(ctx context.Context, s *stage) error { lose(ctx, s); return ctx.Err() }, []error{lease.ErrLost}, []error{context.Canceled}},
		{"lost, and an error", func(ctx context.Context, s *stage) error { lose(ctx, s); return oops }, []error{lease.ErrLost, oops}, nil},
		{"lost, and an error with the context's", func(ctx context.Context, s *stage) error { lose(ctx, s); return errors.Join(ctx.Err(), oops) }, []error{lease.ErrLost, oops}, nil},
		{"lost, and an error with the cause", func(ctx context.Context, s *stage) error {
			lose(ctx, s)
			return fmt.Errorf("%w; flush: %w", context.Cause(ctx), oops)
		}, []error{lease.ErrLost, oops}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.put(released)
				err := s.replica("a", lease.Options{}).Run(t.Context(), func(ctx context.Context, _ lease.Token) error { return tt.lead(ctx, s) })
				if (err == nil) != (tt.want == nil) {
					t.Errorf("Run: %v", err)
				}
				for _, w := range tt.want {
					if !errors.Is(err, w) {
						t.Errorf("Run: %v, want %v", err, w)
					}
				}
				for _, w := range tt.not {
					if errors.Is(err, w) {
						t.Errorf("Run: %v, is %v", err, w)
					}
				}
			})
		})
	}
}

// TestRunReturnsWhatTheWorkDidBeforeALoss: a renewal takes so long that the leadership is lost
// after lead has returned, and before Run has.
func TestRunReturnsWhatTheWorkDidBeforeALoss(t *testing.T) {
	for _, want := range []error{nil, fmt.Errorf("another context: %w", context.Canceled)} {
		play(t, func(t *testing.T, s *stage) {
			s.put(released)
			a := s.replica("a", lease.Options{Trace: lease.Trace{Renewed: func(time.Duration) { pass(time.Minute) }}})
			err := a.Run(t.Context(), func(context.Context, lease.Token) error { pass(3 * time.Second); return want })
			if err != want {
				t.Errorf("Run: %v, want %v", err, want)
			}
		})
	}
}

// TestRunAgain: one elector leads again and again, with a newer token each time, and
// not twice at a time.
func TestRunAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		a := s.replica("a", lease.Options{})
		for range 3 {
			a.start()
			s.until("a")
			if err := a.Run(t.Context(), idle); err == nil || !strings.Contains(err.Error(), "while it runs") {
				t.Errorf("Run: %v", err)
			}
			a.stop()
		}
		if s.count() != 3 || s.last().token.Transitions != 7 {
			t.Errorf("%d terms, the last %+v", s.count(), s.last())
		}
	})
}

// TestRunPassesPanicsOn and does not release a Lease whose work did not return.
func TestRunPassesPanicsOn(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		a := s.replica("a", lease.Options{})
		func() {
			defer func() {
				if r := recover(); r != "oops" {
					t.Errorf("recovered %v", r)
				}
			}()
			_ = a.Run(t.Context(), func(context.Context, lease.Token) error { panic("oops") })
		}()
		if a.IsLeader() || s.lease().Spec.Holder != "a" {
			t.Errorf("IsLeader %v, holder %q", a.IsLeader(), s.lease().Spec.Holder)
		}
		s.lines("a")
		time.Sleep(time.Minute)
		if got := s.lines("a"); got != nil {
			t.Errorf("requests afterwards: %v", got)
		}
		a.start() // it can run again
		s.until("a")
	})
}

// TestRunLeavesNothingBehind: no goroutine and no connection.
func TestRunLeavesNothingBehind(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		time.Sleep(5 * time.Second)
		a.link.freeze()
		time.Sleep(20 * time.Second)
		a.stop()
		synctest.Wait()
		buf := make([]byte, 1<<20)
		stacks := string(buf[:runtime.Stack(buf, true)])
		for _, what := range []string{"lease.(*term)", "lease.(*Elector)", "http.(*persistConn)"} {
			if strings.Contains(stacks, what) {
				t.Errorf("%s is still there", what)
			}
		}
		a.link.mu.Lock()
		defer a.link.mu.Unlock()
		if n := len(a.link.conns); n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}

// TestDeletedLeaseIsNotTakenFromALeaderWhoDoesNotKnow by one who has just come.
func TestDeletedLeaseIsNotTakenFromALeaderWhoDoesNotKnow(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		a.linger = func() time.Duration { return 4 * time.Second }
		time.Sleep(4 * time.Second)
		a.link.set(mute)
		s.srv.Delete(kube.Leases, orders)
		s.replica("b", lease.Options{}).start()
		if took := s.until("b"); took != 15*time.Second {
			t.Errorf("b leads after %v", took)
		}
	})
}

// TestRestoredServer: its Lease is of an earlier leader, who must wait like others.
func TestRestoredServer(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		time.Sleep(4 * time.Second)
		backup := s.srv.Revision()
		a.stop()
		b := s.replica("b", lease.Options{}).start()
		s.until("b")
		s.mu.Lock()
		s.terms = nil // tokens go back with the server
		s.mu.Unlock()
		b.link.set(mute)
		s.srv.RestoreTo(backup)
		a.start()
		if took := s.until("a"); took < 15*time.Second || took > 17*time.Second {
			t.Errorf("a leads after %v", took)
		}
	})
}

// TestStateIsReadFromManyGoroutines is for the race detector.
func TestStateIsReadFromManyGoroutines(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		var readers sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			readers.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
						_, _, _, _ = a.Check(), a.IsLeader(), a.Leader(), a.Identity()
					}
				}
			})
		}
		time.Sleep(5 * time.Second)
		a.link.set(severed)
		time.Sleep(11 * time.Second)
		a.link.set(fair)
		a.await()
		close(stop)
		readers.Wait()
	})
}

func TestTrace(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(`{"holderIdentity":"b","leaseDurationSeconds":15}`)
		var got []string
		a := s.replica("a", lease.Options{Trace: lease.Trace{
			Leader:  func(id string) { got = append(got, fmt.Sprintf("leader %q", id)) },
			Renewed: func(took time.Duration) { got = append(got, fmt.Sprint("renewed in ", took)) },
			Failed:  func(err error) { got = append(got, "failed") },
		}}).start()
		s.until("a")
		s.srv.On(apitest.Match{Nth: 1}, faults.Delay(time.Second))
		s.srv.On(apitest.Match{Nth: 2}, faults.HTML(500))
		time.Sleep(5 * time.Second)
		a.stop()
		want := []string{`leader "b"`, `leader "a"`, "renewed in 1s", "failed", `leader ""`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
