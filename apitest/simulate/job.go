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
		Parallelism       *int            `json:"parallelism"`
		Completions       *int            `json:"completions"`
		BackoffLimit      *int            `json:"backoffLimit"`
		Deadline          *int            `json:"activeDeadlineSeconds"`
		Suspend           bool            `json:"suspend"`
		TTL               *int            `json:"ttlSecondsAfterFinished"`
		ManagedBy         string          `json:"managedBy"`
		ReplacementPolicy string          `json:"podReplacementPolicy"`
		Template          json.RawMessage `json:"template"`
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

// sawJob forgets the run of a Job that is gone.
func (c *Cluster) sawJob(old, j *job) {
	if j == nil {
		delete(c.runs, old.Metadata.UID)
	}
	c.saw(kube.Jobs, old.base(), j.base())
}

// syncJob runs pods until enough of them have succeeded, or too many have failed.
func (c *Cluster) syncJob(ctx context.Context, j *job) {
	for _, typ := range []string{"Complete", "Failed"} {
		if end := find(j.Status.Conditions, typ); end.Status == "True" {
			c.expire(j, end)
			return
		}
	}
	if m := j.Spec.ManagedBy; m != "" && m != "kubernetes.io/job-controller" {
		return
	}
	r := c.runs[j.Metadata.UID]
	if r == nil {
		r = &run{}
		c.runs[j.Metadata.UID] = r
	}
	st, active := r.count(j, c.podsOf(&j.object), c.now)
	if st.StartTime == "" && !j.Spec.Suspend {
		st.StartTime = stamp(c.now)
	}
	target := c.target(j, st)
	if target.Type != "" {
		for _, p := range active {
			c.stop(p)
		}
	} else {
		c.manage(j, r, st, active)
		if len(active) == 0 && st.Succeeded >= orOne(j.Spec.Completions) {
			target = condition{Type: "SuccessCriteriaMet", Reason: "CompletionsReached", Message: "Reached expected number of succeeded pods"}
		} else {
			c.suspend(j, &st)
		}
	}
	st.Active = len(active)
	var end condition
	if target.Type != "" && st.Active == 0 && st.Terminating == 0 {
		end = condition{Type: "Failed", Reason: target.Reason, Message: target.Message}
		if target.Type == "SuccessCriteriaMet" {
			end.Type = "Complete"
			st.CompletionTime = stamp(c.now)
		}
	}
	for _, said := range []condition{target, end} {
		if said.Type != "" && find(st.Conditions, said.Type).Type == "" {
			said.Status, said.LastProbeTime, said.LastTransitionTime = "True", stamp(c.now), stamp(c.now)
			st.Conditions = append(st.Conditions, said)
		}
	}
	if !c.patchStatus(ctx, kube.Jobs, &j.object, st) {
		return
	}
	switch end.Type {
	case "Complete":
		c.record(kube.Jobs, &j.object, "job-controller", "Completed", "Job completed")
	case "Failed":
		c.event(kube.Jobs, &j.object, "Warning", "job-controller", end.Reason, end.Message)
	}
}

