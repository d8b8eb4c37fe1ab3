package lease_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// TestCandidateTakesTheLeaseWhenItMay is about when, whatever the record's times
// say, and what it writes then.
func TestCandidateTakesTheLeaseWhenItMay(t *testing.T) {
	record := func(holder string, seconds int, at string) string {
		return fmt.Sprintf(`{"holderIdentity":%q,"leaseDurationSeconds":%d,"leaseTransitions":4,"acquireTime":%q,"renewTime":%[3]q}`, holder, seconds, at)
	}
	const before, then, later = "2001-01-02T03:04:05.000006Z", "2026-01-02T03:04:05.000006Z", "2099-01-02T03:04:05.000006Z"
	for _, tt := range []struct {
		name        string
		spec        string
		after       time.Duration
		transitions int
	}{
		{"none", "", 15 * time.Second, 1},
		{"new", `{}`, 15 * time.Second, 1},
		{"released", released, 0, 5},
		{"erased", record("", 15, then), 15 * time.Second, 5},
		{"expired by its times", record("b", 15, before), 15 * time.Second, 5},
		{"renewed in the future by its times", record("b", 15, later), 15 * time.Second, 5},
		{"held by a namesake", record("a", 15, then), 15 * time.Second, 5},
		{"held for longer", record("b", 60, then), time.Minute, 5},
		{"held for less", record("b", 2, then), 15 * time.Second, 5},
		{"held without a duration", `{"holderIdentity":"b"}`, 15 * time.Second, 1},
		{"many transitions", `{"holderIdentity":"b","leaseTransitions":2147483647}`, 15 * time.Second, 1<<31 - 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				if tt.spec != "" {
					s.put(tt.spec)
				}
				began := time.Now()
				a := s.replica("a", lease.Options{}).start()
				if got := s.until("a"); got != tt.after {
					t.Errorf("it leads after %v, want %v", got, tt.after)
				}
				now := began.Add(tt.after).UTC().Format("2006-01-02T15:04:05.000000Z")
				want := spec{Holder: "a", Seconds: 15, Transitions: tt.transitions, Acquired: now, Renewed: now}
				if diff := cmp.Diff(want, s.lease().Spec); diff != "" {
					t.Errorf("spec (-want +got):\n%s", diff)
				}
				if got := s.last().token; got.Transitions != tt.transitions || got.UID != s.lease().UID || string(got.Revision) != s.lease().ResourceVersion {
					t.Errorf("token %+v", got)
				}
				if !a.IsLeader() || a.Leader() != "a" {
					t.Errorf("IsLeader %v, Leader %q", a.IsLeader(), a.Leader())
				}
			})
		})
	}
}

func TestCandidateWaitsWhileTheLeaseIsRenewed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		a := s.replica("a", lease.Options{})
		renew := func(i int) {
			s.put(fmt.Sprintf(`{"holderIdentity":"b","leaseDurationSeconds":15,"renewTime":"2026-01-02T03:04:05.%06dZ"}`, i))
		}
		renew(0)
		a.start()
		for i := range 100 {
			time.Sleep(14 * time.Second)
			renew(i + 1)
		}
		if s.leader() != "" || a.IsLeader() || a.Leader() != "b" {
			t.Errorf("leader %q, IsLeader %v, Leader %q", s.leader(), a.IsLeader(), a.Leader())
		}
		if got := s.until("a"); got < 15*time.Second || got > 17*time.Second {
			t.Errorf("it leads %v after the last renewal", got)
		}
	})
}

// TestCandidateIsNotKeptWaitingByMetadata: only the record is a sign of life.
func TestCandidateIsNotKeptWaitingByMetadata(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		body := `{"metadata":{"namespace":"shop","name":"orders","annotations":{"n":"%d"}},"spec":{"holderIdentity":"b","leaseDurationSeconds":15}}`
		s.srv.Put(kube.Leases, fmt.Sprintf(body, 0))
		began := time.Now()
		s.replica("a", lease.Options{}).start()
		for i := range 20 {
			time.Sleep(time.Second)
			if s.leader() == "" {
				s.srv.Put(kube.Leases, fmt.Sprintf(body, i+1))
			}
		}
		if s.leader() != "a" {
			t.Fatal("it does not lead")
		}
		if got := s.last().start.Sub(began); got != 15*time.Second {
			t.Errorf("it leads after %v", got)
		}
	})
}

