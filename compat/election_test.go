package compat_test

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

func electionStories() []story {
	return []story{{name: "Election", play: playElection}, {name: "Recorders", play: playRecorders}}
}

// playElection lets two candidates contend for a lease: the first takes it and
// gives it up, the second takes over and vanishes, the first takes it back.
func playElection(t *testing.T, s *server) *transcript {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := clientset(t, s)
	makeNamespace(t, c, "election")
	r := &transcript{}
	leases := c.CoordinationV1().Leases("election")
	note := func(step string) {
		l, err := leases.Get(ctx, "lock", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r.add(step, normalObject(t, l)...)
	}

	a := stand(ctx, t, s, "a", true)
	a.await(t, "a leads")
	note("a leads")
	b := stand(ctx, t, s, "b", false)
	a.cancel()
	a.done.Wait()
	b.await(t, "b leads")
	note("a gave up, b leads")
	b.cancel() // without a release
	b.done.Wait()
	note("b is gone")
	a = stand(ctx, t, s, "a", true)
	a.await(t, "a leads again")
	note("a leads again")
	a.cancel()
	a.done.Wait()
	l, err := leases.Get(ctx, "lock", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.add("released", "holder "+*l.Spec.HolderIdentity)
	r.add("requests of a", a.tap.lines()...)
	return r
}

// candidate takes part in an election.
type candidate struct {
	tap     *tap
	cancel  context.CancelFunc
	leading chan struct{}
	done    sync.WaitGroup
}

func (c *candidate) await(t *testing.T, what string) {
	t.Helper()
	select {
	case <-c.leading:
	case <-time.After(patience):
		t.Fatalf("%s: not within %s; requests: %q", what, patience, c.tap.lines())
	}
}

// stand lets a candidate take part until it is cancelled.
func stand(ctx context.Context, t *testing.T, s *server, name string, release bool) *candidate {
	t.Helper()
	p := newTap()
	client, err := kubernetes.NewForConfig(s.config(t, p))
	if err != nil {
		t.Fatal(err)
	}
	c := &candidate{tap: p, leading: make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "election", Name: "lock"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		// A request may take half of RenewDeadline, on a machine that has other things
		// to do. Who takes over from one that vanished waits for LeaseDuration.
		LeaseDuration: 6 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: 200 * time.Millisecond,
		ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(c.leading) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, c.cancel = context.WithCancel(ctx)
	t.Cleanup(func() { c.cancel(); c.done.Wait() })
	c.done.Go(func() { elector.Run(ctx) })
	return c
}

// playRecorders records events by the old and the new recorder, and reads them
// through both APIs.
func playRecorders(t *testing.T, s *server) *transcript {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := clientset(t, s)
	makeNamespace(t, c, "recorders")
	p := newTap()
	client, err := kubernetes.NewForConfig(s.config(t, p))
	if err != nil {
		t.Fatal(err)
	}
	about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "recorders", Name: "subject"}}
	if about, err = c.CoreV1().ConfigMaps("recorders").Create(ctx, about, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	old := record.NewBroadcaster(record.WithContext(ctx))
	old.StartRecordingToSink(&typed.EventSinkImpl{Interface: client.CoreV1().Events("recorders")})
	oldRecorder := old.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "old"})
	oldRecorder.Event(about, corev1.EventTypeNormal, "Began", "it began")
	oldRecorder.Event(about, corev1.EventTypeNormal, "Began", "it began")
	await := func(want int) {
		t.Helper()
		n := 0
		if !eventually(ctx, func() bool {
			list, err := c.CoreV1().Events("recorders").List(ctx, metav1.ListOptions{})
			if err != nil {
				return false
			}
			n = 0
			for _, e := range list.Items {
				n += int(e.Count)
				if e.Count == 0 {
					n++
				}
			}
			return n == want
		}) {
			t.Fatalf("%d events arrived; want %d; requests: %q", n, want, p.lines())
		}
	}
	await(2)
	young := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := young.StartRecordingToSinkWithContext(ctx); err != nil {
		t.Fatal(err)
	}
	youngRecorder := young.NewRecorder(scheme.Scheme, "young")
	youngRecorder.Eventf(about, nil, corev1.EventTypeWarning, "Ended", "Ending", "it ended")
	await(3)
	old.Shutdown()
	young.Shutdown()

	r := &transcript{}
	core, err := c.CoreV1().Events("recorders").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range core.Items {
		r.add("core/v1 "+e.Reason, normalObject(t, &e)...)
	}
	modern, err := c.EventsV1().Events("recorders").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range modern.Items {
		r.add("events.k8s.io/v1 "+e.Reason, normalObject(t, &e)...)
	}
	some, err := c.CoreV1().Events("recorders").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=subject,type=Warning"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range some.Items {
		r.add("warnings", e.Reason)
	}
	r.add("requests", p.lines()...)
	return r
}
