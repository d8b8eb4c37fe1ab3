package compat_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

func leaseStories() []story { return []story{{name: "Lease", play: playLease}} }

// playLease lets a replica of client-go and one of ours contend for one Lease: who
// leads gives up in turn, and at last vanishes. No two may lead at one time.
func playLease(t *testing.T, s *server) *transcript {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	c := clientset(t, s)
	makeNamespace(t, c, "lease")
	r := &transcript{}
	d := &duel{t: t, began: make(chan string, 10)}

	stopTheirs := d.theirs(ctx, c, "client-go", true)
	d.await(ctx, "client-go")
	stopOurs := d.ours(ctx, s, "ours")
	stopTheirs()
	d.await(ctx, "ours")
	stopTheirs = d.theirs(ctx, c, "client-go again", false)
	stopOurs()
	d.await(ctx, "client-go again")
	stopOurs = d.ours(ctx, s, "ours again")
	stopTheirs() // without a release
	gone := time.Now()
	d.await(ctx, "ours again")
	if took := time.Since(gone); took < duelDuration-duelRetry {
		t.Errorf("ours took a lease of %v after %v", duelDuration, took)
	}
	l, err := c.CoordinationV1().Leases("lease").Get(ctx, "lock", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.add("ours leads", normalObject(t, l)...)
	stopOurs()
	r.add("terms", d.terms...)
	return r
}

const (
	duelDuration = 6 * time.Second
	duelDeadline = 5 * time.Second
	duelRetry    = 200 * time.Millisecond
)

// duel sees to it that no two lead at one time.
type duel struct {
	t     *testing.T
	began chan string

	mu      sync.Mutex
	leading string
	terms   []string
}

func (d *duel) lead(ctx context.Context, name string) {
	d.mu.Lock()
	if d.leading != "" {
		d.t.Errorf("%s leads, and %s begins to", d.leading, name)
	}
	d.leading = name
	d.terms = append(d.terms, fmt.Sprintf("%d %s", len(d.terms)+1, name))
	d.mu.Unlock()
	d.began <- name
	<-ctx.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leading = ""
}

func (d *duel) await(ctx context.Context, name string) {
	d.t.Helper()
	select {
	case got := <-d.began:
		if got != name {
			d.t.Fatalf("%s leads, want %s", got, name)
		}
	case <-ctx.Done():
		d.t.Fatalf("%s does not lead: %v", name, ctx.Err())
	}
}

// run starts f and returns a function that stops it and waits for its end.
func (d *duel) run(ctx context.Context, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	stop = func() { cancel(); running.Wait() }
	d.t.Cleanup(stop)
	return stop
}

func (d *duel) theirs(ctx context.Context, c *kubernetes.Clientset, name string, release bool) (stop func()) {
	d.t.Helper()
	var leading sync.WaitGroup
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "lease", Name: "lock"}, Client: c.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration: duelDuration, RenewDeadline: duelDeadline, RetryPeriod: duelRetry, ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { leading.Go(func() { d.lead(ctx, name) }) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return d.run(ctx, func(ctx context.Context) { e.Run(ctx); leading.Wait() })
}

func (d *duel) ours(ctx context.Context, s *server, name string) (stop func()) {
	d.t.Helper()
	cfg, err := config.Load(config.Options{Path: s.kubeconfig})
	if err != nil {
		d.t.Fatal(err)
	}
	c, err := client.New(cfg.Client)
	if err != nil {
		d.t.Fatal(err)
	}
	e, err := lease.New(c, kube.Key{Namespace: "lease", Name: "lock"},
		lease.Options{Identity: name, Duration: duelDuration, RenewDeadline: duelDeadline, RetryPeriod: duelRetry})
	if err != nil {
		d.t.Fatal(err)
	}
	return d.run(ctx, func(ctx context.Context) {
		_ = e.Run(ctx, func(ctx context.Context, _ lease.Token) error { d.lead(ctx, name); return nil })
	})
}