// TestCandidateRetriesWithJitter: soon while another leads, later after failures.
func TestCandidateRetriesWithJitter(t *testing.T) {
	for _, tt := range []struct {
		dice         float64
		looks, fails time.Duration
	}{{0, time.Second, 2 * time.Second}, {0.5, 1400 * time.Millisecond, 3200 * time.Millisecond}} {
		play(t, func(t *testing.T, s *stage) {
			s.put(`{"holderIdentity":"b","leaseDurationSeconds":3600}`)
			a := s.replica("a", lease.Options{})
			a.SetDice(func() float64 { return tt.dice })
			a.start()
			pauses := func(want time.Duration) {
				t.Helper()
				time.Sleep(20 * want)
				var last time.Time
				for i, q := range s.srv.Requests() {
					if got := q.Start.Sub(last); i > 0 && got != want {
						t.Errorf("dice %v: request %d comes after %v, want %v", tt.dice, i, got, want)
					}
					last = q.Start
				}
				s.srv.ForgetRequests()
			}
			pauses(tt.looks)
			s.srv.On(apitest.Match{}, faults.HTML(http.StatusForbidden))
			time.Sleep(2 * time.Second)
			s.srv.ForgetRequests()
			pauses(tt.fails)
			a.stop()
		})
	}
}

func TestCandidateWaitsAsLongAsTheServerAsksFor(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		s.srv.On(apitest.Match{}, faults.Throttle("9")).Times(1)
		s.replica("a", lease.Options{}).start()
		if got := s.until("a"); got != 9*time.Second {
			t.Errorf("it leads after %v", got)
		}
	})
}

// TestCandidateWhoseAnswerIsLostLeadsAllTheSame: it knows its own record.
func TestCandidateWhoseAnswerIsLostLeadsAllTheSame(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		a := s.replica("a", lease.Options{})
		s.srv.On(apitest.Match{Verb: "update", Nth: 1}, func(w http.ResponseWriter, r *http.Request) {
			a.link.set(deaf)
			apitest.Continue(w, r)
		})
		a.start()
		time.Sleep(time.Second)
		if s.leader() != "" || s.lease().Spec.Holder != "a" {
			t.Fatalf("leader %q, holder %q", s.leader(), s.lease().Spec.Holder)
		}
		a.link.set(fair)
		if got := s.until("a"); got > 7*time.Second {
			t.Errorf("it leads after %v", got)
		}
		if got := s.lease().Spec.Transitions; got != 5 {
			t.Errorf("%d transitions", got)
		}
	})
}

// TestCandidateThatIsStoppedGivesUpWhatItMayHaveTaken: another leads soon.
func TestCandidateThatIsStoppedGivesUpWhatItMayHaveTaken(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		a := s.replica("a", lease.Options{})
		s.srv.On(apitest.Match{Verb: "update", Nth: 1}, func(w http.ResponseWriter, r *http.Request) {
			a.link.set(deaf)
			apitest.Continue(w, r)
		})
		a.start()
		time.Sleep(time.Second)
		a.link.set(fair)
		if err := a.stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		s.replica("b", lease.Options{}).start()
		if got := s.until("b"); got != 0 {
			t.Errorf("b leads after %v", got)
		}
	})
}

// TestCandidateKnowsAnEarlierAttempt: the server handles the first attempt to take the Lease
// only after it has refused the second one.
func TestCandidateKnowsAnEarlierAttempt(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		second := make(chan struct{})
		s.srv.On(apitest.Match{Verb: "update", Nth: 1}, func(w http.ResponseWriter, r *http.Request) {
			<-second
			apitest.Continue(w, r)
		})
		s.srv.On(apitest.Match{Verb: "update", Nth: 2}, func(w http.ResponseWriter, r *http.Request) {
			close(second)
			faults.HTML(500)(w, r)
		})
		s.replica("a", lease.Options{}).start()
		if got := s.until("a"); got > 10*time.Second {
			t.Errorf("it leads after %v", got)
		}
		if got := s.lease().Spec.Transitions; got != 5 {
			t.Errorf("%d transitions", got)
		}
	})
}

// TestCandidateThatIsStoppedWhenItHasTakenTheLease releases it, and does not lead.
func TestCandidateThatIsStoppedWhenItHasTakenTheLease(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		var a *replica
		a = s.replica("a", lease.Options{Trace: lease.Trace{Leader: func(who string) {
			if who == "a" {
				a.cancel()
			}
		}}})
		a.start()
		<-a.done
		if got := s.lease().Spec; got.Holder != "" || got.Seconds != 1 || s.count() != 0 {
			t.Errorf("%+v after %d terms", got, s.count())
		}
	})
}

