package simulate

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/listwatch/listwatch/kube"
)

// containers returns the status of p's containers, all of them in state.
func (p *pod) containers(ready bool, state map[string]any) []containerStatus {
	var list []containerStatus
	for _, ct := range p.Spec.Containers {
		s := containerStatus{Name: ct.Name, Image: ct.Image, State: state, LastState: map[string]any{}, Ready: ready, Started: &ready}
		for _, old := range p.Status.ContainerStatuses {
			if old.Name == ct.Name {
				s.RestartCount, s.LastState = old.RestartCount, old.LastState
			}
		}
		if _, waiting := state["waiting"]; !waiting {
			s.ImageID = ct.Image + "@sha256:" + spell(uint64(len(ct.Image)), 8)
			s.ContainerID = "simulated://" + p.Metadata.UID + "/" + ct.Name
		}
		list = append(list, s)
	}
	return list
}

// terminated is the state of containers of p that have ended.
func (p *pod) terminated(code int, reason, now string) map[string]any {
	return map[string]any{"terminated": map[string]any{"exitCode": code, "reason": reason, "startedAt": p.Status.StartTime, "finishedAt": now}}
}

// conditions returns p's conditions, changed by set.
func (c *Cluster) conditions(p *pod, set ...condition) []condition {
	list := slices.Clone(p.Status.Conditions)
	for _, n := range set {
		n.LastTransitionTime = stamp(c.now)
		i := slices.IndexFunc(list, func(o condition) bool { return o.Type == n.Type })
		switch {
		case i < 0:
			list = append(list, n)
		case list[i].Status == n.Status:
			n.LastTransitionTime = list[i].LastTransitionTime
			fallthrough
		default:
			list[i] = n
		}
	}
	return list
}

// readiness returns the conditions that change with readiness.
func readiness(status, reason, message string) []condition {
	return []condition{{Type: "Ready", Status: status, Reason: reason, Message: message}, {Type: "ContainersReady", Status: status, Reason: reason, Message: message}}
}

// advance does the next step of a pod.
func (c *Cluster) advance(ctx context.Context, t timer) {
	p, ok := c.pods.get(t.key)
	due, planned := c.plans[t.uid]
	if !ok || p.Metadata.UID != t.uid || !planned || !due.at.Equal(t.at) {
		return // another event came first
	}
	if what, _, _ := c.next(p); what != due.what {
		delete(c.plans, t.uid)
		c.plan(p)
		return
	}
	if !c.do(ctx, p, due.what) { // somebody else has changed it: retry
		t.at = c.now.Add(lookEvery)
		c.plans[t.uid] = plan{due.what, t.at}
		c.wake(t)
		return
	}
	if due.what == toSchedule && c.waiting[p.key()] {
		delete(c.plans, t.uid)
	}
}

// do does a step of p. It reports false if somebody else has changed p meanwhile, or the server
// has failed.
func (c *Cluster) do(ctx context.Context, p *pod, what string) bool {
	switch what {
	case toRelease:
		return c.release(ctx, p)
	case toVanish:
		return c.remove(kube.Pods, &p.object)
	case toCollect:
		return c.collect(p)
	}
	return c.proceed(p, what)
}

