package kinds

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/pods"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// batchKinds are the kinds of batch.
func batchKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.CronJobs, ShortNames: []string{"cj"}, Categories: []string{"all"}, Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillCronJob(d, d.Object(o, "spec"))
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec := rules.ObjectAt(o, "spec")
				refuseCronJob(r, spec)
			},
			Status:   `{}`,
			Zero:     `"spec":{"schedule":"","jobTemplate":{"metadata":{},"spec":{"template":` + zeroTemplate + `}}},"status":{}`,
			Printer:  cronJobPrinter,
			Strategy: Strategy{hosts: podNames, name: cronJobName},
		},
		{
			Info: object.Info{Resource: kube.Jobs, Categories: []string{"all"}, Status: true, Fields: []string{"status.successful"}, Absent: map[string]string{"status.succeeded": "0"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				fillJob(d, o, d.Object(o, "spec"))
				fillStatus(d, o, "active", "succeeded", "failed", "completedIndexes")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec, was := rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec")
				r.Natural("spec", spec, "parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
				refuseJob(r, o, spec, was)
			},
			Status:   `{}`,
			Zero:     `"spec":{"template":` + zeroTemplate + `},"status":{}`,
			Printer:  jobPrinter,
			Strategy: Strategy{Orphans: true, hosts: podNames},
			Assign: func(d *rules.Defaults, o, old map[string]any, _ func(any) bool) {
				if old == nil {
					selectPods(d, o)
				}
			},
		},
	}
}

func fillJob(d *rules.Defaults, o, spec map[string]any) {
	if spec["completions"] == nil && spec["parallelism"] == nil {
		d.Put(spec, "completions", int64(1))
	}
	d.Set(spec, "parallelism", int64(1))
	if spec["backoffLimitPerIndex"] != nil {
		d.Set(spec, "backoffLimit", int64(1<<31-1))
	}
	d.Set(spec, "backoffLimit", int64(6))
	d.Set(spec, "completionMode", "NonIndexed")
	d.Set(spec, "suspend", false)
	if spec["podFailurePolicy"] != nil {
		d.Set(spec, "podReplacementPolicy", "Failed")
	}
	d.Set(spec, "podReplacementPolicy", "TerminatingOrFailed")
	d.Set(spec, "manualSelector", false)
	labelsFrom(d, o, rules.ObjectAt(spec, "template"))
	fillJobSpec(d, spec)
}

// fillJobSpec sets the defaults of a Job's spec, also in the template of a CronJob.
func fillJobSpec(d *rules.Defaults, spec map[string]any) {
	policy := rules.ObjectAt(spec, "podFailurePolicy")
	if policy != nil {
		d.NullEmpty(policy, "rules")
	}
	for r := range rules.ObjectsAt(policy, "rules") {
		for c := range rules.ObjectsAt(r, "onPodConditions") {
			d.Text(c, "status", "True")
		}
	}
	pods.FillTemplate(d, d.Object(spec, "template"))
}

func fillCronJob(d *rules.Defaults, spec map[string]any) {
	d.Text(spec, "concurrencyPolicy", "Allow")
	d.Set(spec, "suspend", false)
	d.Set(spec, "successfulJobsHistoryLimit", int64(3))
	d.Set(spec, "failedJobsHistoryLimit", int64(1))
	job := d.Object(spec, "jobTemplate")
	d.Drop(d.Object(job, "metadata"), "creationTimestamp")
	fillJobSpec(d, d.Object(job, "spec"))
}

// The labels of a Job's pods, with the old and the new names.
var (
	jobNames = [...]string{"job-name", "batch.kubernetes.io/job-name"}
	jobUIDs  = [...]string{"controller-uid", "batch.kubernetes.io/controller-uid"}
)

