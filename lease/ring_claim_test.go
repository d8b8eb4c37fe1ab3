package lease_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// unanswered lets a request succeed, and loses the response.
func unanswered(_ http.ResponseWriter, r *http.Request) {
	apitest.Continue(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// cutOff cuts the member off after its next write to the table has succeeded, and before
// the response. The channel is closed then.
func (f *fellow) cutOff() <-chan struct{} {
	done := make(chan struct{})
	f.srv.On(apitest.Match{Verb: "update", Resource: "leases", Name: orders.Name, UserAgent: f.name}, func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		defer f.link.set(severed)
		unanswered(w, r)
	}).Times(1)
	return done
}

// TestRingClaimWithoutAnAnswer: a member that finds out late that its claim has succeeded
// may be taken for dead by then. It works on the slots only if nobody else has claimed them.
func TestRingClaimWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		b := c.join("b", 0, true)
		pass(5 * time.Second)
		a := c.join("a", 0, true)
		<-a.cutOff()
		claims := make(chan struct{})
		c.srv.On(apitest.Match{Verb: "update", Resource: "leases", Name: orders.Name, UserAgent: b.name}, func(w http.ResponseWriter, r *http.Request) {
			close(claims)
			a.link.set(fair)
			pass(4 * time.Second) // a reads the table before b's claim reaches it
			apitest.Continue(w, r)
		}).Times(1)
		<-claims
		pass(30 * time.Second) // no two work on one slot, says circle
		c.balanced(2)
	})
}

// TestRingReleaseWithoutAnAnswer: a member whose release of some slots was applied, and
// not answered, keeps the others.
func TestRingReleaseWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		a := c.join("a", 0, true)
		pass(5 * time.Second)
		released := a.cutOff()
		c.join("b", 0, true)
		<-released
		a.link.set(fair)
		pass(8 * time.Second)
		c.balanced(2)
		if c.moves != 256+128 {
			t.Errorf("%d slots changed hands, want those that b has", c.moves)
		}
	})
}

// TestRingOfARestoredServer: its table is an earlier one, in which a member owns slots that
// another works on until it reads that table.
func TestRingOfARestoredServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.join("a", 0, true)
		pass(5 * time.Second)
		backup := c.srv.Revision()
		b := c.join("b", 0, true)
		pass(20 * time.Second)
		c.balanced(2)
		b.link.set(severed)
		c.srv.RestoreTo(backup)
		c.mu.Lock()
		c.tokens = [256]kube.Revision{} // they go back with the server
		c.mu.Unlock()
		pass(5 * time.Second)
		b.link.set(fair)
		pass(40 * time.Second)
		c.balanced(2)
	})
}

// TestRingTimesBeginWithTheRequest: a member is cut off after a renewal whose response was
// quick, or took almost 5 s. Its slots are its own for 10 s from the sending, and its work goes
// on for almost 5 s more. The other member reads the Leases at another time in each case, and
// takes them 15 s after the renewal.
func TestRingTimesBeginWithTheRequest(t *testing.T) {
	for _, took := range []time.Duration{0, 4900 * time.Millisecond} {
		for phase := time.Duration(0); phase < 2*time.Second; phase += 400 * time.Millisecond {
			t.Run(fmt.Sprint(took, " ", phase), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCircle(t)
					a := c.join("a", 4900*time.Millisecond, true)
					pass(20*time.Second + phase)
					c.join("b", 0, true)
					pass(30 * time.Second)
					c.balanced(2)
					c.srv.On(apitest.Match{Verb: "update", Resource: "leases", UserAgent: "a"}, func(w http.ResponseWriter, r *http.Request) {
						apitest.Continue(w, r)
						pass(took)
						time.AfterFunc(50*time.Millisecond, func() { a.link.set(severed) })
					}).Times(1)
					pass(40 * time.Second) // no two work on one slot, says circle
					if slots, _ := c.counts(); slots["b"] != 256 {
						t.Errorf("%v, want all with b", slots)
					}
				})
			})
		}
	}
}

// TestRingTableThatWasNotSeen: a table is created and deleted between two turns of a member, who
// therefore creates another one at once. It claims no slots while the owner by the first may work,
// also if the Lease of the owner is deleted too.
func TestRingTableThatWasNotSeen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		delete bool          // the Lease of the owner
		after  time.Duration // the table; b reads the Leases 3.5 s after it, and every 2 s
	}{
		{"the Lease stays", false, 0},
		{"the Lease is deleted unread", true, 0},
		{"the Lease is deleted after it was read", true, 4 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCircle(t)
				a, b := c.join("a", 0, false), c.join("b", 0, false)
				pass(14 * time.Second)
				c.srv.On(apitest.Match{Verb: "update", Resource: "leases", UserAgent: b.name}, func(w http.ResponseWriter, r *http.Request) {
					pass(4500 * time.Millisecond)
					apitest.Continue(w, r)
				}).Times(1)
				pass(5 * time.Second)
				if slots, _ := c.counts(); slots[a.name] == 0 || slots[b.name] != 0 {
					t.Fatalf("a has %d slots, b has %d: b has seen the table", slots[a.name], slots[b.name])
				}
				a.link.set(mute)
				c.srv.Delete(kube.Leases, orders)
				pass(tt.after)
				want := map[string]int{"b": 256}
				if tt.delete {
					a.deleteLease()
				} else {
					c.join("c", 0, false) // of three members, one is assigned slots of a
					want = map[string]int{"b": 128, "c": 128}
				}
				pass(23 * time.Second) // no two work on one slot, says circle
				if slots, _ := c.counts(); !maps.Equal(slots, want) {
					t.Errorf("%v, want %v", slots, want)
				}
			})
		})
	}
}
