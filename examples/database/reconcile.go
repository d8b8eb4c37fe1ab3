package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
)

const finalizer = "example.com/claims" // held until the claims are deleted, which have no owner

var errTaken = errors.New("it is there already and does not belong to this Database")

// kinds are the resources of the children, in the order of their creation.
var kinds = []kube.Resource{kube.Secrets, kube.Services, budgets, kube.StatefulSets}

// reconcile brings the children in line with the Database. It reads the current state,
// whatever has changed, and runs again after an error.
func (o *operator) reconcile(ctx context.Context, key kube.Key) (none controller.Result, err error) {
	d, ok := o.databases.Store().Get(key) // shared: it must not be modified
	if !ok {
		return none, nil // the garbage collector deletes its dependents
	}
	all := controller.Awaited(o.controller, key, client.Of[Database](o.client, databases), o.databases)
	if d.DeletionTimestamp != nil {
		return none, o.finalize(ctx, all, d)
	}
	if held := kube.Clone(d); held.AddFinalizer(finalizer) { // before anything needs cleaning up
		if d, err = all.PatchFrom(ctx, d, held, client.PatchOptions{}); err != nil {
			return none, err
		}
	}
	hash, err := o.hash(d)
	if err != nil { // until that ConfigMap is created: see Map in main.go
		return none, o.report(ctx, all, d, 0, "ConfigMissing", err.Error())
	}
	var set child
	for _, r := range kinds {
		var outcome client.Outcome
		set, outcome, err = controller.Ensure(ctx, o.writes(key, r), o.children[r].Store(), key, func(c *child) error { return shape(c, r, d, hash) })
		if errors.Is(err, errTaken) {
			return controller.Result{RequeueAfter: time.Minute}, o.report(ctx, all, d, 0, "NameTaken", r.Kind+": "+errTaken.Error())
		} else if err != nil {
			return none, err
		}
		if outcome != client.Unchanged {
			o.events.Eventf(events.About(databases, d), events.Normal, "Synced", "%s %s", r.Kind, outcome)
		}
	}
	ready := set.Status.ReadyReplicas
	if set.Status.ObservedGeneration < set.Generation || ready < d.Spec.Replicas {
		return none, o.report(ctx, all, d, ready, "Progressing", fmt.Sprintf("%d of %d replicas are ready", ready, d.Spec.Replicas))
	}
	return none, o.report(ctx, all, d, ready, "Available", "all replicas are ready")
}

// writes returns the collection of children of r; the next run of key sees what it writes.
func (o *operator) writes(key kube.Key, r kube.Resource) client.Collection[child] {
	return controller.Awaited(o.controller, key, client.Of[child](o.client, r), o.children[r])
}

// hash returns the hash of the configuration, empty if there shall be none.
func (o *operator) hash(d Database) (string, error) {
	if d.Spec.Config == "" {
		return "", nil
	}
	m, ok := o.configs.Store().Get(kube.Key{Namespace: d.Namespace, Name: d.Spec.Config})
	if !ok {
		return "", fmt.Errorf("there is no ConfigMap %s", d.Spec.Config)
	}
	text, err := json.Marshal(m.Data)
	return fmt.Sprintf("%.8x", sha256.Sum256(text)), err
}

