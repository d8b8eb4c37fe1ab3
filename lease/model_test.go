package lease_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

var seeds = flag.Uint64("model.seeds", 1, "how many lives of five replicas are played")

// TestElectionModel plays hours of what can happen to five replicas, by a seed:
// partitions of all kinds, outages of the server, replicas that are stopped, amid a
// request too, or killed, and replaced, edits and deletions of the Lease, clocks that
// are wrong by days and jump. The stage checks that no two work at one time and that
// tokens grow. In each quiet minute there must be a leader, and within 2 seconds of
// its release there must be the next one. No replica deletes a Lease.
//
// With TakeMissing the same holds as long as nobody deletes the Lease, and the first
// leader is there at once.
func TestElectionModel(t *testing.T) {
	for seed := range *seeds {
		for _, takeMissing := range []bool{false, true} {
			t.Run(fmt.Sprint(seed, " take missing ", takeMissing), func(t *testing.T) {
				play(t, func(t *testing.T, s *stage) {
					m := newModel(t, s, seed, takeMissing)
					if pass(2 * time.Second); takeMissing != (s.leader() != "") {
						t.Errorf("leader after 2 s: %q", s.leader())
					}
					for range 8 {
						m.storm()
						m.calm()
					}
					s.mu.Lock()
					defer s.mu.Unlock()
					if len(s.terms) < 16 {
						t.Errorf("%d terms: too little happens", len(s.terms))
					}
					t.Logf("%d terms", len(s.terms))
				})
			})
		}
	}
}

type model struct {
	t        *testing.T
	s        *stage
	dice     *rand.Rand
	replicas []*replica
	offsets  []time.Duration // of their clocks
	number   int             // of replicas so far

	takeMissing bool
}

func newModel(t *testing.T, s *stage, seed uint64, takeMissing bool) *model {
	m := &model{t: t, s: s, dice: rand.New(rand.NewPCG(seed, 7)), offsets: make([]time.Duration, 5), takeMissing: takeMissing}
	for i := range 5 {
		m.replicas = append(m.replicas, nil)
		m.replace(i)
	}
	return m
}

// replace lets a new process run in place of the ith.
func (m *model) replace(i int) {
	m.number++
	r := m.s.replica(fmt.Sprintf("%d-%d", i, m.number), lease.Options{TakeMissing: m.takeMissing})
	dice := rand.New(rand.NewPCG(m.dice.Uint64(), 1))
	r.SetDice(dice.Float64)
	r.link.delay = time.Duration(dice.Int64N(int64(20 * time.Second)))
	r.linger = func() time.Duration { return time.Duration(dice.Int64N(int64(5 * time.Second))) } // less than 15 s - 10 s
	m.jump(i)
	offset := m.offsets[i]
	r.SetClock(func() time.Time { return time.Now().Add(offset) })
	m.replicas[i] = r.start()
}

func (m *model) jump(i int) {
	m.offsets[i] = time.Duration(m.dice.Int64N(int64(96*time.Hour))) - 48*time.Hour
}

// again starts those who have lost the leadership, as a program would.
func (m *model) again() {
	for i, r := range m.replicas {
		if r.ended() {
			m.replace(i)
		}
	}
}

