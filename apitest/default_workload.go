package apitest

import (
	"maps"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// The defaults of what makes pods.

func (d *defaults) deployment(spec map[string]any) {
	d.set(spec, "replicas", int64(1))
	strategy := d.object(spec, "strategy")
	d.text(strategy, "type", rollingUpdate)
	if strategy["type"] == rollingUpdate {
		u := d.object(strategy, "rollingUpdate")
		d.set(u, "maxUnavailable", "25%")
		d.set(u, "maxSurge", "25%")
	}
	d.set(spec, "revisionHistoryLimit", int64(10))
	d.set(spec, "progressDeadlineSeconds", int64(600))
	d.drop(spec, "paused", "minReadySeconds")
	d.template(d.object(spec, "template"))
}

const rollingUpdate = "RollingUpdate"

func (d *defaults) replicaSet(spec map[string]any) {
	d.set(spec, "replicas", int64(1))
	d.drop(spec, "minReadySeconds")
	d.template(d.object(spec, "template"))
}

func (d *defaults) daemonSet(spec map[string]any) {
	strategy := d.object(spec, "updateStrategy")
	d.text(strategy, "type", rollingUpdate)
	if strategy["type"] == rollingUpdate {
		u := d.object(strategy, "rollingUpdate")
		d.set(u, "maxUnavailable", int64(1))
		d.set(u, "maxSurge", int64(0))
	}
	d.set(spec, "revisionHistoryLimit", int64(10))
	d.drop(spec, "minReadySeconds")
	d.template(d.object(spec, "template"))
}

func (d *defaults) statefulSet(spec map[string]any) {
	d.text(spec, "podManagementPolicy", "OrderedReady")
	strategy := d.object(spec, "updateStrategy")
	if string1(strategy, "type") == "" {
		d.put(strategy, "type", rollingUpdate)
		d.object(strategy, "rollingUpdate")
	}
	if u := object1(strategy, "rollingUpdate"); u != nil && strategy["type"] == rollingUpdate {
		d.set(u, "partition", int64(0))
		d.set(u, "maxUnavailable", int64(1))
	}
	retention := d.object(spec, "persistentVolumeClaimRetentionPolicy")
	d.text(retention, "whenDeleted", "Retain")
	d.text(retention, "whenScaled", "Retain")
	d.set(spec, "replicas", int64(1))
	d.set(spec, "revisionHistoryLimit", int64(10))
	d.set(spec, "serviceName", "")
	d.drop(spec, "minReadySeconds")
	d.template(d.object(spec, "template"))
	for c := range objects(spec, "volumeClaimTemplates") {
		d.set(c, "kind", "PersistentVolumeClaim")
		d.set(c, "apiVersion", "v1")
		d.drop(d.object(c, "metadata"), "creationTimestamp")
		d.claim(d.object(c, "spec"))
		d.text(d.object(c, "status"), "phase", "Pending")
	}
}

func (d *defaults) replicationController(o, spec map[string]any) {
	d.set(spec, "replicas", int64(1))
	d.drop(spec, "minReadySeconds")
	template := object1(spec, "template")
	if template == nil {
		return
	}
	labels := object1(object1(template, "metadata"), "labels")
	if len(labels) > 0 && lacks(spec, "selector") {
		d.put(spec, "selector", maps.Clone(labels))
	}
	d.labelsFrom(o, template)
	d.template(template)
}

func (d *defaults) job(o, spec map[string]any) {
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
	d.labelsFrom(o, object1(spec, "template"))
	d.jobSpec(spec)
}

// jobSpec fills in what the template of a CronJob has too.
func (d *defaults) jobSpec(spec map[string]any) {
	for r := range objects(object1(spec, "podFailurePolicy"), "rules") {
		for c := range objects(r, "onPodConditions") {
			d.text(c, "status", "True")
		}
	}
	d.template(d.object(spec, "template"))
}

func (d *defaults) cronJob(spec map[string]any) {
	d.text(spec, "concurrencyPolicy", "Allow")
	d.set(spec, "suspend", false)
	d.set(spec, "successfulJobsHistoryLimit", int64(3))
	d.set(spec, "failedJobsHistoryLimit", int64(1))
	job := d.object(spec, "jobTemplate")
	d.drop(d.object(job, "metadata"), "creationTimestamp")
	d.jobSpec(d.object(job, "spec"))
}

// The labels by which a Job finds its pods, old names and new ones.
var (
	jobNames = [...]string{"job-name", "batch.kubernetes.io/job-name"}
	jobUIDs  = [...]string{"controller-uid", "batch.kubernetes.io/controller-uid"}
)

// selectPods gives a new Job, which has its UID, the selector of its pods.
func (d *defaults) selectPods(o map[string]any) {
	spec := d.object(o, "spec")
	meta := d.object(o, "metadata")
	if spec["manualSelector"] == true {
		return
	}
	template := d.object(d.object(spec, "template"), "metadata")
	labels := d.object(template, "labels")
	inherited := lacks(meta, "labels") || equalText(object1(meta, "labels"), labels)
	for _, name := range jobNames {
		d.set(labels, name, string1(meta, "name"))
	}
	for _, name := range jobUIDs {
		d.set(labels, name, string1(meta, "uid"))
	}
	if inherited && len(labelValue(string1(meta, "name"))) == 0 && !equalText(object1(meta, "labels"), labels) {
		d.put(meta, "labels", maps.Clone(labels))
	}
	match := d.object(d.object(spec, "selector"), "matchLabels")
	d.set(match, jobUIDs[1], string1(meta, "uid"))
}

// showTemplateLabels gives o, a Job, the labels of its pods if it has none, as
// kube-apiserver does where it reads a Job from etcd.
func showTemplateLabels(o *object.Object) {
	if len(o.Meta.Labels) > 0 {
		return
	}
	labels, _ := o.Lookup("spec.template.metadata.labels").(map[string]any)
	for name, v := range labels {
		text, _ := v.(string)
		o.SetLabel(name, text)
	}
}

// nullLists makes null of lists that are empty, as etcd keeps them.
func nullLists(o *object.Object, names ...string) {
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
