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
	Uncounted      uncounted   `json:"uncountedTerminatedPods"`
	Conditions     []condition `json:"conditions,omitempty"`
}

// succeeded and failed return how many pods have ended, also those that are not counted yet.
func (s *jobStatus) succeeded() int { return s.Succeeded + len(s.Uncounted.Succeeded) }
func (s *jobStatus) failed() int    { return s.Failed + len(s.Uncounted.Failed) }

func (j *job) base() *object {
	if j == nil {
		return nil
	}
	return &j.object
}

// finished returns the condition by which j has ended; zero if it has not.
func (j *job) finished() condition {
	for _, typ := range []string{"Complete", "Failed"} {
		if end := find(j.Status.Conditions, typ); end.Status == "True" {
			return end
		}
	}
	return condition{}
}

// foreign reports whether j has another controller.
func (j *job) foreign() bool {
	return j.Spec.ManagedBy != "" && j.Spec.ManagedBy != "kubernetes.io/job-controller"
}

// sawJob forgets the run of a Job that is gone, and lets go of the pods that are unclaimed then.
func (c *Cluster) sawJob(old, j *job) {
	if j == nil {
		delete(c.runs, old.Metadata.UID)
	}
	c.saw(kube.Jobs, old.base(), j.base())
	if old == nil {
		return
	}
	for _, p := range c.podsOf(&old.object) {
		if p.tracked() && c.unclaimed(p) {
			c.plan(p)
		}
	}
}

// syncJob runs pods until enough of them have succeeded, or too many have failed.
func (c *Cluster) syncJob(ctx context.Context, j *job) {
	if end := j.finished(); end.Type != "" {
		c.expire(j, end)
		return
	}
	if j.foreign() {
		return
	}
	st, n := j.census(c.podsOf(&j.object))
	for _, p := range n.stored {
		c.retry(c.untrack(j, p), j)
	}
	r := c.runs[j.Metadata.UID].after(n, c.now)
	if st.StartTime == "" && !j.Spec.Suspend {
		st.StartTime = stamp(c.now)
	}
	target := c.target(j, &st)
	switch target.Type {
	case "FailureTarget":
		for _, p := range n.active {
			c.retry(c.stop(p), j)
		}
	case "SuccessCriteriaMet":
		for _, p := range n.active {
			c.retry(c.discount(p), j)
		}
	default:
		c.manage(j, r, &st, n.active)
		if len(n.active) == 0 && st.succeeded() >= orOne(j.Spec.Completions) {
			target = condition{Type: "SuccessCriteriaMet", Reason: "CompletionsReached", Message: "Reached expected number of succeeded pods"}
		} else {
			c.suspend(j, &st)
		}
	}
	st.Active = len(n.active)
	var end condition
	if target.Type != "" && st.Active == 0 && st.Terminating == 0 && len(n.stored)+n.succeeded+n.failed == 0 {
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
	if !c.storeStatus(ctx, j, st) {
		return
	}
	c.runs[j.Metadata.UID] = r
	switch end.Type {
	case "Complete":
		c.record(kube.Jobs, &j.object, "job-controller", "Completed", "Job completed")
	case "Failed":
		c.event(kube.Jobs, &j.object, "Warning", "job-controller", end.Reason, end.Message)
	}
}

// retry syncs j again soon if something is not done, because somebody has changed a pod.
func (c *Cluster) retry(done bool, j *job) {
	if !done {
		c.later(c.now.Add(lookEvery), task{kube.Jobs.Plural, j.key()})
	}
}

// target returns the condition that says how j is going to end; zero if it goes on.
func (c *Cluster) target(j *job, st *jobStatus) condition {
	for _, typ := range []string{"SuccessCriteriaMet", "FailureTarget"} {
		if said := find(st.Conditions, typ); said.Status == "True" {
			return said
		}
	}
	limit := 6
	if j.Spec.BackoffLimit != nil {
		limit = *j.Spec.BackoffLimit
	}
	if st.failed() > limit {
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
func (c *Cluster) manage(j *job, r run, st *jobStatus, active []*pod) {
	want := orOne(j.Spec.Parallelism)
	switch {
	case j.Spec.Suspend:
		want = 0
	case j.Spec.Completions != nil:
		want = min(want, max(0, orOne(j.Spec.Completions)-st.succeeded()))
	case st.succeeded() > 0: // a queue: complete when one has succeeded and the others have ended
		want = len(active)
	}
	slices.SortStableFunc(active, func(a, b *pod) int { return leastWanted(b, a, c.now, nil) })
	for i, p := range active {
		switch {
		case i >= want:
			c.retry(c.discount(p), j)
		case !p.tracked():
			c.retry(c.track(p), j)
		}
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

// run is what the cluster remembers of the failures of a Job.
type run struct {
	failures int       // since the last success
	failedAt time.Time // the last failure
}

// after returns r after the pods of n have ended.
func (r run) after(n census, now time.Time) run {
	switch {
	case n.succeeded > 0:
		r.failures = 0
	case n.failed > 0:
		r.failures += n.failed
		r.failedAt = now
	}
	return r
}

// retryAt returns when the pods that are missing may be created.
func (r run) retryAt() time.Time {
	if r.failures == 0 {
		return time.Time{}
	}
	return r.failedAt.Add(min(10*time.Minute, 10*time.Second<<min(r.failures-1, 10)))
}