// proceed moves p one step further. It reports false if somebody else has changed p
// meanwhile.
func (c *Cluster) proceed(p *pod, what string) bool {
	now := stamp(c.now)
	whole := fieldsOf(p.body)
	status := fieldsOf(whole["status"])
	running := map[string]any{"running": map[string]any{"startedAt": now}}
	var recordEvent func()
	switch what {
	case toSchedule:
		name := c.choose(p)
		if name == "" {
			c.waiting[p.key()] = true
			message := "0/" + itoa(len(c.nodes.rows)) + " nodes are available"
			if find(p.Status.Conditions, "PodScheduled").Status == "False" {
				return true
			}
			status.set("conditions", c.conditions(p, condition{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: message}))
			recordEvent = func() {
				c.event(kube.Pods, &p.object, "Warning", "default-scheduler", "FailedScheduling", message)
			}
			break
		}
		c.placed[name]++
		spec := fieldsOf(whole["spec"])
		spec.set("nodeName", name)
		whole.set("spec", spec)
		status.set("conditions", c.conditions(p, condition{Type: "PodScheduled", Status: "True"}))
		recordEvent = func() {
			c.record(kube.Pods, &p.object, "default-scheduler", "Scheduled", "Successfully assigned %s to %s", p.key(), name)
		}
	case toCreate:
		status.set("phase", "Pending")
		status.set("startTime", now)
		status.set("hostIP", hostIP(p.Spec.NodeName))
		status.set("containerStatuses", p.containers(false, map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}}))
		const reason, message = "ContainersNotReady", "containers are not ready"
		status.set("conditions", c.conditions(p, append([]condition{{Type: "PodScheduled", Status: "True"}, {Type: "Initialized", Status: "True"}}, readiness("False", reason, message)...)...))
		recordEvent = func() {
			for _, ct := range p.Spec.Containers {
				c.record(kube.Pods, &p.object, "kubelet", "Pulling", "Pulling image %q", ct.Image)
			}
		}
	case toStart:
		c.address++
		ip := podIP(c.address)
		status.set("phase", "Running")
		status.set("podIP", ip)
		status.set("podIPs", []map[string]string{{"ip": ip}})
		status.set("containerStatuses", p.containers(false, running))
		recordEvent = func() {
			for _, ct := range p.Spec.Containers {
				c.record(kube.Pods, &p.object, "kubelet", "Started", "Started container %s", ct.Name)
			}
		}
	case toReady:
		state := running
		if len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State["running"] != nil {
			state = p.Status.ContainerStatuses[0].State
		}
		status.set("containerStatuses", p.containers(true, state))
		status.set("conditions", c.conditions(p, readiness("True", "", "")...))
	case toEnd:
		status.set("phase", "Failed")
		if len(p.Status.ContainerStatuses) > 0 {
			status.set("containerStatuses", p.containers(false, p.terminated(137, "Error", now)))
		}
		status.set("conditions", c.conditions(p, readiness("False", "PodFailed", "")...))
	case toFinish:
		status.set("phase", "Succeeded")
		status.set("containerStatuses", p.containers(false, p.terminated(0, "Completed", now)))
		status.set("conditions", c.conditions(p, readiness("False", "PodCompleted", "")...))
	}
	whole.set("status", status)
	if !c.put(kube.Pods, &p.object, whole) {
		return false
	}
	if recordEvent != nil {
		recordEvent()
	}
	return true
}

// stop begins the deletion of p. It reports false if somebody else has changed p meanwhile.
func (c *Cluster) stop(p *pod) bool { return c.stopAs(p, func(fields) {}) }

// stopAs is stop with another change of p.
func (c *Cluster) stopAs(p *pod, change func(whole fields)) bool {
	if p.leaving() {
		return true
	}
	whole := fieldsOf(p.body)
	meta := fieldsOf(whole["metadata"])
	meta.set("deletionTimestamp", stamp(c.now))
	meta.set("deletionGracePeriodSeconds", json.Number("30"))
	whole.set("metadata", meta)
	change(whole)
	if !c.put(kube.Pods, &p.object, whole) {
		return false
	}
	c.record(kube.Pods, &p.object, "kubelet", "Killing", "Stopping container %s", p.first())
	return true
}

// first returns the name of the first container.
func (p *pod) first() string {
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Name
}

// rate returns a rate of restarts; 0 for what is none.
func rate(perSecond float64) float64 {
	if perSecond > 0 {
		return perSecond
	}
	return 0
}

// restart does the churn that is due.
func (c *Cluster) restart() {
	c.mu.Lock()
	rate := c.churn
	c.mu.Unlock()
	c.due += rate * c.now.Sub(c.churned).Seconds()
	c.churned = c.now
	if c.due < 1 {
		return
	}
	var running []*pod
	for p := range c.pods.all() {
		if p.ready() && !p.leaving() && len(p.Status.ContainerStatuses) > 0 {
			running = append(running, p)
		}
	}
	n := min(int(min(c.due, math.MaxInt32)), len(running))
	c.due = min(c.due-float64(n), 1)
	for ; n > 0; n-- { // each once: its next state is not seen before the next look
		i := c.random.IntN(len(running))
		c.again(running[i])
		running[i] = running[len(running)-1]
		running = running[:len(running)-1]
	}
}

// again restarts p's first container.
func (c *Cluster) again(p *pod) {
	list := slices.Clone(p.Status.ContainerStatuses)
	s := &list[0]
	s.RestartCount++
	s.LastState = map[string]any{"terminated": map[string]any{"exitCode": 1, "reason": "Error", "finishedAt": stamp(c.now)}}
	s.State = map[string]any{"running": map[string]any{"startedAt": stamp(c.now)}}
	whole := fieldsOf(p.body)
	status := fieldsOf(whole["status"])
	status.set("containerStatuses", list)
	whole.set("status", status)
	c.put(kube.Pods, &p.object, whole)
}