// storm lets things happen for some minutes.
func (m *model) storm() {
	for range 10 + m.dice.IntN(30) {
		i := m.dice.IntN(5)
		r := m.replicas[i]
		switch n := m.dice.IntN(100); {
		case n < 45:
			r.link.set(weather(m.dice.IntN(5)))
		case n < 55:
			r.link.freeze()
		case n < 60:
			m.s.srv.Restart()
		case n < 70:
			door := apitest.Door(1 + m.dice.IntN(3))
			m.s.srv.On(apitest.Match{}, faults.Down(door, time.Duration(m.dice.IntN(25))*time.Second)).Times(1)
		case n < 75:
			m.s.srv.On(apitest.Match{}, faults.HTML([]int{404, 409, 429, 500, 503}[m.dice.IntN(5)])).Times(1 + m.dice.IntN(8))
		case n < 80:
			m.s.srv.On(apitest.Match{}, faults.Delay(time.Duration(m.dice.IntN(9))*time.Second)).Times(1 + m.dice.IntN(5))
		case n < 83 && !m.takeMissing:
			m.s.srv.Delete(kube.Leases, orders)
		case n < 86:
			m.edit()
		case n < 89:
			r.cancel()
		case n < 94:
			m.cancelAmidARequest()
		case n < 97:
			r.kill()
			m.replace(i)
		}
		pass(time.Duration(m.dice.Int64N(int64(12 * time.Second))))
		m.again()
	}
}

// cancelAmidARequest stops whoever sends the next request, before the server has
// handled it or before the answer arrives.
func (m *model) cancelAmidARequest() {
	verb, before := []string{"get", "update", "create"}[m.dice.IntN(3)], m.dice.IntN(2) == 0
	replicas := slices.Clone(m.replicas)
	m.s.srv.On(apitest.Match{Verb: verb}, func(w http.ResponseWriter, req *http.Request) {
		stop := func() {
			for _, r := range replicas {
				if req.Header.Get("User-Agent") == "replica "+r.name {
					r.cancel()
				}
			}
		}
		if before {
			stop()
		}
		apitest.Continue(w, req)
		if !before {
			stop()
		}
	}).Times(1)
}

// edit does what an operator may: it erases the holder, or shortens the lease.
func (m *model) edit() {
	synctest.Wait() // no replica may write between what is read here and what is put
	if b := m.s.srv.Get(kube.Leases, orders); b == nil {
		return
	}
	spec := m.s.lease().Spec
	holder, seconds := spec.Holder, spec.Seconds
	if m.dice.IntN(2) == 0 {
		holder = ""
	} else {
		seconds = []int{2, 0, -7, math.MinInt64}[m.dice.IntN(4)]
	}
	if holder == "" {
		seconds = max(seconds, 2) // else it would be released
	}
	renewed := []string{"0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"}[m.dice.IntN(2)]
	m.s.put(fmt.Sprintf(`{"holderIdentity":%q,"leaseDurationSeconds":%d,"leaseTransitions":%d,"renewTime":%q}`, holder, seconds, spec.Transitions, renewed))
}

// calm ends all that is wrong and waits until there must be a leader, and the next
// one after that is stopped.
func (m *model) calm() {
	m.t.Helper()
	for _, r := range m.replicas {
		r.link.set(fair)
	}
	for range 60 {
		pass(time.Second)
		m.again()
	}
	synctest.Wait()
	leaders := 0
	var leader *replica
	for _, r := range m.replicas {
		if r.IsLeader() {
			leader = r
			leaders++
			if m.s.leader() != r.name {
				m.t.Errorf("%s is the leader, %q works", r.name, m.s.leader())
			}
		}
	}
	if leaders != 1 {
		m.t.Fatalf("%s: %d leaders after a quiet minute", time.Now().Format(time.StampMilli), leaders)
	}
	for _, r := range m.replicas { // what was prepared for requests may stop some
		if r != leader && r.ended() {
			m.t.Fatalf("%s has ended: %v", r.name, r.err)
		}
	}
	leader.stop()
	if m.s.leader() == leader.name {
		m.t.Errorf("%s works after Run returned", leader.name)
	}
	if pass(2 * time.Second); m.s.leader() == "" {
		m.t.Errorf("%s: nobody leads 2 s after %s has released the Lease", time.Now().Format(time.StampMilli), leader.name)
	}
	m.again()
	for _, q := range m.s.srv.Requests() {
		if q.Verb == "delete" || q.Verb == "deletecollection" {
			m.t.Errorf("a replica sent %s %s", q.Method, q.Path)
		}
	}
	m.s.srv.ForgetRequests()
}
