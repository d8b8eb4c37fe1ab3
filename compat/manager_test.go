package compat_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const finalizer = "compat.example.com/output"

// gone is the last deed of a keeper for a parent.
const gone = "the parent is gone"

// keeper is a controller as one writes it: it keeps a ConfigMap for each parent,
// which says the parent's size, and puts what it did into the parent's status.
type keeper struct {
	client client.Client
	kind   parentKind

	mu  sync.Mutex
	did map[string]bool
}

func (k *keeper) note(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.did[what] = true
}

func (k *keeper) deeds() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for d := range k.did {
		all = append(all, d)
	}
	slices.Sort(all)
	return all
}

func (k *keeper) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	o := k.kind.empty()
	if err := k.client.Get(ctx, req.NamespacedName, o); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName() + "-out"}}
	if o.GetDeletionTimestamp() != nil {
		if err := client.IgnoreNotFound(k.client.Delete(ctx, out)); err != nil {
			return reconcile.Result{}, err
		}
		if controllerutil.RemoveFinalizer(o, finalizer) {
			if err := k.client.Update(ctx, o); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			// The answer has the revision from before, so that the client does not know
			// what to wait for, and the next read might find what is gone.
			if eventually(ctx, func() bool { return apierrors.IsNotFound(k.client.Get(ctx, req.NamespacedName, k.kind.empty())) }) {
				k.note(gone)
			}
		}
		return reconcile.Result{}, nil
	}
	if controllerutil.AddFinalizer(o, finalizer) {
		if err := k.client.Update(ctx, o); err != nil {
			return reconcile.Result{}, err
		}
	}
	did, err := controllerutil.CreateOrUpdate(ctx, k.client, out, func() error {
		out.Data = map[string]string{"size": strconv.FormatInt(k.kind.size(o), 10)}
		return controllerutil.SetControllerReference(o, out, k.client.Scheme())
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	k.note("the output is " + string(did))
	if k.kind.observed(o) != o.GetGeneration() {
		k.kind.observe(o, o.GetGeneration())
		if err := k.client.Status().Update(ctx, o); err != nil {
			return reconcile.Result{}, err
		}
		k.note("the status is updated")
	}
	return reconcile.Result{}, nil
}

// playManager runs the controller in a manager with leader election, and plays
// its user.
func playManager(t *testing.T, s *server, ns string, kind parentKind) *transcript {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	makeNamespace(t, clientset(t, s), ns)
	if kind.prepare != nil {
		kind.prepare(ctx, t, s)
	}
	p := newTap()
	yes := true
	long, most, short := 15*time.Second, 10*time.Second, 200*time.Millisecond
	m, err := manager.New(s.config(t, p), manager.Options{
		Scheme:  scheme.Scheme,
		Metrics: metrics.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
		// Without it the controller acts on what it has changed itself since, and how
		// often the server then answers 409 is another number in each run.
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &yes}},

		LeaderElection: true, LeaderElectionID: "compat", LeaderElectionNamespace: ns, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &long, RenewDeadline: &most, RetryPeriod: &short,
		Controller: config.Controller{SkipNameValidation: &yes},
	})
	if err != nil {
		t.Fatal(err)
	}
	learnTypes(t, m)
	k := &keeper{client: m.GetClient(), kind: kind, did: make(map[string]bool)}
	if err := builder.ControllerManagedBy(m).Named("keeper").For(kind.empty()).Owns(&corev1.ConfigMap{}).Complete(k); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	go func() { ended <- m.Start(running) }()
	defer func() {
		stop()
		<-ended
	}()
	direct, err := client.New(s.config(t, nil), client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	u := &user{t: t, ctx: ctx, ns: ns, kind: kind, direct: direct, cached: m.GetClient(), keeper: k, tap: p, r: &transcript{}}
	u.play()
	stop()
	err = <-ended
	ended <- err
	u.r.add("what the controller did", k.deeds()...)
	u.r.add("the manager's end", fmt.Sprint(err))
	lease := u.lease()
	u.r.add("the lease", lease...)
	u.r.add("requests", p.lines()...)
	return u.r
}

