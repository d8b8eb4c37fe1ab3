package lease_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// TestRestoredServerWithAReleasedLease: who has seen the leader of the lost history waits
// until it must have stopped.
func TestRestoredServerWithAReleasedLease(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, a *replica) {
		_ = a.stop()
		backup := s.srv.Revision()
		a.start()
		s.until("a")
		b := s.replica("b", lease.Options{}).start()
		time.Sleep(5 * time.Second)
		s.mu.Lock()
		s.terms = nil // tokens go back with the server
		s.mu.Unlock()
		a.link.set(mute)
		s.srv.RestoreTo(backup)
		if took := s.until("b"); took < 15*time.Second || took > 18*time.Second {
			t.Errorf("b leads after %v", took)
		}
		_ = b.stop()
	})
}

// TestRestoredServerThatChangesAgain: what a candidate knows of the leader of the lost history
// outlasts what happens to the Lease while it waits, and another call of Run.
func TestRestoredServerThatChangesAgain(t *testing.T) {
	for name, change := range map[string]func(s *stage, first kube.Revision){
		"restored again": func(s *stage, first kube.Revision) { s.srv.RestoreTo(first) },
		"deleted":        func(s *stage, _ kube.Revision) { s.srv.Delete(kube.Leases, orders) },
		"put":            func(s *stage, _ kube.Revision) { s.put(released) },
	} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, run again %t", name, again), func(t *testing.T) {
				play(t, func(t *testing.T, s *stage) {
					s.put(strings.Replace(released, "4", "3", 1))
					first := s.srv.Revision()
					s.put(released)
					backup := s.srv.Revision()
					b := s.replica("b", lease.Options{Duration: time.Minute}).start()
					s.until("b")
					a := s.replica("a", lease.Options{}).start()
					pass(20 * time.Second)
					b.link.set(severed)
					s.mu.Lock()
					s.terms = nil // tokens go back with the server
					s.mu.Unlock()
					s.srv.RestoreTo(backup)
					pass(5 * time.Second)
					if again {
						_ = a.stop()
					}
					change(s, first)
					if again {
						a.start()
					}
					if took := s.until("a"); took < 50*time.Second || took > time.Minute { // and no two work at one time, says stage
						t.Errorf("a leads after %v", took)
					}
				})
			})
		}
	}
}

// TestRingOfARestoredServerWithFreeSlots: a member that has seen their owner in the lost
// history waits until it must have stopped, which is after the longest Duration.
func TestRingOfARestoredServerWithFreeSlots(t *testing.T) {
	for _, o := range []lease.Options{{}, {Duration: time.Minute, RenewDeadline: 50 * time.Second}} {
		t.Run(o.Duration.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCircle(t)
				a := c.join("a", 0, true)
				pass(5 * time.Second)
				c.balanced(1)
				a.cancel()
				<-a.done
				backup := c.srv.Revision() // no slot has an owner
				b := c.joinWith("b", 0, o)
				pass(5 * time.Second)
				c.join("d", 0, false)
				pass(20 * time.Second)
				c.balanced(2)
				b.link.set(severed)
				c.srv.RestoreTo(backup)
				c.mu.Lock()
				c.tokens = [256]kube.Revision{} // they go back with the server
				c.mu.Unlock()
				pass(2 * time.Minute)
				b.link.set(fair)
				pass(40 * time.Second)
				c.balanced(2)
			})
		})
	}
}

// TestRingOfARestoredServerWithTheSlotsOfADeadMember: the slots that the restored table assigns
// to a membership that has ended may have an owner of the lost history, with a longer Duration.
func TestRingOfARestoredServerWithTheSlotsOfADeadMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.join("a", 0, true)
		pass(5 * time.Second)
		c.balanced(1)
		backup := c.srv.Revision() // a has all slots
		b := c.joinWith("b", 0, lease.Options{Duration: time.Minute, RenewDeadline: 50 * time.Second})
		pass(20 * time.Second)
		c.balanced(2)
		b.link.set(severed)
		c.srv.RestoreTo(backup) // a finds slots that it did not claim, and joins again
		c.mu.Lock()
		c.tokens = [256]kube.Revision{} // they go back with the server
		c.mu.Unlock()
		pass(2 * time.Minute)
		c.balanced(1)
		b.link.set(fair)
		pass(40 * time.Second)
		c.balanced(2)
	})
}

// TestRingOfARestoredServerThatIsEdited: a member waits as long as for the longest Duration that
// it knew at the restore, though it does not know the members of the lost history any more.
func TestRingOfARestoredServerThatIsEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.join("a", 0, true)
		pass(time.Minute)
		backup := c.srv.Revision()
		b := c.joinWith("b", 0, lease.Options{Duration: time.Minute, RenewDeadline: 50 * time.Second})
		pass(time.Minute)
		c.balanced(2)
		b.link.set(severed)
		c.srv.RestoreTo(backup)
		c.mu.Lock()
		c.tokens = [256]kube.Revision{} // they go back with the server
		c.mu.Unlock()
		pass(5 * time.Second)
		c.edit(false, false)
		pass(2 * time.Minute)
		c.balanced(1)
	})
}
