package main

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

const finalizer = "example.com/claims" // held until the claims of the db are deleted, which have no owner

var errExists = errors.New("it is there already and does not belong to this CloudManager")

// operator maintains the children of each CloudManager.
type operator struct {
	client     *client.Client
	managers   *cache.Informer[CloudManager]
	children   map[kube.Resource]*cache.Informer[Child]
	owned      map[kube.Resource]*cache.Index[Child, string] // by the UID of the owner
	controller *controller.Controller[kube.Key]
	events     *events.Recorder
}

// newManager returns the operator for one namespace, or for all if it is empty. All
// parts use the logger of the Manager.
func newManager(c *client.Client, namespace string, mo manager.Options) *manager.Manager {
	o := &operator{
		client:   c,
		managers: cache.New(client.Of[CloudManager](c, managers).In(namespace), cache.Options[CloudManager]{}),
		children: map[kube.Resource]*cache.Informer[Child]{},
		owned:    map[kube.Resource]*cache.Index[Child, string]{},
		events:   events.New(c, events.Options{Component: "cloudmanager-operator"}),
	}
	o.controller = controller.New("cloudmanager", o.reconcile, controller.Options[kube.Key]{Workers: 4, Timeout: 30 * time.Second})
	controller.For(o.controller, o.managers, controller.GenerationChanged)
	m := manager.New(mo)
	m.Add(o.managers, o.events)
	m.AddLed(o.controller)
	for _, r := range []kube.Resource{kube.Secrets, kube.StatefulSets, kube.Deployments} {
		children := client.Of[Child](c, r).In(namespace)
		if r == kube.Secrets {
			children.Accept = client.Of[kube.Partial](c, r).Accept // metadata only: passwords are not read
		}
		o.children[r] = cache.New(children, cache.Options[Child]{})
		o.owned[r] = cache.ByOwner(o.children[r].Store())
		controller.Owns(o.controller, managers, o.children[r])
		m.Add(o.children[r])
	}
	return m
}

// want is a desired child.
type want struct {
	resource kube.Resource
	name     string
	*Part
}

func (w want) key(m CloudManager) kube.Key {
	return kube.Key{Namespace: m.Namespace, Name: m.Name + "-" + w.name}
}

// wanted returns the children of m, in the order of their creation.
func wanted(m CloudManager) []want {
	s := m.Spec
	all := []want{{kube.Secrets, "db", s.DB}, {kube.StatefulSets, "db", s.DB}, {kube.Deployments, "identity", s.Identity}, {kube.Deployments, "front", s.Front}}
	return slices.DeleteFunc(all, func(w want) bool { return w.Part == nil || m.DeletionTimestamp != nil })
}

// reconcile brings the children in line with the CloudManager. It reads the current
// state, whatever has changed, and runs again after an error, for instance if the cache
// is behind.
func (o *operator) reconcile(ctx context.Context, key kube.Key) (again controller.Result, err error) {
	m, ok := o.managers.Store().Get(key) // shared: it must not be modified
	if !ok {
		return again, nil // the garbage collector deletes its dependents
	}
	if m.AddFinalizer(finalizer) { // on our copy, and stored before anything needs cleaning up
		if m, err = client.Of[CloudManager](o.client, managers).Edit(ctx, key, func(m *CloudManager) error { m.AddFinalizer(finalizer); return nil }); err != nil {
			return again, err
		}
	}
	all := wanted(m)
	for r, index := range o.owned { // removed parts are deleted; the claims stay until m is deleted
		for k, c := range index.Get(m.UID) {
			if c.DeletionTimestamp != nil || slices.ContainsFunc(all, func(w want) bool { return w.resource == r && w.key(m) == k }) {
				continue
			}
			if err := client.Of[Child](o.client, r).Delete(ctx, k, client.DeleteOptions{UID: c.UID, Propagation: client.Foreground}); err != nil {
				return again, err
			}
			o.controller.AwaitDeleted(key, o.children[r], c)
			o.events.Eventf(events.About(managers, m), events.Normal, "Deleted", "%s %s", r.Kind, k.Name)
		}
	}
	if m.DeletionTimestamp != nil {
		return again, o.finalize(ctx, m)
	}
	for _, w := range all {
		c, err := o.ensure(ctx, m, w)
		if errors.Is(err, errExists) {
			o.events.Eventf(events.About(managers, m), events.Warning, "ErrResourceExists", "%s %s: %v", w.resource.Kind, w.key(m).Name, errExists)
			return controller.Result{RequeueAfter: time.Minute}, o.report(ctx, m, "failed", w.name+": "+errExists.Error())
		} else if err != nil {
			return again, err
		}
		if w.resource != kube.Secrets && (c.Status.ObservedGeneration < c.Generation || 2*c.Status.ReadyReplicas <= w.Replicas) { // the following parts wait
			return again, o.report(ctx, m, "progressing", "waiting for a majority of "+w.name)
		}
	}
	return again, o.report(ctx, m, "ready", "a majority of each part is ready")
}

