// Command database is an operator of databases: for each Database it maintains a Secret
// with a password, a headless Service, a PodDisruptionBudget, and a StatefulSet with
// claims, which restarts its Pods when the ConfigMap of the Database changes. A webhook
// refuses to delete protected Databases, and converts those of example.com/v1alpha1.
// README.md shows how to run it.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/operator"
	"github.com/listwatch/listwatch/webhook"
)

func main() { operator.Main(options) }

var options = operator.Options{Name: "database", Setup: setup, Webhook: webhook.Options{Install: true}}

// app maintains the children of each Database.
type app struct {
	client    *client.Client
	databases *operator.Objects[Database]
	configs   *cache.Informer[configMap]
	secrets   *operator.Children[kube.Partial, Database] // metadata only: passwords are not read
	services  *operator.Children[kube.Partial, Database]
	budgets   *operator.Children[kube.Partial, Database]
	sets      *operator.Children[statefulSet, Database]
}

func setup(op *operator.Operator) error {
	op.Define(crd.Of[Database](databases, crd.Options{ShortNames: []string{"db"},
		Also: []crd.Version{crd.VersionOf[DatabaseV1alpha1]("v1alpha1", crd.VersionOptions{Deprecated: "use example.com/v1"})}}))
	webhook.Validate(op.Webhooks(), databases, webhook.Rule{Operations: []webhook.Operation{webhook.Delete}}, protect)
	webhook.Convert(op.Webhooks(), databases, "v1alpha1", fromV1alpha1, toV1alpha1)

	a := &app{client: op.Client}
	// The finalizer is held until the claims are deleted, which have no owner.
	a.databases = operator.For(op, databases, operator.Reconciler[Database]{Reconcile: a.reconcile, Finalizer: "example.com/claims", Finalize: a.finalize})
	a.secrets = operator.Owns[kube.Partial](a.databases, kube.Secrets)
	a.services = operator.Owns[kube.Partial](a.databases, kube.Services)
	a.budgets = operator.Owns[kube.Partial](a.databases, budgets)
	a.sets = operator.Owns[statefulSet](a.databases, kube.StatefulSets)
	a.configs = operator.Watch[configMap](op, kube.ConfigMaps)
	users := cache.By(a.databases.Store(), func(d Database) (kube.Key, bool) {
		return kube.Key{Namespace: d.Namespace, Name: d.Spec.Config}, d.Spec.Config != ""
	})
	controller.Map(a.databases.Controller, a.configs, func(m configMap) []kube.Key { return users.Keys(kube.KeyOf(m)) })
	return nil
}

type fields = map[string]any

// reconcile brings the children in line with the Database, and reports. It reads the current
// state, whatever has changed, and runs again after an error.
func (a *app) reconcile(ctx context.Context, d Database) (none controller.Result, err error) {
	hash, err := a.hash(d)
	if err != nil { // until that ConfigMap is created: see Map
		return none, a.report(ctx, d, 0, "ConfigMissing", err.Error())
	}
	set, err := a.children(ctx, d, hash)
	if errors.Is(err, operator.ErrForeign) {
		return none, a.report(ctx, d, 0, "NameTaken", err.Error())
	} else if err != nil {
		return none, err
	}
	ready := set.Status.ReadyReplicas
	if set.Status.ObservedGeneration < set.Generation || ready < d.Spec.Replicas {
		return none, a.report(ctx, d, ready, "Progressing", fmt.Sprintf("%d of %d replicas are ready", ready, d.Spec.Replicas))
	}
	return none, a.report(ctx, d, ready, "Available", "all replicas are ready")
}

// hash returns the hash of the configuration, empty if there shall be none.
func (a *app) hash(d Database) (string, error) {
	if d.Spec.Config == "" {
		return "", nil
	}
	m, ok := a.configs.Store().Get(kube.Key{Namespace: d.Namespace, Name: d.Spec.Config})
	if !ok {
		return "", fmt.Errorf("there is no ConfigMap %s", d.Spec.Config)
	}
	text, err := json.Marshal(m.Data)
	return fmt.Sprintf("%.8x", sha256.Sum256(text)), err
}

