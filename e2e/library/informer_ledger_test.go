package library_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

const foosResource = "foos.example.com"

// state is a collection: UID@version by key.
type state map[string]string

// distance is the number of deltas that lead from s to o.
func (s state) distance(o state) (n int) {
	for key, version := range o {
		switch old, known := s[key]; {
		case known && old == version:
		case known && uidOf(old) != uidOf(version):
			n += 2
		default:
			n++
		}
	}
	for key := range s {
		if _, known := o[key]; !known {
			n++
		}
	}
	return n
}

// ledger is a load of one worker, so that its writes are in the order of the
// server's, and what it wrote so far. It writes only as much as it is allowed.
type ledger struct {
	ctx    context.Context
	config load.Config

	mu      sync.Mutex
	writes  []load.Write
	allowed int
	err     error         // why it ended
	changed chan struct{} // closed and replaced at each change
}

// newLedger starts the load with its first n writes. It ends with the test.
func newLedger(ctx context.Context, t *testing.T, c *cluster.Cluster, seed uint64, n int) *ledger {
	ctx, cancel := context.WithCancel(ctx)
	l := &ledger{ctx: ctx, allowed: n, changed: make(chan struct{})}
	l.config = load.Config{
		URL: c.URL(), HTTP: c.HTTPClient(), Seed: seed, Writes: math.MaxInt32, Workers: 1,
		Resources: []string{foosResource}, Names: 60, Payload: 1500, Wrote: l.wrote,
	}
	if err := l.setup(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := load.Run(ctx, l.config)
		l.change(func() { l.err = errors.Join(errors.New("the load ended"), err) })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return l
}

// setup returns when foos can be written, at the start and after a restart.
func (l *ledger) setup() error { return load.Setup(l.ctx, l.config) }

// wrote holds the load up until it may write again.
func (l *ledger) wrote(w load.Write) {
	l.change(func() { l.writes = append(l.writes, w) })
	_ = l.when(l.ctx, func() bool { return len(l.writes) < l.allowed }) // Run sees the end of ctx itself
}

func (l *ledger) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// when waits until cond, called under the lock, holds.
func (l *ledger) when(ctx context.Context, cond func() bool) error {
	for {
		l.mu.Lock()
		held, err, changed := cond(), l.err, l.changed
		l.mu.Unlock()
		switch {
		case held:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// allow lets n more writes happen.
func (l *ledger) allow(n int) { l.change(func() { l.allowed += n }) }

// pause lets none happen but the one under way.
func (l *ledger) pause() { l.change(func() { l.allowed = len(l.writes) + 1 }) }

// left waits until at most n of the allowed writes are still to come.
func (l *ledger) left(n int) error {
	ctx, cancel := context.WithTimeoutCause(l.ctx, setup.Patience, fmt.Errorf("no progress of the load within %s", setup.Patience))
	defer cancel()
	return l.when(ctx, func() bool { return len(l.writes) >= l.allowed-n })
}

// written returns the writes so far.
func (l *ledger) written() []load.Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes[:len(l.writes):len(l.writes)]
}

// now is the state after all writes so far.
func (l *ledger) now() state {
	s := state{}
	for _, w := range l.written() {
		s.write(w)
	}
	return s
}

// write makes the change that w made.
func (s state) write(w load.Write) {
	if key := w.Namespace + "/" + w.Name; w.Op == load.Deleted {
		delete(s, key)
	} else {
		s[key] = w.UID + "@" + w.RV
	}
}

// positions returns after how many writes, from on, the state was s.
func positions(writes []load.Write, from int, s state) (at []int) {
	now := state{}
	for i := range len(writes) + 1 {
		if i >= from && maps.Equal(now, s) {
			at = append(at, i)
		}
		if i < len(writes) {
			now.write(writes[i])
		}
	}
	return at
}

// foosNow is what the apiserver lists: the state, and the keys by namespace and
// by the letter of the payload.
func foosNow(t *testing.T, c *cluster.Cluster) (s state, namespaces, letters map[string][]string) {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata setup.Metadata `json:"metadata"`
			Spec     struct {
				Payload string `json:"payload"`
			} `json:"spec"`
		} `json:"items"`
	}
	if err := json.Unmarshal(setup.MustSend(t, c, http.MethodGet, "/apis/example.com/v1/foos", "", ""), &list); err != nil {
		t.Fatal(err)
	}
	s, namespaces, letters = state{}, map[string][]string{}, map[string][]string{}
	for _, o := range list.Items { // in the order of keys
		m := o.Metadata
		key, letter := m.Namespace+"/"+m.Name, o.Spec.Payload[:1]
		s[key] = m.UID + "@" + m.ResourceVersion
		namespaces[m.Namespace] = append(namespaces[m.Namespace], key)
		letters[letter] = append(letters[letter], key)
	}
	return s, namespaces, letters
}