// shape sets the desired members of c, which has no UID if it is new.
func shape(c *child, r kube.Resource, d Database, hash string) error {
	if owner, _ := kube.ControllerOf(c.OwnerReferences); c.UID != "" && owner.UID != d.UID {
		return errTaken
	}
	switch r {
	case kube.Secrets:
		if c.UID == "" { // once: who has the password must keep access
			c.Data = map[string][]byte{"POSTGRES_PASSWORD": []byte(rand.Text())}
		}
	case kube.Services:
		c.Spec.ClusterIP, c.Spec.Selector, c.Spec.Ports = "None", fields{"database": d.Name}, []port{{"sql", 5432}}
	case budgets:
		most := max(1, (d.Spec.Replicas-1)/2) // of more than 2 a majority stays
		c.Spec.MaxUnavailable, c.Spec.Selector = &most, fields{"matchLabels": fields{"database": d.Name}}
	case kube.StatefulSets:
		if c.UID == "" { // they are immutable
			claim := fields{"accessModes": []string{"ReadWriteOnce"}, "resources": fields{"requests": fields{"storage": d.Spec.Storage.Size}}}
			if d.Spec.Storage.Class != "" {
				claim["storageClassName"] = d.Spec.Storage.Class
			}
			c.Spec.Claims = []fields{{"metadata": fields{"name": "data"}, "spec": claim}}
			c.Spec.ServiceName, c.Spec.Selector = d.Name, fields{"matchLabels": fields{"database": d.Name}}
		}
		main := container{Name: "db", Image: d.Spec.Image, EnvFrom: []fields{{"secretRef": fields{"name": d.Name}}},
			VolumeMounts: []fields{{"name": "data", "mountPath": "/var/lib/postgresql"}}}
		t := &c.Spec.Template
		t.Labels, t.Spec.Volumes = map[string]string{"database": d.Name}, nil
		if hash != "" {
			t.Spec.Volumes = []volume{{Name: "config"}}
			t.Spec.Volumes[0].ConfigMap.Name = d.Spec.Config
			main.VolumeMounts = append(main.VolumeMounts, fields{"name": "config", "mountPath": "/etc/postgresql"})
		}
		c.Spec.Replicas, t.Spec.Containers = &d.Spec.Replicas, []container{main}
		if t.Annotations == nil {
			t.Annotations = map[string]string{}
		}
		t.Annotations["example.com/config"] = hash // another template: the Pods restart
	}
	return c.SetControllerReference(databases, d)
}

// finalize deletes the claims when the Pods are deleted, and removes the finalizer.
func (o *operator) finalize(ctx context.Context, all client.Collection[Database], d Database) error {
	key := kube.KeyOf(d)
	if set, ok := o.children[kube.StatefulSets].Store().Get(key); ok { // its end adds the key again
		if owner, _ := kube.ControllerOf(set.OwnerReferences); owner.UID == d.UID {
			if set.DeletionTimestamp != nil {
				return nil
			}
			return o.writes(key, kube.StatefulSets).Delete(ctx, key, client.DeleteOptions{UID: set.UID, Propagation: client.Foreground})
		}
	}
	claims := client.Of[kube.Partial](o.client, kube.PersistentVolumeClaims).In(d.Namespace)
	if err := claims.Where(kube.LabelsSelector(map[string]string{"database": d.Name}), kube.FieldSelector{}).DeleteAll(ctx, client.DeleteOptions{}); err != nil {
		return err
	}
	free := kube.Clone(d)
	free.RemoveFinalizer(finalizer)
	_, err := all.PatchFrom(ctx, d, free, client.PatchOptions{})
	return err
}

// report writes the status, if it has changed.
func (o *operator) report(ctx context.Context, all client.Collection[Database], d Database, ready int32, reason, message string) error {
	c := kube.Condition{Type: "Ready", Status: kube.ConditionFalse, ObservedGeneration: d.Generation, Reason: reason, Message: message}
	if reason == "Available" {
		c.Status = kube.ConditionTrue
	}
	now := d
	now.Status = Status{ReadyReplicas: ready, Conditions: kube.SetCondition(d.Status.Conditions, c)}
	_, err := all.With(client.WriteOptions{Whole: true}).PatchStatusFrom(ctx, d, now, client.PatchOptions{}) // whole: the conditions are all ours
	return err
}

// protect refuses to delete a Database that is protected: CEL rules are not asked then.
func protect(_ context.Context, r *webhook.Request[Database]) error {
	if r.Old.Spec.Protect {
		return &webhook.FieldError{Field: "spec.protect", Reason: webhook.Forbidden, Message: "set it to false before you delete the Database"}
	}
	return nil
}