// children applies the children in the order of their creation.
func (a *app) children(ctx context.Context, d Database, hash string) (set statefulSet, err error) {
	labels := fields{"database": d.Name}
	secret := fields{"data": map[string][]byte{"POSTGRES_PASSWORD": []byte(rand.Text())}}
	if _, err := a.secrets.Create(ctx, d, secret); err != nil { // once: who has the password must keep access
		return set, err
	}
	service := fields{"clusterIP": "None", "selector": labels, "ports": []fields{{"name": "sql", "port": 5432}}}
	if _, err := a.services.Apply(ctx, d, fields{"spec": service}); err != nil {
		return set, err
	}
	budget := fields{"maxUnavailable": max(1, (d.Spec.Replicas-1)/2), "selector": fields{"matchLabels": labels}} // of more than 2 a majority stays
	if _, err := a.budgets.Apply(ctx, d, fields{"spec": budget}); err != nil {
		return set, err
	}
	claim := fields{"accessModes": []string{"ReadWriteOnce"}, "resources": fields{"requests": fields{"storage": d.Spec.Storage.Size}}}
	if d.Spec.Storage.Class != "" {
		claim["storageClassName"] = d.Spec.Storage.Class
	}
	volumes, mounts := []fields{}, []fields{{"name": "data", "mountPath": "/var/lib/postgresql"}}
	if hash != "" {
		volumes = []fields{{"name": "config", "configMap": fields{"name": d.Spec.Config}}}
		mounts = append(mounts, fields{"name": "config", "mountPath": "/etc/postgresql"})
	}
	return a.sets.Apply(ctx, d, fields{"spec": fields{
		"replicas": d.Spec.Replicas, "serviceName": d.Name, "selector": fields{"matchLabels": labels},
		"volumeClaimTemplates": []fields{{"metadata": fields{"name": "data"}, "spec": claim}},
		"template": fields{
			"metadata": fields{"labels": labels, "annotations": fields{"example.com/config": hash}}, // another template: the Pods restart
			"spec": fields{
				"containers": []fields{{"name": "db", "image": d.Spec.Image, "envFrom": []fields{{"secretRef": fields{"name": d.Name}}}, "volumeMounts": mounts}},
				"volumes":    volumes,
			},
		},
	}})
}

// finalize deletes the claims when the Pods are deleted.
func (a *app) finalize(ctx context.Context, d Database) (bool, error) {
	if gone, err := a.sets.Delete(ctx, d, d.Name, client.DeleteOptions{Propagation: client.Foreground}); !gone {
		return false, err
	}
	claims := client.Of[kube.Partial](a.client, kube.PersistentVolumeClaims).In(d.Namespace)
	err := claims.Where(kube.LabelsSelector(map[string]string{"database": d.Name}), kube.FieldSelector{}).DeleteAll(ctx, client.DeleteOptions{})
	return err == nil, err
}

// report writes the status, if it has changed.
func (a *app) report(ctx context.Context, d Database, ready int32, reason, message string) error {
	c := kube.Condition{Type: "Ready", Status: kube.ConditionFalse, ObservedGeneration: d.Generation, Reason: reason, Message: message}
	if reason == "Available" {
		c.Status = kube.ConditionTrue
	}
	return a.databases.PatchStatus(ctx, d, func(d *Database) {
		d.Status = Status{ReadyReplicas: ready, Conditions: kube.SetCondition(d.Status.Conditions, c)}
	})
}

// protect refuses to delete a Database that is protected: CEL rules are not asked then.
func protect(_ context.Context, r *webhook.Request[Database]) error {
	if r.Old.Spec.Protect {
		return &webhook.FieldError{Field: "spec.protect", Reason: webhook.Forbidden, Message: "set it to false before you delete the Database"}
	}
	return nil
}
