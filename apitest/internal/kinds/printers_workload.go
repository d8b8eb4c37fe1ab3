package kinds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Columns that workloads have for -o wide.
func containersColumn() ColumnDefinition { return wideColumn("Containers", "names of the containers") }
func imagesColumn() ColumnDefinition     { return wideColumn("Images", "images of the containers") }
func selectorColumn() ColumnDefinition   { return wideColumn("Selector", "labels of what is selected") }

// podTemplate is the part of a workload that says what its pods are.
type podTemplate struct {
	Metadata struct {
		Labels map[string]string
	}
	Spec struct {
		Containers   []container
		NodeSelector map[string]string
	}
}

// containers returns the names and the images of the containers.
func (t *podTemplate) containers() (names, images string) {
	var n, i []string
	for _, c := range t.Spec.Containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

var podTemplatePrinter = Printer{
	Columns: columns(
		column("Containers", "names of the containers"),
		column("Images", "images of the containers"),
		column("Pod Labels", "labels of the pods"),
	),
	Cells: func(r *Row) {
		var t podTemplate
		r.read("template", &t)
		names, images := t.containers()
		r.add(r.Meta.Name, names, images, labelList(t.Metadata.Labels))
	},
}

var deploymentPrinter = Printer{
	Columns: columns(
		column("Ready", "pods that are ready, of those wanted"),
		column("Up-to-date", "pods of the newest template"),
		column("Available", "pods that have been ready for long enough"),
		ageColumn(), containersColumn(), imagesColumn(), selectorColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			Replicas *int
			Template podTemplate
			Selector *LabelSelector
		}
		var status struct{ ReadyReplicas, UpdatedReplicas, AvailableReplicas int }
		r.read("spec", &spec)
		r.read("status", &status)
		names, images := spec.Template.containers()
		selector, ok := spec.Selector.Format()
		if !ok {
			selector = "<invalid>"
		}
		r.add(r.Meta.Name, fraction(status.ReadyReplicas, Or(spec.Replicas, 0)), status.UpdatedReplicas, status.AvailableReplicas,
			r.age(), names, images, selector)
	},
}

var replicaSetPrinter = Printer{Columns: replicaColumns(), Cells: replicaCells((*LabelSelector).text)}

// controllerPrinter is that of replication controllers, whose selector is just
// labels.
var controllerPrinter = Printer{Columns: replicaColumns(), Cells: replicaCells(func(labels *map[string]string) string {
	return labelList(Or(labels, nil))
})}

func replicaColumns() []ColumnDefinition {
	return columns(
		integerColumn("Desired", "pods wanted"),
		integerColumn("Current", "pods that are there"),
		integerColumn("Ready", "pods that are ready"),
		ageColumn(), containersColumn(), imagesColumn(), selectorColumn(),
	)
}

func replicaCells[S any](text func(selector *S) string) func(r *Row) {
	return func(r *Row) {
		var spec struct {
			Replicas int
			Template podTemplate
			Selector *S
		}
		var status struct{ Replicas, ReadyReplicas int }
		r.read("spec", &spec)
		r.read("status", &status)
		names, images := spec.Template.containers()
		r.add(r.Meta.Name, spec.Replicas, status.Replicas, status.ReadyReplicas, r.age(), names, images, text(spec.Selector))
	}
}

var statefulSetPrinter = Printer{
	Columns: columns(column("Ready", "pods that are ready, of those wanted"), ageColumn(), containersColumn(), imagesColumn()),
	Cells: func(r *Row) {
		var spec struct {
			Replicas int
			Template podTemplate
		}
		var status struct{ ReadyReplicas int }
		r.read("spec", &spec)
		r.read("status", &status)
		names, images := spec.Template.containers()
		r.add(r.Meta.Name, fraction(status.ReadyReplicas, spec.Replicas), r.age(), names, images)
	},
}

