package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// circle is a server with members of a ring, of which no two may ever work on one slot.
type circle struct {
	t   *testing.T
	srv *apitest.Server

	mu     sync.Mutex
	owner  [256]string
	tokens [256]kube.Revision // of the last owner
	moves  int
}

// fellow is a member. It works on its slots until apply takes them away, or for linger
// after its ctx.
type fellow struct {
	*circle
	name   string
	link   *link
	linger time.Duration
	cancel context.CancelFunc
	done   chan struct{}
	killed bool // guarded by circle.mu
	runs   int
}

func newCircle(t *testing.T) *circle { return &circle{t: t, srv: apitest.NewInMemory(t)} }

func (c *circle) join(name string, linger time.Duration, takeMissing bool) *fellow {
	c.t.Helper()
	return c.joinWith(name, linger, lease.Options{TakeMissing: takeMissing})
}

func (c *circle) joinWith(name string, linger time.Duration, o lease.Options) *fellow {
	c.t.Helper()
	o.Identity = name
	f := &fellow{circle: c, name: name, linger: linger, link: &link{dial: c.srv.Dial, delay: 7 * time.Second}, done: make(chan struct{})}
	cl, err := client.New(client.Config{Server: c.srv.URL, Dial: f.link.Dial, UserAgent: name})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.CloseIdleConnections)
	r, err := lease.NewRing(cl, orders, o)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	go func() {
		defer close(f.done)
		_ = r.Run(ctx, f.apply)
	}()
	c.t.Cleanup(func() { cancel(); <-f.done })
	return f
}

func (f *fellow) apply(ctx context.Context, s lease.Share) error {
	if ctx.Err() != nil || s.Len() == 0 {
		pass(f.linger) // what is under way ends, in time
	} else {
		pass(f.linger / 2)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.killed || ctx.Err() != nil {
		s = lease.Share{}
	}
	f.runs++
	for slot := range 256 {
		switch owner := f.owner[slot]; {
		case s.HasSlot(slot) && owner != "" && owner != f.name:
			f.t.Errorf("%s: %s works on slot %d, and %s begins to", time.Now().Format(time.StampMilli), owner, slot, f.name)
		case s.HasSlot(slot) && owner == "":
			f.owner[slot] = f.name
			f.moves++
			if at := s.TokenOf(slot).Revision; f.tokens[slot] != "" && !at.Newer(f.tokens[slot]) && at != f.tokens[slot] {
				f.t.Errorf("the token of slot %d is %s, after %s", slot, at, f.tokens[slot])
			} else {
				f.tokens[slot] = at
			}
		case !s.HasSlot(slot) && owner == f.name:
			f.owner[slot] = ""
		}
	}
	return nil
}

// kill lets the process die: it works no more and sends nothing more.
func (f *fellow) kill() {
	f.link.set(severed)
	f.mu.Lock()
	f.killed = true
	for slot, owner := range f.owner {
		if owner == f.name {
			f.owner[slot] = ""
		}
	}
	f.mu.Unlock()
	f.cancel()
}

// counts returns how many slots each works on, and in how many runs.
func (c *circle) counts() (slots, runs map[string]int) {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	slots, runs = map[string]int{}, map[string]int{}
	for slot, owner := range c.owner {
		slots[owner]++
		if slot == 0 || c.owner[slot-1] != owner {
			runs[owner]++
		}
	}
	return slots, runs
}

// balanced wants each of n members to have as many slots as each other, give or take one.
func (c *circle) balanced(n int) {
	c.t.Helper()
	slots, runs := c.counts()
	for name, has := range slots {
		if name == "" || has < 256/n || has > 256/n+1 || runs[name] > 8 {
			c.t.Errorf("%s: of %d members %q has %d slots, in %d runs", time.Now().Format(time.StampMilli), n, name, has, runs[name])
		}
	}
	if len(slots) != n {
		c.t.Errorf("%d members have slots, want %d: %v", len(slots), n, slots)
	}
}

// TestRing: members that join, leave and die share all slots.
func TestRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		a := c.join("a", time.Second, false)
		pass(14 * time.Second)
		if slots, _ := c.counts(); slots[""] != 256 {
			t.Errorf("a table that may have been deleted is not waited for: %v", slots)
		}
		pass(6 * time.Second)
		c.balanced(1)
		b := c.join("b", time.Second, false)
		pass(10 * time.Second)
		c.balanced(2)
		c.join("c", time.Second, false)
		pass(15 * time.Second)
		c.balanced(3)
		moves := c.moves
		if moves > 256+128+86 {
			t.Errorf("%d slots changed hands", moves)
		}
		b.cancel()
		<-b.done
		pass(5 * time.Second)
		c.balanced(2)
		a.kill()
		pass(10 * time.Second)
		if slots, _ := c.counts(); slots["c"] >= 256 {
			t.Error("the slots of a member that may be alive were taken")
		}
		pass(12 * time.Second)
		c.balanced(1)
	})
}

// TestRingModel plays what can happen to four members, by a seed: partitions, freezes,
// kills, joins, outages, lost responses, deletions of Leases. No slot has two owners at any
// time, tokens do not go back, and in each quiet time every slot is owned, by members that
// are balanced.
func TestRingModel(t *testing.T) {
	for seed := range *seeds + 2 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, dice := newCircle(t), rand.New(rand.NewPCG(seed, 11))
				members, number := make([]*fellow, 4), 0
				replace := func(i int) {
					number++
					members[i] = c.join(fmt.Sprintf("%d-%d", i, number), time.Duration(dice.Int64N(int64(4*time.Second))), false)
					members[i].link.delay = time.Duration(dice.Int64N(int64(20 * time.Second)))
				}
				for i := range members {
					replace(i)
				}
				for range 4 {
					for range 15 + dice.IntN(20) {
						i := dice.IntN(4)
						switch n := dice.IntN(100); {
						case n < 45:
							members[i].link.set(weather(dice.IntN(5)))
						case n < 60:
							members[i].link.freeze()
						case n < 66:
							c.srv.Restart()
						case n < 74:
							c.srv.On(apitest.Match{}, faults.HTML([]int{404, 409, 429, 500, 503}[dice.IntN(5)])).Times(1 + dice.IntN(8))
						case n < 78:
							c.srv.On(apitest.Match{Verb: "update"}, unanswered).Times(1 + dice.IntN(6))
						case n < 82:
							c.srv.On(apitest.Match{}, faults.Delay(time.Duration(dice.IntN(9))*time.Second)).Times(1 + dice.IntN(5))
						case n < 85:
							c.srv.Delete(kube.Leases, orders)
						case n < 87:
							members[i].deleteLease()
						case n < 92:
							members[i].kill()
							replace(i)
						case n < 96:
							members[i].cancel()
							replace(i)
						}
						pass(time.Duration(dice.Int64N(int64(12 * time.Second))))
					}
					for _, m := range members {
						m.link.set(fair)
					}
					pass(3 * time.Minute)
					c.balanced(4)
				}
				t.Logf("%d members, %d moves of slots", number, c.moves)
			})
		})
	}
}