// TestCandidateThatNeverLed neither lingers nor writes when it is stopped.
func TestCandidateThatNeverLed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(`{"holderIdentity":"b","leaseDurationSeconds":15,"renewTime":"2026-01-02T03:04:05.000006Z"}`)
		a := s.replica("a", lease.Options{}).start()
		time.Sleep(10 * time.Second)
		before := s.lease()
		a.link.set(mute)
		began := time.Now()
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if err := a.stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		if err := a.Run(ctx, idle); !errors.Is(err, cause) {
			t.Errorf("Run: %v, want the cause", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v to stop", took)
		}
		if diff := cmp.Diff(before, s.lease()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestCandidateEndsWhereTheServerCallsItsLeaseInvalid: that will not change.
func TestCandidateEndsWhereTheServerCallsItsLeaseInvalid(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		a := s.replica("a", lease.Options{Labels: map[string]string{"not/a/label": "x"}}).start()
		synctest.Wait()
		if !a.ended() || !errors.Is(a.err, kube.ErrInvalid) || !strings.Contains(a.err.Error(), "lease shop/orders") {
			t.Errorf("Run: %v", a.err)
		}
	})
}

// TestCandidateReportsWhatIsInTheWay: missing rights are retried, and reported.
func TestCandidateReportsWhatIsInTheWay(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		allow := s.srv.Deny("", apitest.Match{Verb: "update", Resource: "leases"})
		var failed []error
		s.replica("a", lease.Options{Trace: lease.Trace{Failed: func(err error) { failed = append(failed, err) }}}).start()
		time.Sleep(time.Minute)
		if s.leader() != "" || len(failed) != 31 || !errors.Is(failed[0], kube.ErrForbidden) {
			t.Fatalf("leader %q, %d failures, %v", s.leader(), len(failed), failed)
		}
		allow()
		s.until("a")
	})
}

// TestCandidatesWhoFindNoLease agree on one.
func TestCandidatesWhoFindNoLease(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		for i := range 9 {
			s.replica(fmt.Sprint(i), lease.Options{Labels: map[string]string{"app": "orders"}}).start()
		}
		time.Sleep(15 * time.Second)
		if s.leader() == "" {
			t.Error("nobody leads")
		}
		if got := s.lease(); got.Labels["app"] != "orders" {
			t.Errorf("labels %v", got.Labels)
		}
		time.Sleep(3 * time.Minute)
		if s.count() != 1 {
			t.Errorf("%d terms", s.count())
		}
	})
}

// TestTransitionsNeverGoBack where a replica has seen more, in the same Lease or in
// one that was there before.
func TestTransitionsNeverGoBack(t *testing.T) {
	held := `{"holderIdentity":"b","leaseDurationSeconds":15,"leaseTransitions":8,"renewTime":"2026-01-02T03:04:05.000006Z"}`
	t.Run("deleted", func(t *testing.T) {
		play(t, func(t *testing.T, s *stage) {
			s.put(held)
			s.replica("a", lease.Options{}).start()
			time.Sleep(5 * time.Second)
			s.srv.Delete(kube.Leases, orders)
			time.Sleep(5 * time.Second)
			if got := s.lease().Spec; got.Transitions != 8 || got.Holder != "" || got.Seconds != 15 {
				t.Errorf("the new Lease: %+v", got)
			}
			s.until("a")
			if got := s.last().token.Transitions; got != 9 {
				t.Errorf("%d transitions", got)
			}
		})
	})
	t.Run("replaced", func(t *testing.T) {
		play(t, func(t *testing.T, s *stage) {
			s.put(held)
			s.replica("a", lease.Options{}).start()
			time.Sleep(5 * time.Second)
			s.srv.Delete(kube.Leases, orders)
			s.put(`{}`)
			s.until("a")
			if got := s.last().token.Transitions; got != 9 {
				t.Errorf("%d transitions", got)
			}
		})
	})
	t.Run("after another was faster", func(t *testing.T) {
		play(t, func(t *testing.T, s *stage) {
			s.put(released)
			s.srv.On(apitest.Match{Verb: "update"}, func(w http.ResponseWriter, r *http.Request) {
				s.put(held)
				apitest.Continue(w, r)
			}).Times(1)
			s.replica("a", lease.Options{}).start()
			if took := s.until("a"); took < 15*time.Second {
				t.Errorf("it leads after %v", took)
			}
			if got := s.last().token.Transitions; got != 9 {
				t.Errorf("%d transitions", got)
			}
		})
	})
}

// TestCandidateWaitsForALongerLeaseThatWasDeleted: its leader may be cut off, and does not
// know that.
func TestCandidateWaitsForALongerLeaseThatWasDeleted(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		a := s.replica("a", lease.Options{TakeMissing: true, Duration: time.Minute}).start()
		s.until("a")
		s.replica("b", lease.Options{TakeMissing: true}).start()
		pass(10 * time.Second)
		a.link.set(severed)
		s.srv.Delete(kube.Leases, orders)
		if took := s.until("b"); took < time.Minute || took > 65*time.Second { // and no two work at one time, says stage
			t.Errorf("b leads after %v", took)
		}
	})
}