// selectPods sets the selector of a new Job, which already has its UID.
func selectPods(d *rules.Defaults, o map[string]any) {
	spec := d.Object(o, "spec")
	meta := d.Object(o, "metadata")
	if spec["manualSelector"] == true {
		return
	}
	template := d.Object(d.Object(spec, "template"), "metadata")
	labels := d.Object(template, "labels")
	inherited := rules.Lacks(meta, "labels") || rules.EqualText(rules.ObjectAt(meta, "labels"), labels)
	for _, name := range jobNames {
		d.Set(labels, name, rules.TextAt(meta, "name"))
	}
	for _, name := range jobUIDs {
		d.Set(labels, name, rules.TextAt(meta, "uid"))
	}
	if inherited && len(rules.LabelValue(rules.TextAt(meta, "name"))) == 0 && !rules.EqualText(rules.ObjectAt(meta, "labels"), labels) {
		d.Put(meta, "labels", maps.Clone(labels))
	}
	match := d.Object(d.Object(spec, "selector"), "matchLabels")
	d.Set(match, jobUIDs[1], rules.TextAt(meta, "uid"))
}

// ShowTemplateLabels gives o, a Job, the labels of its pod template if it has none, as
// kube-apiserver does when it reads a Job from etcd.
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

func refuseJob(r *rules.Refusals, o, spec, old map[string]any) {
	template := rules.ObjectAt(spec, "template")
	labels := rules.ObjectAt(rules.ObjectAt(template, "metadata"), "labels")
	if old != nil && rules.ObjectAt(spec, "selector") == nil {
		r.Required("spec.selector")
	}
	pods.RefuseJobTemplate(r, "spec.template", template)
	pods.RefuseJobModes(r, "spec", spec)
	if n := rules.IntAt(spec, "completions"); old == nil && spec["completionMode"] == "Indexed" && n > 0 {
		name := rules.TextAt(rules.ObjectAt(o, "metadata"), "name")
		if host := fmt.Sprintf("%s-%d", name, n-1); len(rules.LabelName(host)) > 0 {
			r.Invalid("metadata.name", name, "will not able to create pod with invalid DNS label: "+host)
		}
	}
	if selector := rules.ObjectAt(spec, "selector"); old == nil {
		before := len(r.Causes)
		r.LabelSelector("spec.selector", selector)
		switch manual := spec["manualSelector"] == true; {
		case manual && selector == nil:
			r.Required("spec.selector")
			refuseMismatch(r, "spec.template", labels)
		case manual && len(r.Causes) == before && !rules.Selects(selector, labels):
			refuseMismatch(r, "spec.template", labels)
		case !manual && len(rules.ObjectAt(selector, "matchLabels")) != 1:
			r.Invalid("spec.selector", selector, "`selector` not auto-generated")
		}
	}
	if old != nil {
		if selector := rules.ObjectAt(spec, "selector"); selector == nil || !rules.Selects(selector, labels) {
			refuseMismatch(r, "spec.template", labels)
		}
		refuseJobUpdate(r, spec, old, rules.ObjectAt(o, "status"))
	}
}

