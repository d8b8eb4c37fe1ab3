package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/listwatch/listwatch/kube"
)

// tracking is the finalizer of the pods of a Job that are not counted yet. It makes each pod count
// once, whatever is restarted meanwhile:
//
//  1. The UID of a pod that has ended, or is leaving, is stored in the status of its Job.
//  2. The finalizer is removed from that pod, which may go then.
//  3. The UID leaves the status, whose count grows by one.
const tracking = "batch.kubernetes.io/job-tracking"

// tracked reports whether p has the finalizer.
func (p *pod) tracked() bool { return slices.Contains(p.Metadata.Finalizers, tracking) }

// otherFinalizers returns the finalizers of p without that of its Job; nil if there are none.
func (p *pod) otherFinalizers() []string {
	var rest []string
	for _, f := range p.Metadata.Finalizers {
		if f != tracking {
			rest = append(rest, f)
		}
	}
	return rest
}

// setFinalizers changes the finalizers of an object.
func setFinalizers(whole fields, list []string) {
	meta := fieldsOf(whole["metadata"])
	meta.set("finalizers", list)
	if len(list) == 0 {
		delete(meta, "finalizers")
	}
	whole.set("metadata", meta)
}

// track gives p the finalizer: it is of an earlier version of this package, or made by hand. It
// reports false if somebody else has changed p meanwhile, as untrack and discount do.
func (c *Cluster) track(p *pod) bool {
	whole := fieldsOf(p.body)
	setFinalizers(whole, append(p.otherFinalizers(), tracking))
	return c.put(kube.Pods, &p.object, whole)
}

// untrack removes the finalizer of p, whose UID is in the status of j. With it goes a pod that has
// waited for nothing else.
func (c *Cluster) untrack(j *job, p *pod) bool {
	if !same(c.srv.Get(kube.Jobs, j.key()), j.body) {
		return false // the status may be another one
	}
	rest := p.otherFinalizers()
	if p.leaving() && p.over() && len(rest) == 0 {
		return c.remove(kube.Pods, &p.object)
	}
	whole := fieldsOf(p.body)
	setFinalizers(whole, rest)
	return c.put(kube.Pods, &p.object, whole)
}

// discount stops a pod that its Job does not need any more: it does not count.
func (c *Cluster) discount(p *pod) bool {
	return c.stopAs(p, func(whole fields) { setFinalizers(whole, p.otherFinalizers()) })
}

// unclaimed reports whether no Job will count p: its Job is gone, is being deleted or has ended.
func (c *Cluster) unclaimed(p *pod) bool {
	o := p.Metadata.controller()
	if o.UID == "" {
		return true
	}
	if o.Kind != kube.Jobs.Kind || o.APIVersion != kube.Jobs.APIVersion() {
		return false
	}
	j, ok := c.jobs.get(p.jobKey())
	return !ok || j.Metadata.UID != o.UID || !j.foreign() && (j.Metadata.DeletionTimestamp != "" || j.finished().Type != "")
}

// jobKey returns the key of the Job that controls p.
func (p *pod) jobKey() kube.Key {
	return kube.Key{Namespace: p.Metadata.Namespace, Name: p.Metadata.controller().Name}
}

// release removes the finalizer of a pod that is unclaimed. It does so as a client, because the
// server may wait for that with the deletion of an owner or of a namespace. It reports false if
// it has to be tried again.
func (c *Cluster) release(ctx context.Context, p *pod) bool {
	if now := c.srv.Get(kube.Jobs, p.jobKey()); now != nil {
		if j, ok := c.jobs.get(p.jobKey()); !ok || !same(now, j.body) {
			return false // it has come or changed since the last look
		}
	}
	limited, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	return c.send(limited, kube.Pods.ObjectPath(p.key()), encode(map[string]any{"metadata": map[string]any{
		"uid": p.Metadata.UID, "resourceVersion": p.revision(), "finalizers": p.otherFinalizers()}}))
}

// revision returns the revision of o as JSON.
func (o *object) revision() json.RawMessage {
	return fieldsOf(fieldsOf(o.body)["metadata"])["resourceVersion"]
}

// uncounted are the UIDs of pods that have ended, and have the finalizer, or had it at the last
// sync of the Job.
type uncounted struct {
	Succeeded []string `json:"succeeded"` // null, by which a merge patch removes it
	Failed    []string `json:"failed"`
}

// census has the pods of a Job.
type census struct {
	active            []*pod // neither over nor leaving
	stored            []*pod // in the old status, and with the finalizer
	succeeded, failed int    // of those with the finalizer that have ended, the others
}

// census returns the next status of j, with its pods counted.
func (j *job) census(pods []*pod) (st jobStatus, n census) {
	old := &j.Status
	st = jobStatus{StartTime: old.StartTime, Succeeded: old.Succeeded, Failed: old.Failed, Conditions: slices.Clone(old.Conditions)}
	as := map[string]string{} // how the pods in the old status count, by UID
	for _, uid := range old.Uncounted.Succeeded {
		as[uid] = "Succeeded"
	}
	for _, uid := range old.Uncounted.Failed {
		as[uid] = "Failed"
	}
	for _, p := range pods {
		ended := p.over()
		switch {
		case ended:
		case p.leaving():
			st.Terminating++
			ended = j.Spec.ReplacementPolicy != "Failed"
		default:
			n.active = append(n.active, p)
			if p.ready() {
				st.Ready++
			}
		}
		how, known := as[p.Metadata.UID]
		if !p.tracked() || !ended && !known {
			continue
		}
		delete(as, p.Metadata.UID)
		list, fresh := &st.Uncounted.Failed, &n.failed
		if how == "Succeeded" || !known && p.Status.Phase == "Succeeded" {
			list, fresh = &st.Uncounted.Succeeded, &n.succeeded
		}
		*list = append(*list, p.Metadata.UID)
		if known {
			n.stored = append(n.stored, p)
		} else {
			*fresh++
		}
	}
	for _, how := range as { // they have no finalizer any more, or are gone
		if how == "Succeeded" {
			st.Succeeded++
		} else {
			st.Failed++
		}
	}
	return st, n
}

// storeStatus sets the status of j, if it differs. It reports whether j has it now. It fails if
// somebody has changed j: a patch that comes late must not bring back a UID that is counted.
func (c *Cluster) storeStatus(ctx context.Context, j *job, st jobStatus) bool {
	next := encode(st)
	if bytes.Equal(next, encode(j.Status)) {
		return true
	}
	patch := fieldsOf(next)
	for k := range fieldsOf(fieldsOf(j.body)["status"]) {
		if _, kept := patch[k]; !kept {
			patch[k] = json.RawMessage("null")
		}
	}
	meta := map[string]any{"resourceVersion": j.revision()}
	return c.patch(ctx, kube.Jobs, &j.object, map[string]any{"metadata": meta, "status": patch}, "status")
}
