package kinds

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// batchKinds are the kinds of batch.
func batchKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.CronJobs, ShortNames: []string{"cj"}, Categories: []string{"all"}, Status: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.cronJob(d.Object(o, "spec"))
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				spec := ObjectAt(o, "spec")
				r.cronJob(spec)
			},
			Status:   `{}`,
			Zero:     `"spec":{"schedule":"","jobTemplate":{"metadata":{},"spec":{"template":` + zeroTemplate + `}}},"status":{}`,
			Printer:  cronJobPrinter,
			Strategy: Strategy{hosts: podNames, name: cronJobName},
		},
		{
			Info: object.Info{Resource: kube.Jobs, Categories: []string{"all"}, Status: true, Fields: []string{"status.successful"}},
			Defaults: func(d *Defaults, o map[string]any) {
				d.job(o, d.Object(o, "spec"))
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				spec, was := ObjectAt(o, "spec"), ObjectAt(old, "spec")
				r.natural("spec", spec, "parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
				r.job(o, spec, was)
			},
			Status:   `{}`,
			Zero:     `"spec":{"template":` + zeroTemplate + `},"status":{}`,
			Printer:  jobPrinter,
			Strategy: Strategy{Orphans: true, hosts: podNames},
			Assign: func(d *Defaults, o, old map[string]any, _ func(any) bool) {
				if old == nil {
					d.selectPods(o)
				}
			},
		},
	}
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

func (r *Refusals) job(o, spec, old map[string]any) {
	template := ObjectAt(spec, "template")
	labels := ObjectAt(ObjectAt(template, "metadata"), "labels")
	if old != nil && ObjectAt(spec, "selector") == nil {
		r.required("spec.selector")
	}
	r.jobTemplate("spec.template", template)
	if old != nil {
		if selector := ObjectAt(spec, "selector"); selector == nil || !selects(selector, labels) {
			r.mismatch("spec.template", labels)
		}
		r.jobUpdate(spec, old, ObjectAt(o, "status"))
	}
}

// jobTemplate refuses what is wrong with a template whose pods come to an end.
func (r *Refusals) jobTemplate(path string, t map[string]any) {
	r.labels(path+".labels", ObjectAt(ObjectAt(t, "metadata"), "labels"))
	spec := ObjectAt(t, "spec")
	r.podSpec(path+".spec", spec)
	if policy := TextAt(spec, "restartPolicy"); policy == "" || policy == "Always" {
		r.required(path+".spec.restartPolicy", `valid values: "OnFailure", "Never"`)
	}
}

