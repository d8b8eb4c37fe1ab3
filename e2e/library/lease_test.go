package library_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// TestLease lets three replicas contend for a Lease of a real server, which is
// killed and started again. No two may work at one time, and tokens grow.
func TestLease(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	c := cluster.ForTest(t, cluster.Options{})
	e := &election{t: t, ctx: ctx, replicas: make(map[string]context.CancelFunc)}
	var leases client.Collection[electionLease]
	for i := range 3 {
		// One request a client in an hour: elections have a budget of their own.
		cl, err := client.New(client.Config{Server: c.URL(), Token: c.Token(), TLS: client.TLS{CAFile: c.CAFile()}, QPS: 1.0 / 3600, Burst: 1})
		if err != nil {
			t.Fatal(err)
		}
		e.stand(cl, fmt.Sprintf("r%d", i))
		leases = client.Of[electionLease](cl.Isolated(), kube.Leases)
	}
	defer e.all.Wait()
	defer cancel()
	key := kube.Key{Namespace: "default", Name: "election"}

	first := e.leader("")
	t.Logf("%s leads", first)
	if err := c.RestartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("the server was killed and has started again; %q leads", e.leader(""))

	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	e.until("nobody leads", func() bool { return e.working == "" })
	if err := c.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	next := e.leader("")
	t.Logf("the server was away for longer than a lease; %s leads", next)

	e.stop(next)
	after := e.leader(next)
	l, err := leases.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	last := e.tokens[len(e.tokens)-1]
	if l.Spec.Holder != after || l.Spec.Transitions != len(e.tokens) || last.Transitions != l.Spec.Transitions || last.UID != l.UID {
		t.Errorf("after %d terms the Lease says %+v, and the last token is %+v", len(e.tokens), l.Spec, last)
	}
	e.mu.Unlock()
	t.Logf("%s gave up, and %s leads", next, after)

	if err := leases.Delete(ctx, key, client.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.until("nobody leads", func() bool { return e.working == "" })
	e.mu.Lock()
	last = e.tokens[len(e.tokens)-1]
	e.mu.Unlock()
	t.Logf("the Lease was deleted; %s leads", e.leader(""))
	e.mu.Lock()
	defer e.mu.Unlock()
	if got := e.tokens[len(e.tokens)-1]; got.UID == last.UID || !got.Revision.Newer(last.Revision) {
		t.Errorf("token %+v after %+v", got, last)
	}
}

type electionLease struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Holder      string `json:"holderIdentity"`
		Transitions int    `json:"leaseTransitions"`
	} `json:"spec"`
}

// election is what its replicas do.
type election struct {
	t   *testing.T
	ctx context.Context // of the test
	all sync.WaitGroup

	mu       sync.Mutex
	replicas map[string]context.CancelFunc
	working  string
	tokens   []lease.Token
}

// stand lets a replica take part, again and again, until it is stopped.
func (e *election) stand(c *client.Client, name string) {
	ctx, cancel := context.WithCancel(e.ctx)
	e.replicas[name] = cancel
	el, err := lease.New(c, kube.Key{Namespace: "default", Name: "election"},
		lease.Options{Identity: name, Duration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 500 * time.Millisecond})
	if err != nil {
		e.t.Fatal(err)
	}
	e.all.Go(func() {
		for ctx.Err() == nil {
			err := el.Run(ctx, func(ctx context.Context, t lease.Token) error {
				e.begin(name, t)
				defer e.end(name)
				<-ctx.Done()
				return ctx.Err()
			})
			if ctx.Err() == nil && !errors.Is(err, lease.ErrLost) {
				e.t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func (e *election) begin(name string, t lease.Token) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.working != "" {
		e.t.Errorf("%s works, and %s begins to", e.working, name)
	}
	if n := len(e.tokens); n > 0 && !t.Revision.Newer(e.tokens[n-1].Revision) {
		e.t.Errorf("token %+v after %+v", t, e.tokens[n-1])
	}
	e.working, e.tokens = name, append(e.tokens, t)
}

func (e *election) end(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.working == name {
		e.working = ""
	}
}

func (e *election) stop(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.replicas[name]()
}

// leader waits for another leader than not, and returns it.
func (e *election) leader(not string) (name string) {
	e.t.Helper()
	e.until("somebody leads", func() bool {
		name = e.working
		return name != "" && name != not
	})
	return name
}

func (e *election) until(what string, cond func() bool) {
	e.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		e.mu.Lock()
		ok := cond()
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-e.ctx.Done():
			e.t.Fatalf("wait until %s: %v", what, context.Cause(e.ctx))
		}
	}
}
