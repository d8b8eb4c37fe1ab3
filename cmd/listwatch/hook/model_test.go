package hook

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// model checks each run against what was promised, under a random schedule. All of
// it is called by one goroutine at a time: the bubble's time stands still between.
type model struct {
	t       *testing.T
	opts    Options
	rng     *rand.Rand
	mine    chan struct{} // held by whoever looks at the rest
	added   []Event
	running map[string]bool
	ended   map[string][]Event // by name, runs that ended well or were the last try
	tries   map[string]int     // runs in a row that failed, by name; "batch" for all
	at      int
	most    int
}

func (m *model) lock() func() {
	m.mine <- struct{}{}
	return func() { <-m.mine }
}

func (m *model) run(ctx context.Context, events []Event) error {
	unlock := m.lock()
	if m.at++; m.at > m.most {
		m.t.Errorf("%d runs at once, want at most %d", m.at, m.most)
	}
	names := map[string]bool{}
	for _, e := range events {
		names[e.Name] = true
	}
	for name := range names {
		if m.running[name] {
			m.t.Errorf("two runs of %s at once", name)
		}
		m.running[name] = true
	}
	took, fails := time.Duration(m.rng.IntN(5000))*time.Millisecond, m.rng.IntN(4) == 0
	unlock()
	<-time.After(took) // of the bubble
	defer m.lock()()
	m.at--
	who := events[0].Name
	if m.opts.Batch > 0 {
		who = "batch" // they are serial, retries included
	}
	for name := range names {
		delete(m.running, name)
	}
	if fails && m.tries[who] < m.opts.Retries {
		m.tries[who]++
		return errors.New("exit code 1")
	}
	m.tries[who] = 0
	for _, e := range events {
		m.ended[e.Name] = append(m.ended[e.Name], e)
	}
	return nil
}

// finished checks that all up to n are.
func (m *model) finished(n int64) {
	defer m.lock()()
	for _, e := range m.added {
		if e.Seq > n {
			break
		}
		ok := false
		for _, r := range m.ended[e.Name] {
			ok = ok || r.Seq >= e.Seq
		}
		if !ok {
			m.t.Errorf("%s %s %d is not finished, though done up to %d", e.Type, e.Name, e.Seq, n)
		}
	}
}

// check compares what has run with what was added.
func (m *model) check() {
	added := map[string][]Event{}
	for _, e := range m.added {
		added[e.Name] = append(added[e.Name], e)
	}
	for name, es := range added {
		ran := m.ended[name]
		if len(ran) == 0 || ran[len(ran)-1].Seq != es[len(es)-1].Seq {
			m.t.Errorf("%s: the last state was not run last: %v of %v", name, seqs(ran), seqs(es))
			continue
		}
		deleted, first := map[string]bool{}, map[string]string{}
		for i, r := range ran {
			if i > 0 && ran[i-1].Seq >= r.Seq {
				m.t.Errorf("%s: out of order: %v", name, seqs(ran))
			}
			if r.Type == "DELETED" {
				deleted[r.UID] = true
			}
			if first[r.UID] == "" {
				first[r.UID] = r.Type
			}
		}
		for uid, typ := range first {
			if typ == "MODIFIED" {
				m.t.Errorf("%s: %s was modified before it was added", name, uid)
			}
		}
		for _, e := range es {
			if e.Type == "DELETED" && !deleted[e.UID] {
				m.t.Errorf("%s: the deletion of %s was lost", name, e.UID)
			}
		}
		if m.opts.Every && len(ran) != len(es) {
			m.t.Errorf("%s: ran %v, want %v", name, seqs(ran), seqs(es))
		}
	}
}

func seqs(es []Event) (s []string) {
	for _, e := range es {
		s = append(s, fmt.Sprintf("%s#%d", e.Type, e.Seq))
	}
	return s
}

func TestPoolKeepsItsPromises(t *testing.T) {
	for seed := range uint64(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playModel(t, seed) })
		})
	}
}

func playModel(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := &model{t: t, rng: rng, mine: make(chan struct{}, 1), running: map[string]bool{}, ended: map[string][]Event{}, tries: map[string]int{}}
	m.opts = Options{Concurrency: 1 + rng.IntN(4), Every: rng.IntN(2) == 0, Backlog: 1 + rng.IntN(20), Retries: rng.IntN(4)}
	if m.most = m.opts.Concurrency; rng.IntN(3) == 0 {
		m.opts.Batch, m.opts.Window, m.most = 1+rng.IntN(8), time.Second, 1
	}
	if rng.IntN(3) == 0 {
		m.opts.Rate, m.opts.Burst = rate.Limit(1+rng.IntN(5)), 1+rng.IntN(3)
	}
	names := 1 + rng.IntN(6)
	p := New(m.opts)
	p.run = m.run
	go func() {
		defer p.Close()
		alive := map[string]string{} // UIDs
		before := int64(0)
		for seq := int64(1); seq <= 150; seq++ {
			unlock := m.lock()
			e := event(seq, "ADDED", fmt.Sprint(rng.IntN(names)), fmt.Sprint("u", seq))
			if uid := alive[e.Name]; uid != "" {
				if e.Type, e.UID = "MODIFIED", uid; rng.IntN(3) == 0 {
					e.Type = "DELETED"
				}
			}
			alive[e.Name] = e.UID
			if e.Type == "DELETED" {
				delete(alive, e.Name)
			}
			pass, wait := rng.IntN(10) == 0 && e.Type == "MODIFIED", time.Duration(rng.IntN(3)*rng.IntN(900))*time.Millisecond
			if !pass {
				m.added = append(m.added, e)
			}
			unlock()
			if pass {
				p.Pass(seq)
			} else {
				p.Add(e)
			}
			<-time.After(wait)
			now := p.Done()
			if now < before || now > seq {
				t.Errorf("done %d after %d, of %d", now, before, seq)
			}
			before = now
			m.finished(now)
		}
	}()
	sum, err := p.Run(t.Context(), t.Context())
	if err != nil || sum.Dropped+sum.Killed+sum.Failed > 0 || p.Done() != 150 {
		t.Errorf("%v, %+v, done up to %d", err, sum, p.Done())
	}
	m.check()
}
