package sinktest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/sink"
)

// SoakOptions say how long and how hard a soak is.
type SoakOptions struct {
	Seed   uint64
	Rounds int // each some writes and one calamity; default 100

	// Virtual says that the test runs in a bubble of testing/synctest, where faults of
	// the network that last for minutes cost nothing: they strike at random.
	Virtual bool

	// Calamity, if set, is one of those that happen: such as kill -9 of the database.
	Calamity func()
}

// Soak moves a cluster that never rests into the storage, while processes are killed before
// and after commits, freeze and wake up, history expires, the server is restored, and
// connections are cut. After each ten rounds the table must equal the cluster, and the
// history its log, but for named GAPs, with no id twice.
func Soak(t *testing.T, store Store, o SoakOptions) {
	if o.Rounds <= 0 {
		o.Rounds = 100
	}
	k := &soak{story: newStory(t, store), o: o, dice: rand.New(rand.NewPCG(o.Seed, 1)), counts: map[string]int{}}
	defer func() { t.Logf("seed %d, %d rounds: %v", o.Seed, o.Rounds, k.counts) }()
	if o.Virtual {
		k.patience = 2 * time.Hour
		r, err := faults.NewRandom(o.Seed, faults.RandomOptions{Actions: virtualFaults})
		if err != nil {
			t.Fatal(err)
		}
		defer faults.Randomize(k.Server, r).Remove()
	}
	k.write(20)
	k.leader = k.start(nil)
	for round := range o.Rounds {
		k.write(1 + k.dice.IntN(30))
		k.pause()
		k.calamity()
		k.write(k.dice.IntN(5))
		k.pause()
		if round%10 == 9 || round == o.Rounds-1 {
			k.settle()
			if k.equal(); t.Failed() {
				t.Fatalf("round %d of seed %d, after %v", round, o.Seed, k.counts)
			}
		}
	}
	k.leader.end()
	k.wake()
}

// soak is a story by dice.
type soak struct {
	*story
	o      SoakOptions
	dice   *rand.Rand
	counts map[string]int
	leader *process
	asleep []*sleeper
}

// sleeper is a process that stands still before a commit.
type sleeper struct {
	*process
	let func()
}

func (k *soak) write(n int) {
	for range n {
		name := fmt.Sprint("n-", k.dice.IntN(25))
		if k.dice.IntN(4) == 0 {
			k.Delete(name)
		} else {
			k.Put(name, "web", fmt.Sprint(k.dice.IntN(1000)))
		}
	}
}

