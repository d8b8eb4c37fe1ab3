package kinds

import (
	"maps"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// The defaults of what makes pods.

func (d *Defaults) deployment(spec map[string]any) {
	d.set(spec, "replicas", int64(1))
	strategy := d.Object(spec, "strategy")
	d.text(strategy, "type", rollingUpdate)
	if strategy["type"] == rollingUpdate {
		u := d.Object(strategy, "rollingUpdate")
		d.set(u, "maxUnavailable", "25%")
		d.set(u, "maxSurge", "25%")
	}
	d.set(spec, "revisionHistoryLimit", int64(10))
	d.set(spec, "progressDeadlineSeconds", int64(600))
	d.Drop(spec, "paused", "minReadySeconds")
	d.template(d.Object(spec, "template"))
}

const rollingUpdate = "RollingUpdate"

func (d *Defaults) replicaSet(spec map[string]any) {
	d.set(spec, "replicas", int64(1))
	d.Drop(spec, "minReadySeconds")
	d.template(d.Object(spec, "template"))
}

func (d *Defaults) daemonSet(spec map[string]any) {
	strategy := d.Object(spec, "updateStrategy")
	d.text(strategy, "type", rollingUpdate)
	if strategy["type"] == rollingUpdate {
		u := d.Object(strategy, "rollingUpdate")
		d.set(u, "maxUnavailable", int64(1))
		d.set(u, "maxSurge", int64(0))
	}
	d.set(spec, "revisionHistoryLimit", int64(10))
	d.Drop(spec, "minReadySeconds")
	d.template(d.Object(spec, "template"))
}

func (d *Defaults) statefulSet(spec map[string]any) {
	d.text(spec, "podManagementPolicy", "OrderedReady")
	strategy := d.Object(spec, "updateStrategy")
	if TextAt(strategy, "type") == "" {
		d.put(strategy, "type", rollingUpdate)
		d.Object(strategy, "rollingUpdate")
	}
	if u := ObjectAt(strategy, "rollingUpdate"); u != nil && strategy["type"] == rollingUpdate {
		d.set(u, "partition", int64(0))
		d.set(u, "maxUnavailable", int64(1))
	}
	retention := d.Object(spec, "persistentVolumeClaimRetentionPolicy")
	d.text(retention, "whenDeleted", "Retain")
	d.text(retention, "whenScaled", "Retain")
	d.set(spec, "replicas", int64(1))
	d.set(spec, "revisionHistoryLimit", int64(10))
	d.set(spec, "serviceName", "")
	d.Drop(spec, "minReadySeconds")
	d.template(d.Object(spec, "template"))
	for c := range ObjectsAt(spec, "volumeClaimTemplates") {
		d.set(c, "kind", "PersistentVolumeClaim")
		d.set(c, "apiVersion", "v1")
		d.Drop(d.Object(c, "metadata"), "creationTimestamp")
		d.claim(d.Object(c, "spec"))
		d.text(d.Object(c, "status"), "phase", "Pending")
	}
}

func (d *Defaults) replicationController(o, spec map[string]any) {
	d.set(spec, "replicas", int64(1))
	d.Drop(spec, "minReadySeconds")
	template := ObjectAt(spec, "template")
	if template == nil {
		return
	}
	labels := ObjectAt(ObjectAt(template, "metadata"), "labels")
	if len(labels) > 0 && Lacks(spec, "selector") {
		d.put(spec, "selector", maps.Clone(labels))
	}
	d.labelsFrom(o, template)
	d.template(template)
}

func (d *Defaults) job(o, spec map[string]any) {
	if spec["completions"] == nil && spec["parallelism"] == nil {
		d.put(spec, "completions", int64(1))
	}
	d.set(spec, "parallelism", int64(1))
	if spec["backoffLimitPerIndex"] != nil {
		d.set(spec, "backoffLimit", int64(1<<31-1))
	}
	d.set(spec, "backoffLimit", int64(6))
	d.set(spec, "completionMode", "NonIndexed")
	d.set(spec, "suspend", false)
	if spec["podFailurePolicy"] != nil {
		d.set(spec, "podReplacementPolicy", "Failed")
	}
	d.set(spec, "podReplacementPolicy", "TerminatingOrFailed")
	d.set(spec, "manualSelector", false)
	d.labelsFrom(o, ObjectAt(spec, "template"))
	d.jobSpec(spec)
}

// jobSpec fills in what the template of a CronJob has too.
func (d *Defaults) jobSpec(spec map[string]any) {
	for r := range ObjectsAt(ObjectAt(spec, "podFailurePolicy"), "rules") {
		for c := range ObjectsAt(r, "onPodConditions") {
			d.text(c, "status", "True")
		}
	}
	d.template(d.Object(spec, "template"))
}

func (d *Defaults) cronJob(spec map[string]any) {
	d.text(spec, "concurrencyPolicy", "Allow")
	d.set(spec, "suspend", false)
	d.set(spec, "successfulJobsHistoryLimit", int64(3))
	d.set(spec, "failedJobsHistoryLimit", int64(1))
	job := d.Object(spec, "jobTemplate")
	d.Drop(d.Object(job, "metadata"), "creationTimestamp")
	d.jobSpec(d.Object(job, "spec"))
}

// The labels by which a Job finds its pods, old names and new ones.
var (
	jobNames = [...]string{"job-name", "batch.kubernetes.io/job-name"}
	jobUIDs  = [...]string{"controller-uid", "batch.kubernetes.io/controller-uid"}
)

// selectPods gives a new Job, which has its UID, the selector of its pods.
func (d *Defaults) selectPods(o map[string]any) {
	spec := d.Object(o, "spec")
	meta := d.Object(o, "metadata")
	if spec["manualSelector"] == true {
		return
	}
	template := d.Object(d.Object(spec, "template"), "metadata")
	labels := d.Object(template, "labels")
	inherited := Lacks(meta, "labels") || equalText(ObjectAt(meta, "labels"), labels)
	for _, name := range jobNames {
		d.set(labels, name, TextAt(meta, "name"))
	}
	for _, name := range jobUIDs {
		d.set(labels, name, TextAt(meta, "uid"))
	}
	if inherited && len(labelValue(TextAt(meta, "name"))) == 0 && !equalText(ObjectAt(meta, "labels"), labels) {
		d.put(meta, "labels", maps.Clone(labels))
	}
	match := d.Object(d.Object(spec, "selector"), "matchLabels")
	d.set(match, jobUIDs[1], TextAt(meta, "uid"))
}

// ShowTemplateLabels gives o, a Job, the labels of its pods if it has none, as
// kube-apiserver does where it reads a Job from etcd.
func ShowTemplateLabels(o *object.Object) {
	if len(o.Meta.Labels) > 0 {
		return
	}
	labels, _ := o.Lookup("spec.template.metadata.labels").(map[string]any)
	for name, v := range labels {
		text, _ := v.(string)
		o.SetLabel(name, text)
	}
}

// NullLists makes null of lists that are empty, as etcd keeps them.
func NullLists(o *object.Object, names ...string) {
	for _, name := range names {
		if v, _ := o.Field(name); string(v) == "[]" {
			o.SetField(name, []byte("null"), true)
		}
	}
}

// equalText compares two maps of strings.
func equalText(a, b map[string]any) bool {
	return maps.EqualFunc(a, b, func(v, w any) bool {
		s, ok := v.(string)
		return ok && s == w
	})
}