// learnTypes has m's mapper read the server's types. If two of the manager's
// informers ask for their first types at once, the second reads the group of its type
// once more, and whether they do is a matter of luck.
func learnTypes(t *testing.T, m manager.Manager) {
	t.Helper()
	if _, err := m.GetRESTMapper().RESTMapping(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), "v1"); err != nil {
		t.Fatal(err)
	}
}

// user acts on parents, and looks at what the controller makes of it.
type user struct {
	t      *testing.T
	ctx    context.Context
	ns     string
	kind   parentKind
	direct client.Client // not cached
	cached client.Client
	keeper *keeper
	tap    *tap
	r      *transcript
}

func (u *user) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: u.ns, Name: name}
}

// await waits until the parent's status and its output say size.
func (u *user) await(step string, size int64) {
	u.t.Helper()
	o, out := u.kind.empty(), &corev1.ConfigMap{}
	var last error
	ok := eventually(u.ctx, func() bool {
		if last = u.direct.Get(u.ctx, u.key("p"), o); last != nil {
			return false
		}
		if last = u.direct.Get(u.ctx, u.key("p-out"), out); last != nil {
			return false
		}
		return u.kind.observed(o) == o.GetGeneration() && out.Data["size"] == fmt.Sprint(size)
	})
	if !ok {
		u.t.Fatalf("%s: the controller did not do it: %v; observed %d, generation %d, output %q; it did %q; requests: %q",
			step, last, u.kind.observed(o), o.GetGeneration(), out.Data, u.keeper.deeds(), u.tap.lines())
	}
	u.r.add(step, normalObject(u.t, o)...)
	u.r.add(step, normalObject(u.t, out)...)
}

func (u *user) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

// refused notes an error that there must be.
func (u *user) refused(step string, err error) {
	u.t.Helper()
	if err == nil {
		u.t.Errorf("%s: no error", step)
		return
	}
	u.r.add(step, string(apierrors.ReasonForError(err))+": "+normal(err.Error()))
}

func (u *user) play() {
	u.must(u.direct.Create(u.ctx, u.kind.make(u.ns, "p", 1)))
	u.await("created", 1)

	o := u.kind.empty()
	u.must(u.direct.Get(u.ctx, u.key("p"), o))
	stale := o.DeepCopyObject().(client.Object)
	before := o.DeepCopyObject().(client.Object)
	u.kind.resize(o, 2)
	u.must(u.direct.Patch(u.ctx, o, client.MergeFrom(before)))
	u.await("merge patch", 2)

	u.kind.resize(stale, 3)
	u.refused("stale update", u.direct.Update(u.ctx, stale))
	u.refused("stale patch", u.direct.Patch(u.ctx, stale, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))

	u.must(u.direct.Delete(u.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: u.ns, Name: "p-out"}}))
	u.await("output deleted", 2)

	u.must(u.direct.Get(u.ctx, u.key("p"), o))
	before = o.DeepCopyObject().(client.Object)
	u.kind.observe(o, 99)
	u.must(u.direct.Status().Patch(u.ctx, o, client.MergeFrom(before)))
	u.await("status patched", 2)

	u.refused("create again", u.direct.Create(u.ctx, u.kind.make(u.ns, "p", 1)))
	u.refused("get what is not", u.direct.Get(u.ctx, u.key("none"), u.kind.empty()))
	u.refused("get what is not, cached", u.cached.Get(u.ctx, u.key("none"), u.kind.empty()))
	u.refused("create without a name", u.direct.Create(u.ctx, u.kind.make(u.ns, "", 1)))
	dry := u.kind.make(u.ns, "dry", 1)
	u.must(u.direct.Create(u.ctx, dry, client.DryRunAll))
	u.r.add("dry run", normalObject(u.t, dry)...)
	u.refused("get what was a dry run", u.direct.Get(u.ctx, u.key("dry"), u.kind.empty()))
	u.apply()
	u.lists()
	u.readsItsWrites()

	u.must(u.direct.Delete(u.ctx, u.kind.make(u.ns, "p", 1)))
	if !eventually(u.ctx, func() bool { return slices.Contains(u.keeper.deeds(), gone) }) {
		u.t.Fatal("the parent is not gone, although its finalizer was removed")
	}
	u.refused("the parent in the end", u.direct.Get(u.ctx, u.key("p"), u.kind.empty()))
	u.refused("the output in the end", u.direct.Get(u.ctx, u.key("p-out"), &corev1.ConfigMap{}))
}