// ensure creates or updates a child and returns it.
func (o *operator) ensure(ctx context.Context, m CloudManager, w want) (Child, error) {
	writes := controller.Awaited(o.controller, kube.KeyOf(m), client.Of[Child](o.client, w.resource), o.children[w.resource])
	c, outcome, err := controller.Ensure(ctx, writes, o.children[w.resource].Store(), w.key(m), func(c *Child) error { return shape(c, m, w) })
	if err == nil && outcome != client.Unchanged {
		o.events.Eventf(events.About(managers, m), events.Normal, "Synced", "%s %s %s", w.resource.Kind, w.key(m).Name, outcome)
	}
	return c, err
}

// shape sets the desired fields of c.
func shape(c *Child, m CloudManager, w want) error {
	if owner, _ := kube.ControllerOf(c.OwnerReferences); c.UID != "" && owner.UID != m.UID {
		return errExists
	}
	if err := c.SetControllerReference(managers, m); err != nil {
		return err
	}
	labels := map[string]string{"cloudmanager": m.Name, "part": w.name}
	main := Container{Name: w.name, Image: w.Image}
	switch w.resource {
	case kube.Secrets:
		if c.UID == "" { // once: users of the password must keep access
			c.Data = map[string][]byte{"POSTGRES_PASSWORD": []byte(rand.Text())}
		}
		return nil
	case kube.StatefulSets:
		main.EnvFrom = []fields{{"secretRef": fields{"name": w.key(m).Name}}}
		main.VolumeMounts = []fields{{"name": "data", "mountPath": "/var/lib/postgresql"}}
		if c.UID == "" { // it is immutable
			claim := fields{"accessModes": []string{"ReadWriteOnce"}, "resources": fields{"requests": fields{"storage": w.Storage}}}
			c.Spec.VolumeClaimTemplates = []fields{{"metadata": fields{"name": "data"}, "spec": claim}}
		}
	}
	c.Spec.Replicas, c.Spec.Selector.MatchLabels = &w.Replicas, labels
	c.Spec.Template.Labels, c.Spec.Template.Spec.Containers = labels, []Container{main}
	return nil
}

// finalize deletes the claims of the db when its Pods are deleted, and removes the
// finalizer.
func (o *operator) finalize(ctx context.Context, m CloudManager) error {
	if !m.HasFinalizer(finalizer) || o.owned[kube.StatefulSets].Len(m.UID) > 0 { // the end of the StatefulSet adds the key again
		return o.report(ctx, m, "deleting", "waiting for the end of the db")
	}
	claims := kube.LabelsSelector(map[string]string{"cloudmanager": m.Name, "part": "db"}) // those of the StatefulSet
	if err := client.Of[kube.Partial](o.client, kube.PersistentVolumeClaims).In(m.Namespace).Where(claims, kube.FieldSelector{}).DeleteAll(ctx, client.DeleteOptions{}); err != nil {
		return err
	}
	now, err := client.Of[CloudManager](o.client, managers).Edit(ctx, kube.KeyOf(m), func(m *CloudManager) error { m.RemoveFinalizer(finalizer); return nil })
	if err == nil {
		o.controller.Await(kube.KeyOf(m), o.managers, now)
	}
	return err
}

// report writes the status, if it has changed.
func (o *operator) report(ctx context.Context, m CloudManager, phase, message string) error {
	ready := kube.Condition{Type: "Ready", Status: kube.ConditionFalse, Reason: phase, Message: message}
	if phase == "ready" {
		ready.Status = kube.ConditionTrue
	}
	if was, _ := kube.ConditionOf(m.Status.Conditions, "Ready"); phase == "ready" && was.Status != ready.Status {
		o.events.Eventf(events.About(managers, m), events.Normal, "Ready", "%s", message)
	}
	now := Status{phase, m.Generation, kube.SetCondition(m.Status.Conditions, ready)}
	if reflect.DeepEqual(now, m.Status) {
		return nil
	}
	_, err := client.Of[CloudManager](o.client, managers).PatchStatus(ctx, kube.KeyOf(m), now)
	return err
}