// target returns the condition that says how j is going to end; zero if it goes on.
func (c *Cluster) target(j *job, st jobStatus) condition {
	for _, typ := range []string{"SuccessCriteriaMet", "FailureTarget"} {
		if said := find(st.Conditions, typ); said.Status == "True" {
			return said
		}
	}
	limit := 6
	if j.Spec.BackoffLimit != nil {
		limit = *j.Spec.BackoffLimit
	}
	if st.Failed > limit {
		return condition{Type: "FailureTarget", Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit"}
	}
	started, err := time.Parse(time.RFC3339, st.StartTime)
	if j.Spec.Deadline == nil || j.Spec.Suspend || err != nil {
		return condition{}
	}
	if at := started.Add(time.Duration(*j.Spec.Deadline) * time.Second); at.After(c.now) {
		c.later(at, task{kube.Jobs.Plural, j.key()})
		return condition{}
	}
	return condition{Type: "FailureTarget", Reason: "DeadlineExceeded", Message: "Job was active longer than specified deadline"}
}

// manage creates the pods that are missing, and stops those that are too many.
func (c *Cluster) manage(j *job, r *run, st jobStatus, active []*pod) {
	want := orOne(j.Spec.Parallelism)
	switch {
	case j.Spec.Suspend:
		want = 0
	case j.Spec.Completions != nil:
		want = min(want, max(0, orOne(j.Spec.Completions)-st.Succeeded))
	case st.Succeeded > 0: // a queue: complete when one has succeeded and the others have ended
		want = len(active)
	}
	for _, p := range active[min(len(active), want):] {
		r.counted[p.Metadata.UID] = true // it has not failed
		c.stop(p)
	}
	missing := want - len(active)
	if j.Spec.ReplacementPolicy == "Failed" {
		missing -= st.Terminating
	}
	if missing <= 0 {
		return
	}
	me := task{kube.Jobs.Plural, j.key()}
	if at := r.retryAt(); at.After(c.now) {
		c.later(at, me)
		return
	}
	for range min(missing, burst) {
		labels := map[string]string{"batch.kubernetes.io/controller-uid": j.Metadata.UID, "batch.kubernetes.io/job-name": j.Metadata.Name,
			"controller-uid": j.Metadata.UID, "job-name": j.Metadata.Name}
		if name := c.newPod(kube.Jobs, &j.object, j.Spec.Template, j.Metadata.Name+"-", labels, nil); name != "" {
			c.record(kube.Jobs, &j.object, "job-controller", "SuccessfulCreate", "Created pod: %s", name)
		}
	}
	if missing > burst {
		c.later(c.now, me)
	}
}

// suspend says whether j is suspended, if that has changed. Its time begins again after that.
func (c *Cluster) suspend(j *job, st *jobStatus) {
	if j.Spec.Suspend == (find(st.Conditions, "Suspended").Status == "True") {
		return
	}
	now := stamp(c.now)
	said := condition{Type: "Suspended", Status: "False", Reason: "JobResumed", Message: "Job resumed", LastProbeTime: now, LastTransitionTime: now}
	st.StartTime = now
	if j.Spec.Suspend {
		said.Status, said.Reason, said.Message = "True", "JobSuspended", "Job suspended"
		st.StartTime = ""
	}
	st.Conditions = append(slices.DeleteFunc(st.Conditions, func(old condition) bool { return old.Type == said.Type }), said)
}

// expire deletes a Job after its ttlSecondsAfterFinished.
func (c *Cluster) expire(j *job, end condition) {
	if j.Spec.TTL == nil {
		return
	}
	ended, err := time.Parse(time.RFC3339, end.LastTransitionTime)
	if err != nil {
		return
	}
	if at := ended.Add(time.Duration(max(0, *j.Spec.TTL)) * time.Second); at.After(c.now) {
		c.later(at, task{kube.Jobs.Plural, j.key()})
		return
	}
	c.remove(kube.Jobs, &j.object)
}

// run is what the cluster remembers of the pods of a Job, in place of the finalizers by which
// a real controller counts each of them once.
type run struct {
	counted           map[string]bool // by the UID of a pod: it is counted, or does not count
	succeeded, failed int
	failures          int       // since the last success
	failedAt          time.Time // the last failure
}

// count counts the pods that have ended, also those that are gone, and returns the active ones.
func (r *run) count(j *job, pods []*pod, now time.Time) (jobStatus, []*pod) {
	st := jobStatus{StartTime: j.Status.StartTime, Conditions: slices.Clone(j.Status.Conditions)}
	before := r.counted
	r.counted = map[string]bool{}
	var active []*pod
	succeeded, failed := 0, 0
	for _, p := range pods {
		uid := p.Metadata.UID
		ended := p.over()
		switch {
		case ended:
		case p.leaving():
			st.Terminating++
			ended = j.Spec.ReplacementPolicy != "Failed"
		default:
			active = append(active, p)
			if p.ready() {
				st.Ready++
			}
		}
		switch {
		case !ended || before[uid]:
		case p.Status.Phase == "Succeeded":
			succeeded++
		default:
			failed++
		}
		r.counted[uid] = ended || before[uid]
		delete(before, uid)
	}
	for _, counted := range before { // of pods that are gone
		if !counted {
			failed++
		}
	}
	switch {
	case succeeded > 0:
		r.failures = 0
	case failed > 0:
		r.failures += failed
		r.failedAt = now
	}
	// The status may have pods that ended before the cluster saw the Job.
	r.succeeded = max(r.succeeded+succeeded, j.Status.Succeeded)
	r.failed = max(r.failed+failed, j.Status.Failed)
	st.Succeeded, st.Failed = r.succeeded, r.failed
	return st, active
}

// retryAt returns when the pods that are missing may be created.
func (r *run) retryAt() time.Time {
	if r.failures == 0 {
		return time.Time{}
	}
	return r.failedAt.Add(min(10*time.Minute, 10*time.Second<<min(r.failures-1, 10)))
}