func refuseCronJob(r *rules.Refusals, spec map[string]any) {
	job := rules.ObjectAt(rules.ObjectAt(spec, "jobTemplate"), "spec")
	pods.RefuseJobTemplate(r, "spec.jobTemplate.spec.template", rules.ObjectAt(job, "template"))
	pods.RefuseJobModes(r, "spec.jobTemplate.spec", job)
	schedule := rules.TextAt(spec, "schedule")
	fields := strings.Fields(schedule)
	switch {
	case schedule == "":
		r.Required("spec.schedule")
	case !strings.HasPrefix(schedule, "@") && len(fields) != 5:
		r.Invalid("spec.schedule", schedule, fmt.Sprintf("expected exactly 5 fields, found %d: %s", len(fields), fields))
	}
	r.OneOf("spec", spec, "concurrencyPolicy", "Allow", "Forbid", "Replace")
	r.Natural("spec.jobTemplate.spec", job, "parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
	if zone, ok := spec["timeZone"].(string); ok && !zoneExists(zone, time.LoadLocation) {
		r.Invalid("spec.timeZone", zone, "unknown time zone "+zone)
	}
	r.Natural("spec", spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit", "startingDeadlineSeconds")
}

// zoneExists accepts any zone on a machine without a database of them, such as an empty image.
func zoneExists(zone string, load func(string) (*time.Location, error)) bool {
	_, err := load(zone)
	_, none := load("Europe/London")
	return zone != "" && zone != "Local" && (err == nil || none != nil)
}

// refuseJobUpdate refuses changes of a Job's immutable members. The value in its message has
// the names of JSON, that of kube-apiserver those of Go. While a Job is suspended and none of
// its pods runs, the scheduling and the resources of the pods may change.
func refuseJobUpdate(r *rules.Refusals, spec, old, status map[string]any) {
	switch indexed := spec["completionMode"] == "Indexed"; {
	case !indexed:
		r.Fixed("spec", spec, old, "completions")
	case spec["completions"] != nil && spec["completions"] != old["completions"] && spec["completions"] != spec["parallelism"]:
		r.Invalid("spec.completions", spec["completions"], "can only be modified in tandem with spec.parallelism")
	}
	r.Fixed("spec", spec, old, "selector")
	template, was := rules.ObjectAt(spec, "template"), rules.ObjectAt(old, "template")
	switch waits := waiting(old, status); {
	case waits && !rules.SameValue(rules.ObjectAt(settledTemplate(template), "spec"), rules.ObjectAt(settledTemplate(was), "spec")):
		r.Invalid("spec.template.spec", template["spec"], rules.Immutable)
	case !waits && !rules.SameValue(template, was):
		r.Invalid("spec.template", template, rules.Immutable)
	}
	r.Fixed("spec", spec, old, "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
}

// waiting reports whether a Job is suspended and has no pods.
func waiting(spec, status map[string]any) bool {
	suspended := status["startTime"] == nil
	for c := range rules.ObjectsAt(status, "conditions") {
		suspended = suspended || c["type"] == "Suspended" && c["status"] == "True"
	}
	active, _ := status["active"].(int64)
	return spec["suspend"] == true && suspended && active == 0
}

// settledTemplate returns a copy without the members that may change while a Job waits.
func settledTemplate(template map[string]any) map[string]any {
	c := schema.Copy(template)
	spec := rules.ObjectAt(c, "spec")
	for _, name := range [...]string{"nodeSelector", "tolerations", "schedulingGates"} {
		delete(spec, name)
	}
	if affinity := rules.ObjectAt(spec, "affinity"); affinity != nil {
		if delete(affinity, "nodeAffinity"); len(affinity) == 0 {
			delete(spec, "affinity")
		}
	}
	for _, name := range [...]string{"containers", "initContainers"} {
		for e := range rules.ObjectsAt(spec, name) {
			delete(e, "resources")
		}
	}
	return c
}

// jobSpec is the spec of a Job, also within a CronJob.
type jobSpec struct {
	Completions, Parallelism *int
	Template                 pods.Template
	Selector                 *columns.LabelSelector
}

var jobPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Status", "how far the job has come, in a word"),
		columns.Text("Completions", "pods that succeeded, of those that must"),
		columns.Text("Duration", "how long the job has taken"),
		columns.AgeColumn(), pods.ContainersColumn(), pods.ImagesColumn(), pods.SelectorColumn(),
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
				end = r.Now
			}
			duration = columns.Human(end.Sub(start))
		}
		names, images := spec.Template.Containers()
		r.Add(r.Meta.Name, jobWord(status.Conditions, r.Meta.DeletionTimestamp != ""), completions, duration, r.Age(),
			names, images, spec.Selector.Text())
	},
}

// jobWord returns the value of the column STATUS of a Job.
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
		columns.AgeColumn(), pods.ContainersColumn(), pods.ImagesColumn(), pods.SelectorColumn(),
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
			last = r.Since(*status.LastScheduleTime)
		}
		job := &spec.JobTemplate.Spec
		names, images := job.Template.Containers()
		r.Add(r.Meta.Name, spec.Schedule, columns.Or(spec.TimeZone, columns.None), suspend, len(status.Active), last, r.Age(),
			names, images, job.Selector.Text())
	},
}

// cronJobName limits the name of a CronJob, because its Jobs' names append a time to it.
func cronJobName(s string) []string {
	wrong := rules.Subdomain(s)
	if len(s) > 52 {
		wrong = append(wrong, rules.TooLong(52, "characters"))
	}
	return wrong
}
