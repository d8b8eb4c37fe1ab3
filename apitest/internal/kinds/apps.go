package kinds

import (
	"encoding/json"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/pods"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// appsKinds are the kinds of apps.
func appsKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.DaemonSets, ShortNames: []string{"ds"}, Categories: []string{"all"}, Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillDaemonSet(d, d.Object(o, "spec"))
				fillStatus(d, o, "updatedNumberScheduled", "numberAvailable", "numberUnavailable")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec, was := rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec")
				refuseWorkload(r, kube.DaemonSets, spec, was)
			},
			Status: `{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}`,
			Zero: `"spec":{"selector":null,"template":` + zeroTemplate + `,"updateStrategy":{}},` +
				`"status":{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}`,
			Printer: daemonSetPrinter,
		},
		{
			Info: object.Info{Resource: kube.Deployments, Scale: workloadScale(), ShortNames: []string{"deploy"}, Categories: []string{"all"}, Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillDeployment(d, d.Object(o, "spec"))
				fillStatus(d, o, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec, was := rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec")
				refuseWorkload(r, kube.Deployments, spec, was)
			},
			Status:   `{}`,
			Zero:     `"spec":{"replicas":0,"selector":null,"template":` + zeroTemplate + `,"strategy":{}},"status":{}`,
			Printer:  deploymentPrinter,
			Strategy: Strategy{hosts: podNames},
		},
		{
			Info: object.Info{Resource: kube.ReplicaSets, Scale: workloadScale(), ShortNames: []string{"rs"}, Categories: []string{"all"}, Status: true, Fields: []string{"status.replicas"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillReplicaSet(d, d.Object(o, "spec"))
				fillStatus(d, o, "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec, was := rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec")
				refuseWorkload(r, kube.ReplicaSets, spec, was)
			},
			Status:   `{"replicas":0}`,
			Zero:     `"spec":{"replicas":0,"selector":null,"template":` + zeroTemplate + `},"status":{"replicas":0}`,
			Printer:  replicaSetPrinter,
			Strategy: Strategy{hosts: podNames},
		},
		{
			Info: object.Info{Resource: kube.StatefulSets, Scale: workloadScale(), ShortNames: []string{"sts"}, Categories: []string{"all"}, Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillStatefulSet(d, d.Object(o, "spec"))
				fillStatus(d, o, "readyReplicas", "currentReplicas", "updatedReplicas", "currentRevision", "updateRevision")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec, was := rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec")
				refuseWorkload(r, kube.StatefulSets, spec, was)
			},
			Status:   `{"replicas":0,"availableReplicas":0}`,
			Zero:     `"spec":{"replicas":0,"selector":null,"template":` + zeroTemplate + `,"serviceName":"","updateStrategy":{}},"status":{"replicas":0,"availableReplicas":0}`,
			Printer:  statefulSetPrinter,
			Strategy: Strategy{name: rules.LabelName},
		},
		{
			Info: object.Info{Resource: Named("apps", "controllerrevisions", "ControllerRevision"), NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Set(o, "revision", int64(0))
			},
			Validate: func(r *rules.Refusals, o, _ map[string]any) {
				if o["data"] == nil {
					r.Required("data", "data is mandatory")
				}
				if n := rules.IntAt(o, "revision"); n < 0 {
					r.Invalid("revision", n, "must be greater than or equal to 0")
				}
			},
			Zero:    `"data":null,"revision":0`,
			Printer: revisionPrinter,
		},
	}
}

// fillStatus drops what Go omits of a status: names, observedGeneration, and the texts of
// conditions.
func fillStatus(d *rules.Defaults, o map[string]any, names ...string) {
	status := rules.ObjectAt(o, "status")
	d.Drop(status, "observedGeneration")
	d.Drop(status, names...)
	d.DropIn(status, "conditions", "reason", "message")
}

func fillDeployment(d *rules.Defaults, spec map[string]any) {
	d.Set(spec, "replicas", int64(1))
	strategy := d.Object(spec, "strategy")
	d.Text(strategy, "type", rollingUpdate)
	if strategy["type"] == rollingUpdate {
		u := d.Object(strategy, "rollingUpdate")
		d.Set(u, "maxUnavailable", "25%")
		d.Set(u, "maxSurge", "25%")
	}
	d.Set(spec, "revisionHistoryLimit", int64(10))
	d.Set(spec, "progressDeadlineSeconds", int64(600))
	d.Drop(spec, "paused", "minReadySeconds")
	pods.FillTemplate(d, d.Object(spec, "template"))
}

const rollingUpdate = "RollingUpdate"

func fillReplicaSet(d *rules.Defaults, spec map[string]any) {
	d.Set(spec, "replicas", int64(1))
	d.Drop(spec, "minReadySeconds")
	pods.FillTemplate(d, d.Object(spec, "template"))
}

func fillDaemonSet(d *rules.Defaults, spec map[string]any) {
	strategy := d.Object(spec, "updateStrategy")
	d.Text(strategy, "type", rollingUpdate)
	if strategy["type"] == rollingUpdate {
		u := d.Object(strategy, "rollingUpdate")
		d.Set(u, "maxUnavailable", int64(1))
		d.Set(u, "maxSurge", int64(0))
	}
	d.Set(spec, "revisionHistoryLimit", int64(10))
	d.Drop(spec, "minReadySeconds")
	pods.FillTemplate(d, d.Object(spec, "template"))
}