var daemonSetPrinter = Printer{
	Columns: columns(
		integerColumn("Desired", "nodes that should run the pod"),
		integerColumn("Current", "nodes that run it and should"),
		integerColumn("Ready", "nodes on which it is ready"),
		integerColumn("Up-to-date", "nodes that run the newest template"),
		integerColumn("Available", "nodes on which it has been ready for long enough"),
		column("Node Selector", "labels of the nodes"),
		ageColumn(), containersColumn(), imagesColumn(), selectorColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			Template podTemplate
			Selector *LabelSelector
		}
		var status struct{ DesiredNumberScheduled, CurrentNumberScheduled, NumberReady, UpdatedNumberScheduled, NumberAvailable int }
		r.read("spec", &spec)
		r.read("status", &status)
		names, images := spec.Template.containers()
		r.add(r.Meta.Name, status.DesiredNumberScheduled, status.CurrentNumberScheduled, status.NumberReady,
			status.UpdatedNumberScheduled, status.NumberAvailable, labelList(spec.Template.Spec.NodeSelector), r.age(),
			names, images, spec.Selector.text())
	},
}

// jobSpec is part of a cron job too.
type jobSpec struct {
	Completions, Parallelism *int
	Template                 podTemplate
	Selector                 *LabelSelector
}

var jobPrinter = Printer{
	Columns: columns(
		column("Status", "how far the job has come, in a word"),
		column("Completions", "pods that succeeded, of those that must"),
		column("Duration", "how long the job has taken"),
		ageColumn(), containersColumn(), imagesColumn(), selectorColumn(),
	),
	Cells: func(r *Row) {
		var spec jobSpec
		var status struct {
			Succeeded                 int
			StartTime, CompletionTime string
			Conditions                Conditions
		}
		r.read("spec", &spec)
		r.read("status", &status)
		completions := fraction(status.Succeeded, Or(spec.Completions, 1))
		if p := Or(spec.Parallelism, 0); spec.Completions == nil && p > 1 {
			completions += fmt.Sprintf(" of %d", p)
		}
		duration := ""
		if start, err := time.Parse(time.RFC3339, status.StartTime); err == nil {
			end, err := time.Parse(time.RFC3339, status.CompletionTime)
			if err != nil {
				end = time.Now()
			}
			duration = human(end.Sub(start))
		}
		names, images := spec.Template.containers()
		r.add(r.Meta.Name, jobWord(status.Conditions, r.Meta.DeletionTimestamp != ""), completions, duration, r.age(),
			names, images, spec.Selector.text())
	},
}

// jobWord says how far a job has come.
func jobWord(cs Conditions, deleted bool) string {
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

var cronJobPrinter = Printer{
	Columns: columns(
		column("Schedule", "when jobs are made, as in a crontab"),
		column("Timezone", "time zone of the schedule"),
		ColumnDefinition{Name: "Suspend", Type: "boolean", Description: "whether no more jobs are made"},
		integerColumn("Active", "jobs that are running"),
		column("Last Schedule", "time since the last job was made"),
		ageColumn(), containersColumn(), imagesColumn(), selectorColumn(),
	),
	Cells: func(r *Row) {
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
		r.read("spec", &spec)
		r.read("status", &status)
		suspend, last := unset, none
		if spec.Suspend != nil {
			suspend = map[bool]string{true: "True", false: "False"}[*spec.Suspend]
		}
		if status.LastScheduleTime != nil {
			last = since(*status.LastScheduleTime)
		}
		job := &spec.JobTemplate.Spec
		names, images := job.Template.containers()
		r.add(r.Meta.Name, spec.Schedule, Or(spec.TimeZone, none), suspend, len(status.Active), last, r.age(),
			names, images, job.Selector.text())
	},
}

var revisionPrinter = Printer{
	Columns: columns(column("Controller", "the object that the revision is of"), column("Revision", "number of the revision"), ageColumn()),
	Cells: func(r *Row) {
		var owners []struct {
			APIVersion, Kind, Name string
			Controller             bool
		}
		_ = json.Unmarshal(r.Meta.OwnerReferences, &owners) // none where there are none
		var revision int64
		r.read("revision", &revision)
		controller := none
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
		r.add(r.Meta.Name, controller, revision, r.age())
	},
}

var budgetPrinter = Printer{
	Columns: columns(
		column("Min Available", "pods that must stay"),
		column("Max Unavailable", "pods that may go"),
		integerColumn("Allowed Disruptions", "pods that may go now"),
		ageColumn(),
	),
	Cells: func(r *Row) {
		var spec struct{ MinAvailable, MaxUnavailable loose }
		var status struct{ DisruptionsAllowed int }
		r.read("spec", &spec)
		r.read("status", &status)
		r.add(r.Meta.Name, cmp.Or(string(spec.MinAvailable), "N/A"), cmp.Or(string(spec.MaxUnavailable), "N/A"),
			status.DisruptionsAllowed, r.age())
	},
}
