package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
)

const image = "nginx:1.29"

// errExists means that a Deployment with the name exists and is not ours.
var errExists = errors.New("there is a deployment of that name, and it does not belong to this Foo")

// operator maintains a Deployment for each Foo.
type operator struct {
	client      *client.Client
	foos        *cache.Informer[Foo]
	deployments *cache.Informer[Deployment]
	owned       *cache.Index[Deployment, string] // Deployments by the UID of their owner
	wanted      *cache.Index[Foo, kube.Key]      // Foos by the Deployment in their spec
	controller  *controller.Controller[kube.Key]
	events      *events.Recorder
}

// reconcile brings the Deployment in line with the Foo. It reads the current state,
// whatever has changed, so it may be called at any time.
func (o *operator) reconcile(ctx context.Context, key kube.Key) (controller.Result, error) {
	foo, ok := o.foos.Store().Get(key) // shared: it must not be modified
	if !ok || foo.DeletionTimestamp != nil {
		return controller.Result{}, nil // the garbage collector deletes its dependents
	}
	for k, d := range o.owned.Get(foo.UID) { // of a previous deploymentName
		if k.Name != foo.Spec.DeploymentName && d.DeletionTimestamp == nil {
			err := client.Of[Deployment](o.client, kube.Deployments).Delete(ctx, k, client.DeleteOptions{UID: d.UID})
			if err != nil && !errors.Is(err, kube.ErrNotFound) {
				return controller.Result{}, err
			}
			o.events.Eventf(events.About(foos, foo), events.Normal, "Deleted", "deployment %s: the spec does not name it", k.Name)
		}
	}
	d, err := o.ensure(ctx, foo)
	if errors.Is(err, errExists) {
		o.events.Eventf(events.About(foos, foo), events.Warning, "ErrResourceExists", "deployment %s: %v", foo.Spec.DeploymentName, errExists)
		if err := o.report(ctx, foo, 0, kube.ConditionFalse, "ErrResourceExists", errExists.Error()); err != nil {
			return controller.Result{}, err
		}
		return controller.Result{}, controller.Permanent(err) // until that Deployment changes: see Map in main.go
	}
	if err != nil {
		return controller.Result{}, err
	}
	if n := d.Status.AvailableReplicas; n < foo.Spec.Replicas {
		return controller.Result{}, o.report(ctx, foo, n, kube.ConditionFalse, "Progressing", fmt.Sprintf("%d of %d replicas are available", n, foo.Spec.Replicas))
	}
	return controller.Result{}, o.report(ctx, foo, d.Status.AvailableReplicas, kube.ConditionTrue, "Available", "all replicas are available")
}

// ensure creates or updates the Deployment of a Foo and returns it.
func (o *operator) ensure(ctx context.Context, foo Foo) (Deployment, error) {
	key := kube.Key{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName}
	writes := controller.Awaited(o.controller, kube.KeyOf(foo), client.Of[Deployment](o.client, kube.Deployments), o.deployments)
	d, outcome, err := controller.Ensure(ctx, writes, o.deployments.Store(), key, func(d *Deployment) error { return shape(d, foo) })
	if err == nil && outcome != client.Unchanged {
		o.events.Eventf(events.About(foos, foo), events.Normal, "Synced", "deployment %s %s", key.Name, outcome)
	}
	return d, err
}

// shape sets the desired fields of d. A Deployment without a UID is new.
func shape(d *Deployment, foo Foo) error {
	if owner, ok := kube.ControllerOf(d.OwnerReferences); d.UID != "" && (!ok || owner.UID != foo.UID) {
		return errExists
	}
	labels := map[string]string{"app": "foo", "foo": foo.Spec.DeploymentName}
	if d.UID == "" {
		d.Spec.Selector.MatchLabels = labels // it is immutable
		if err := d.SetControllerReference(foos, foo); err != nil {
			return err
		}
	}
	d.Spec.Replicas = &foo.Spec.Replicas
	d.Spec.Template.Metadata.Labels = labels
	d.Spec.Template.Spec.Containers = []Container{{Name: "nginx", Image: image}}
	return nil
}

// report writes the status, if it has changed.
func (o *operator) report(ctx context.Context, foo Foo, available int, ready kube.ConditionStatus, reason, message string) error {
	c := kube.Condition{Type: "Ready", Status: ready, ObservedGeneration: foo.Generation, Reason: reason, Message: message}
	status := FooStatus{AvailableReplicas: available, ObservedGeneration: foo.Generation, Conditions: kube.SetCondition(foo.Status.Conditions, c)}
	if reflect.DeepEqual(status, foo.Status) {
		return nil
	}
	_, err := controller.Awaited(o.controller, kube.KeyOf(foo), client.Of[Foo](o.client, foos), o.foos).PatchStatus(ctx, kube.KeyOf(foo), status)
	if errors.Is(err, kube.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	return err
}