func fillStatefulSet(d *rules.Defaults, spec map[string]any) {
	d.Text(spec, "podManagementPolicy", "OrderedReady")
	strategy := d.Object(spec, "updateStrategy")
	if rules.TextAt(strategy, "type") == "" {
		d.Put(strategy, "type", rollingUpdate)
		d.Object(strategy, "rollingUpdate")
	}
	if u := rules.ObjectAt(strategy, "rollingUpdate"); u != nil && strategy["type"] == rollingUpdate {
		d.Set(u, "partition", int64(0))
		d.Set(u, "maxUnavailable", int64(1))
	}
	retention := d.Object(spec, "persistentVolumeClaimRetentionPolicy")
	d.Text(retention, "whenDeleted", "Retain")
	d.Text(retention, "whenScaled", "Retain")
	d.Set(spec, "replicas", int64(1))
	d.Set(spec, "revisionHistoryLimit", int64(10))
	d.Set(spec, "serviceName", "")
	if o := rules.ObjectAt(spec, "ordinals"); o != nil {
		d.Set(o, "start", int64(0))
	}
	d.Drop(spec, "minReadySeconds")
	pods.FillTemplate(d, d.Object(spec, "template"))
	for c := range rules.ObjectsAt(spec, "volumeClaimTemplates") {
		d.Set(c, "kind", "PersistentVolumeClaim")
		d.Set(c, "apiVersion", "v1")
		d.Drop(d.Object(c, "metadata"), "creationTimestamp")
		pods.FillClaim(d, d.Object(c, "spec"))
		d.Text(d.Object(c, "status"), "phase", "Pending")
	}
}

var deploymentPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Ready", "pods that are ready, of those wanted"),
		columns.Text("Up-to-date", "pods of the newest template"),
		columns.Text("Available", "pods that have been ready for long enough"),
		columns.AgeColumn(), pods.ContainersColumn(), pods.ImagesColumn(), pods.SelectorColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			Replicas *int
			Template pods.Template
			Selector *columns.LabelSelector
		}
		var status struct{ ReadyReplicas, UpdatedReplicas, AvailableReplicas int }
		r.Read("spec", &spec)
		r.Read("status", &status)
		names, images := spec.Template.Containers()
		selector, ok := spec.Selector.Format()
		if !ok {
			selector = "<invalid>"
		}
		r.Add(r.Meta.Name, columns.Fraction(status.ReadyReplicas, columns.Or(spec.Replicas, 0)), status.UpdatedReplicas, status.AvailableReplicas,
			r.Age(), names, images, selector)
	},
}

var replicaSetPrinter = columns.Printer{Columns: pods.ReplicaColumns(), Cells: pods.ReplicaCells((*columns.LabelSelector).Text)}

var statefulSetPrinter = columns.Printer{
	Columns: columns.List(columns.Text("Ready", "pods that are ready, of those wanted"), columns.AgeColumn(), pods.ContainersColumn(), pods.ImagesColumn()),
	Cells: func(r *columns.Row) {
		var spec struct {
			Replicas int
			Template pods.Template
		}
		var status struct{ ReadyReplicas int }
		r.Read("spec", &spec)
		r.Read("status", &status)
		names, images := spec.Template.Containers()
		r.Add(r.Meta.Name, columns.Fraction(status.ReadyReplicas, spec.Replicas), r.Age(), names, images)
	},
}

var daemonSetPrinter = columns.Printer{
	Columns: columns.List(
		columns.Integer("Desired", "nodes that should run the pod"),
		columns.Integer("Current", "nodes that run it and should"),
		columns.Integer("Ready", "nodes on which it is ready"),
		columns.Integer("Up-to-date", "nodes that run the newest template"),
		columns.Integer("Available", "nodes on which it has been ready for long enough"),
		columns.Text("Node Selector", "labels of the nodes"),
		columns.AgeColumn(), pods.ContainersColumn(), pods.ImagesColumn(), pods.SelectorColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			Template pods.Template
			Selector *columns.LabelSelector
		}
		var status struct{ DesiredNumberScheduled, CurrentNumberScheduled, NumberReady, UpdatedNumberScheduled, NumberAvailable int }
		r.Read("spec", &spec)
		r.Read("status", &status)
		names, images := spec.Template.Containers()
		r.Add(r.Meta.Name, status.DesiredNumberScheduled, status.CurrentNumberScheduled, status.NumberReady,
			status.UpdatedNumberScheduled, status.NumberAvailable, columns.LabelList(spec.Template.Spec.NodeSelector), r.Age(),
			names, images, spec.Selector.Text())
	},
}

var revisionPrinter = columns.Printer{
	Columns: columns.List(columns.Text("Controller", "the object that the revision is of"), columns.Text("Revision", "number of the revision"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var owners []struct {
			APIVersion, Kind, Name string
			Controller             bool
		}
		_ = json.Unmarshal(r.Meta.OwnerReferences, &owners) // none where there are none
		var revision int64
		r.Read("revision", &revision)
		controller := columns.None
		for _, o := range owners {
			if !o.Controller {
				continue
			}
			group, _, found := strings.Cut(o.APIVersion, "/")
			kind := o.Kind
			if found {
				kind += "." + group
			}
			controller = strings.ToLower(kind) + "/" + o.Name
			break
		}
		r.Add(r.Meta.Name, controller, revision, r.Age())
	},
}
