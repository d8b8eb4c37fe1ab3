package lease_test

import (
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// TestElectorKnowsALongerLeaseWhenRunIsCalledAgain: its leader may be cut off, and does not know
// that the Lease was deleted. The stage checks that no two work at one time.
func TestElectorKnowsALongerLeaseWhenRunIsCalledAgain(t *testing.T) {
	minute := lease.Options{TakeMissing: true, Duration: time.Minute}
	again := func(t *testing.T, s *stage, a *replica, transitions int) {
		t.Helper()
		s.srv.Delete(kube.Leases, orders)
		a.start()
		if took := s.until("a"); took < time.Minute || took > 65*time.Second {
			t.Errorf("a leads after %v", took)
		}
		if got := s.last().token.Transitions; got != transitions {
			t.Errorf("%d transitions, want %d", got, transitions)
		}
	}
	t.Run("it waited", func(t *testing.T) {
		play(t, func(t *testing.T, s *stage) {
			b := s.replica("b", minute).start()
			s.until("b")
			a := s.replica("a", lease.Options{}).start()
			pass(5 * time.Second)
			_ = a.stop()
			b.link.set(severed)
			again(t, s, a, 2)
		})
	})
	t.Run("it led", func(t *testing.T) {
		leading(t, func(t *testing.T, s *stage, a *replica) {
			s.put(`{"holderIdentity":"b","leaseDurationSeconds":60,"leaseTransitions":8}`)
			a.await()
			again(t, s, a, 9)
		})
	})
}

// TestElectorNoticesARestoredServerWhenRunIsCalledAgain: by the leader that it saw, and by its
// own renewals.
func TestElectorNoticesARestoredServerWhenRunIsCalledAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(s *stage, a, b *replica)
	}{
		{"it saw another lead", func(s *stage, a, b *replica) {
			b.start()
			s.until("b")
			a.start()
			pass(5 * time.Second)
			_ = a.stop()
		}},
		{"it led", func(s *stage, a, b *replica) {
			a.start()
			s.until("a")
			pass(5 * time.Second)
			_ = a.stop()
			b.start()
			s.until("b")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.put(released)
				backup := s.srv.Revision()
				a, b := s.replica("a", lease.Options{}), s.replica("b", lease.Options{})
				tt.run(s, a, b)
				pass(time.Hour)
				s.mu.Lock()
				s.terms = nil // tokens go back with the server
				s.mu.Unlock()
				b.link.set(severed)
				s.srv.RestoreTo(backup)
				a.start()
				if took := s.until("a"); took < 15*time.Second || took > 18*time.Second {
					t.Errorf("a leads after %v", took)
				}
			})
		})
	}
}