// pause lets the leader work for a while, or not at all.
func (k *soak) pause() {
	for range k.dice.IntN(4) {
		k.leader.mu.Lock()
		moved := k.leader.moved
		k.leader.mu.Unlock()
		select {
		case <-moved:
		case <-k.leader.ended:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// calamity lets one thing go wrong.
func (k *soak) calamity() {
	all := []struct {
		name string
		do   func()
	}{
		{"killed", func() { k.restart(nil) }},
		{"killed in a commit", k.killInCommit},
		{"commits of unknown outcome", k.loseCommits},
		{"stopped", func() { k.leader.end(); k.restart(nil) }},
		{"expired", k.Expire},
		{"expired while down", func() { k.leader.end(); k.write(10); k.Expire(); k.restart(nil) }},
		{"restored", k.restore},
		{"watches cut", k.Server.CutWatches},
		{"connections cut", k.Server.Cut},
		{"frozen", k.freeze},
		{"woken", k.wake},
		{"database", k.o.Calamity},
		{"paused", k.pauseAndResume},
		{"backfilled", func() { k.control(sink.Backfill) }},
	}
	c := all[k.dice.IntN(len(all))]
	if c.do == nil || k.store.OneWriter && (c.name == "frozen" || c.name == "paused" || c.name == "backfilled") {
		return
	}
	k.counts[c.name]++
	c.do()
	k.revive()
}

// restart takes the leader out of the world without a last commit, and starts another.
func (k *soak) restart(change func(*sink.Options)) {
	k.t.Helper()
	if k.leader != nil {
		k.leader.kill()
	}
	k.leader = k.start(change)
}

// revive starts another leader where the last has ended.
func (k *soak) revive() {
	select {
	case <-k.leader.ended:
		if !errors.Is(k.leader.err, sink.ErrFenced) {
			k.t.Fatalf("the leader ended with %v", k.leader.err)
		}
		k.leader = k.start(nil)
	default:
	}
}

// restore takes the server back while no process runs. A server that has passed the
// position by the time it is asked cannot be distinguished from one that was never restored.
func (k *soak) restore() {
	if k.dice.IntN(2) == 0 {
		k.settle()
	}
	k.leader.end()
	k.Restore(k.dice.IntN(20))
	k.restart(nil)
	k.leader.until("the restore is noticed", func(pos sink.Position) bool {
		return pos.Generation > 0 && !pos.Revision.Newer(k.Server.Revision())
	})
}

// killInCommit starts a leader that dies in one of its next commits: half of the times
// before it is done, and half after.
func (k *soak) killInCommit() {
	at, early, batch := 1+k.dice.IntN(4), k.dice.IntN(2) == 0, 1+k.dice.IntN(20)
	die := func(is bool) func(int) error {
		return func(n int) error {
			if n >= at && is {
				return fmt.Errorf("killed: %w", sink.ErrFenced) // which ends the process
			}
			return nil
		}
	}
	k.restart(func(o *sink.Options) {
		o.BatchRecords = batch
		o.Sink = &faulty{Sink: o.Sink.(Sink), before: die(early), after: die(!early)}
	})
	k.write(20)
	if k.dice.IntN(2) == 0 {
		k.Expire()
	}
}

// loseCommits starts a leader some of whose commits have an unknown outcome.
func (k *soak) loseCommits() {
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(k.dice.Uint64(), 2))
	lose := func(n int) error {
		mu.Lock()
		defer mu.Unlock()
		if n < 10 && dice.IntN(4) == 0 {
			return errLost
		}
		return nil
	}
	k.restart(func(o *sink.Options) {
		o.BatchRecords = 5
		o.Sink = &faulty{Sink: o.Sink.(Sink), before: lose, after: lose}
	})
}

// freeze lets the leader stand still before its next commit, and another take over.
func (k *soak) freeze() {
	frozen, wake := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var deposed atomic.Bool
	k.restart(func(o *sink.Options) {
		// A commit that takes too long has an unknown outcome, and who is no leader must
		// not take possession to learn it.
		o.Leading = func() bool { return !deposed.Load() }
		o.Sink = &faulty{Sink: o.Sink.(Sink), before: func(int) error {
			once.Do(func() { close(frozen); <-wake })
			return nil
		}}
	})
	let := sync.OnceFunc(func() { close(wake) })
	k.t.Cleanup(let)
	k.write(5)
	select {
	case <-frozen:
		k.asleep = append(k.asleep, &sleeper{k.leader, let})
		k.leader = nil
	case <-time.After(max(patience, k.patience)):
		k.t.Fatal("the leader commits nothing")
	case <-k.leader.ended:
		k.t.Fatalf("the leader ended with %v", k.leader.err)
	}
	deposed.Store(true)
	k.restart(nil)
	k.leader.until("taken over", func(p sink.Position) bool { return p.Generation > 0 })
}

// wake lets frozen processes go on: what they commit then must be refused.
func (k *soak) wake() {
	for _, s := range k.asleep {
		s.let()
		<-s.ended
		if !errors.Is(s.err, sink.ErrFenced) {
			k.t.Errorf("a frozen leader woke up and ended with %v, want ErrFenced", s.err)
		}
	}
	k.asleep = nil
}

// settle waits until the sink has all that the cluster has.
func (k *soak) settle() {
	k.revive()
	want := k.Server.Revision()
	for {
		done := false
		k.leader.attempt(func(pos sink.Position) bool {
			if pos.Phase == sink.Live && want.Newer(pos.Revision) {
				k.Server.Bookmark()
			}
			done = pos.Phase == sink.Live && !want.Newer(pos.Revision)
			return done
		})
		if done {
			return
		}
		k.revive()
	}
}

// virtualFaults are those of package faults by default, without those that forget history,
// which a World must know of.
var virtualFaults = []faults.WeightedAction{
	{Weight: 10, Action: "reset"}, {Weight: 10, Action: "close"}, {Weight: 2, Action: "hang"}, {Weight: 2, Action: "half-open"},
	{Weight: 5, Action: "delay 3s"}, {Weight: 5, Action: "trickle 7"}, {Weight: 2, Action: "refuse 5s"}, {Weight: 1, Action: "reset-all 5s"},
	{Weight: 1, Action: "too-large"}, {Weight: 5, Action: "throttle 2"}, {Weight: 5, Action: "html 503"}, {Weight: 3, Action: "status 500"},
	{Weight: 2, Action: "status 401"}, {Weight: 2, Action: "status 403"}, {Weight: 2, Action: "no-last-chunk"}, {Weight: 3, Action: "truncate 200"},
	{Weight: 2, Action: "metadata-last"}, {Weight: 2, Action: "empty-page"}, {Weight: 5, Action: "end"}, {Weight: 5, Action: "error 410"},
	{Weight: 3, Action: "error 500"}, {Weight: 10, Action: "cut 60"}, {Weight: 5, Action: "cut 1"}, {Weight: 3, Action: "chop 1"},
	{Weight: 3, Action: "duplicate"}, {Weight: 2, Action: "invalid-json"}, {Weight: 2, Action: "unknown-type"}, {Weight: 2, Action: "null-object"},
}
