package simulate

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/listwatch/listwatch/kube"
)

type job struct {
	object
	Spec struct {
		Parallelism *int            `json:"parallelism"`
		Completions *int            `json:"completions"`
		Suspend     bool            `json:"suspend"`
		TTL         *int            `json:"ttlSecondsAfterFinished"`
		Template    json.RawMessage `json:"template"`
	} `json:"spec"`
	Status jobStatus `json:"status"`
}

type jobStatus struct {
	StartTime      string      `json:"startTime,omitempty"`
	CompletionTime string      `json:"completionTime,omitempty"`
	Active         int         `json:"active,omitempty"`
	Ready          int         `json:"ready"`
	Terminating    int         `json:"terminating"`
	Succeeded      int         `json:"succeeded,omitempty"`
	Failed         int         `json:"failed,omitempty"`
	Conditions     []condition `json:"conditions,omitempty"`
}

func (j *job) base() *object {
	if j == nil {
		return nil
	}
	return &j.object
}

// syncJob runs pods until enough of them have succeeded.
func (c *Cluster) syncJob(ctx context.Context, j *job) {
	if find(j.Status.Conditions, "Complete").Status == "True" {
		c.expire(j)
		return
	}
	pods := c.podsOf(&j.object)
	st := jobStatus{StartTime: j.Status.StartTime, Conditions: j.Status.Conditions}
	var active []*pod
	for _, p := range pods {
		switch {
		case p.Status.Phase == "Succeeded":
			st.Succeeded++
		case p.Status.Phase == "Failed":
			st.Failed++
		case p.leaving():
			st.Terminating++
		default:
			active = append(active, p)
			if p.ready() {
				st.Ready++
			}
		}
	}
	parallel := orOne(j.Spec.Parallelism)
	need := parallel // a queue: complete when one has succeeded and the others have ended
	if j.Spec.Completions != nil {
		need = orOne(j.Spec.Completions)
		parallel = min(parallel, max(0, need-st.Succeeded))
	} else if st.Succeeded > 0 {
		need, parallel = st.Succeeded, len(active)
	}
	if j.Spec.Suspend {
		parallel = 0
	} else if st.StartTime == "" {
		st.StartTime = stamp(c.now)
	}
	if j.Spec.Suspend != (find(st.Conditions, "Suspended").Status == "True") {
		now := stamp(c.now)
		said := condition{Type: "Suspended", Status: "False", Reason: "JobResumed", Message: "Job resumed", LastProbeTime: now, LastTransitionTime: now}
		if j.Spec.Suspend {
			said.Status, said.Reason, said.Message = "True", "JobSuspended", "Job suspended"
		}
		st.Conditions = append(slices.DeleteFunc(slices.Clone(st.Conditions), func(old condition) bool { return old.Type == said.Type }), said)
	}
	for range min(parallel-len(active), burst) {
		name := j.Metadata.Name + "-" + c.suffix(5)
		labels := map[string]string{"batch.kubernetes.io/controller-uid": j.Metadata.UID, "batch.kubernetes.io/job-name": j.Metadata.Name,
			"controller-uid": j.Metadata.UID, "job-name": j.Metadata.Name}
		if c.newPod(kube.Jobs, &j.object, j.Spec.Template, name, labels, nil) {
			c.record(kube.Jobs, &j.object, "job-controller", "SuccessfulCreate", "Created pod: %s", name)
		}
	}
	for _, p := range active[min(len(active), parallel):] {
		c.stop(p)
	}
	if parallel-len(active) > burst {
		c.later(c.now, task{kube.Jobs.Plural, j.key()})
	}
	st.Active = len(active)
	if !j.Spec.Suspend && st.Succeeded >= need && len(active) == 0 {
		now := stamp(c.now)
		st.CompletionTime = now
		for _, typ := range []string{"SuccessCriteriaMet", "Complete"} {
			st.Conditions = append(st.Conditions, condition{Type: typ, Status: "True", Reason: "CompletionsReached",
				Message: "Reached expected number of succeeded pods", LastProbeTime: now, LastTransitionTime: now})
		}
	}
	if c.patchStatus(ctx, kube.Jobs, &j.object, st) && st.CompletionTime != "" {
		c.record(kube.Jobs, &j.object, "job-controller", "Completed", "Job completed")
	}
}

// expire deletes a job after its ttlSecondsAfterFinished.
func (c *Cluster) expire(j *job) {
	if j.Spec.TTL == nil {
		return
	}
	ended, err := time.Parse(time.RFC3339, j.Status.CompletionTime)
	if err != nil {
		return
	}
	if at := ended.Add(time.Duration(max(0, *j.Spec.TTL)) * time.Second); at.After(c.now) {
		c.later(at, task{kube.Jobs.Plural, j.key()})
		return
	}
	c.remove(kube.Jobs, &j.object)
}