func (r *Refusals) cronJob(spec map[string]any) {
	job := ObjectAt(ObjectAt(spec, "jobTemplate"), "spec")
	r.jobTemplate("spec.jobTemplate.spec.template", ObjectAt(job, "template"))
	schedule := TextAt(spec, "schedule")
	fields := strings.Fields(schedule)
	switch {
	case schedule == "":
		r.required("spec.schedule")
	case !strings.HasPrefix(schedule, "@") && len(fields) != 5:
		r.invalid("spec.schedule", schedule, fmt.Sprintf("expected exactly 5 fields, found %d: %s", len(fields), fields))
	}
	r.oneOf("spec", spec, "concurrencyPolicy", "Allow", "Forbid", "Replace")
	r.natural("spec", spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit", "startingDeadlineSeconds")
}

// jobUpdate refuses changes of what a Job runs. The value is in the names of JSON,
// where kube-apiserver has those of Go. While a Job is suspended and none of its pods
// runs, where they are to run and what they need may change.
func (r *Refusals) jobUpdate(spec, old, status map[string]any) {
	if !SameValue(spec["selector"], old["selector"]) {
		r.invalid("spec.selector", spec["selector"], immutable)
	}
	template, was := ObjectAt(spec, "template"), ObjectAt(old, "template")
	switch waits := waiting(old, status); {
	case waits && !SameValue(ObjectAt(settledTemplate(template), "spec"), ObjectAt(settledTemplate(was), "spec")):
		r.invalid("spec.template.spec", template["spec"], immutable)
	case !waits && !SameValue(template, was):
		r.invalid("spec.template", template, immutable)
	}
	if !SameValue(spec["completionMode"], old["completionMode"]) {
		r.invalid("spec.completionMode", spec["completionMode"], immutable)
	}
}

// waiting reports whether a Job is suspended and has no pods.
func waiting(spec, status map[string]any) bool {
	suspended := status["startTime"] == nil
	for c := range ObjectsAt(status, "conditions") {
		suspended = suspended || c["type"] == "Suspended" && c["status"] == "True"
	}
	active, _ := status["active"].(int64)
	return spec["suspend"] == true && suspended && active == 0
}

// settledTemplate returns a copy without what may change while a Job waits.
func settledTemplate(template map[string]any) map[string]any {
	c := schema.Copy(template)
	spec := ObjectAt(c, "spec")
	for _, name := range [...]string{"nodeSelector", "tolerations", "schedulingGates"} {
		delete(spec, name)
	}
	if affinity := ObjectAt(spec, "affinity"); affinity != nil {
		if delete(affinity, "nodeAffinity"); len(affinity) == 0 {
			delete(spec, "affinity")
		}
	}
	for _, name := range [...]string{"containers", "initContainers"} {
		for e := range ObjectsAt(spec, name) {
			delete(e, "resources")
		}
	}
	return c
}

// jobSpec is part of a cron job too.
type jobSpec struct {
	Completions, Parallelism *int
	Template                 podTemplate
	Selector                 *columns.LabelSelector
}

var jobPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Status", "how far the job has come, in a word"),
		columns.Text("Completions", "pods that succeeded, of those that must"),
		columns.Text("Duration", "how long the job has taken"),
		columns.AgeColumn(), containersColumn(), imagesColumn(), selectorColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec jobSpec
		var status struct {
			Succeeded                 int
			StartTime, CompletionTime string
			Conditions                columns.Conditions
		}
		r.Read("spec", &spec)
		r.Read("status", &status)
		completions := columns.Fraction(status.Succeeded, columns.Or(spec.Completions, 1))
		if p := columns.Or(spec.Parallelism, 0); spec.Completions == nil && p > 1 {
			completions += fmt.Sprintf(" of %d", p)
		}
		duration := ""
		if start, err := time.Parse(time.RFC3339, status.StartTime); err == nil {
			end, err := time.Parse(time.RFC3339, status.CompletionTime)
			if err != nil {
				end = time.Now()
			}
			duration = columns.Human(end.Sub(start))
		}
		names, images := spec.Template.containers()
		r.Add(r.Meta.Name, jobWord(status.Conditions, r.Meta.DeletionTimestamp != ""), completions, duration, r.Age(),
			names, images, spec.Selector.Text())
	},
}

// jobWord says how far a job has come.
func jobWord(cs columns.Conditions, deleted bool) string {
	for _, done := range []string{"Complete", "Failed"} {
		if cs.Holds(done) {
			return done
		}
	}
	if deleted {
		return "Terminating"
	}
	for _, word := range []string{"Suspended", "FailureTarget", "SuccessCriteriaMet"} {
		if cs.Holds(word) {
			return word
		}
	}
	return "Running"
}

var cronJobPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Schedule", "when jobs are made, as in a crontab"),
		columns.Text("Timezone", "time zone of the schedule"),
		columns.Definition{Name: "Suspend", Type: "boolean", Description: "whether no more jobs are made"},
		columns.Integer("Active", "jobs that are running"),
		columns.Text("Last Schedule", "time since the last job was made"),
		columns.AgeColumn(), containersColumn(), imagesColumn(), selectorColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			Schedule    string
			TimeZone    *string
			Suspend     *bool
			JobTemplate struct{ Spec jobSpec }
		}
		var status struct {
			Active           []struct{}
			LastScheduleTime *string
		}
		r.Read("spec", &spec)
		r.Read("status", &status)
		suspend, last := columns.Unset, columns.None
		if spec.Suspend != nil {
			suspend = map[bool]string{true: "True", false: "False"}[*spec.Suspend]
		}
		if status.LastScheduleTime != nil {
			last = columns.Since(*status.LastScheduleTime)
		}
		job := &spec.JobTemplate.Spec
		names, images := job.Template.containers()
		r.Add(r.Meta.Name, spec.Schedule, columns.Or(spec.TimeZone, columns.None), suspend, len(status.Active), last, r.Age(),
			names, images, job.Selector.Text())
	},
}
