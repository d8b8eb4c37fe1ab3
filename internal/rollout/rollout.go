// Package rollout judges whether a rollout is complete, as kubectl rollout status does, and
// says why a Pod is not ready. It knows objects as decoded JSON only.
package rollout

import (
	"encoding/json"
	"fmt"

	"github.com/listwatch/listwatch/kube"
)

// Status is what is known about the rollout of one object.
type Status struct {
	Done bool
	Text string // as kubectl rollout status prints it, without the line break
}

// Judged reports whether r is a type that Judge knows: Deployments, StatefulSets, DaemonSets
// and Jobs, in any version.
func Judged(r kube.Resource) bool { return judges[r.GroupResource()] != nil }

// Judge returns the status of an object of r. The error says that the rollout has failed, or
// cannot be judged.
func Judge(r kube.Resource, object map[string]any) (Status, error) {
	judge := judges[r.GroupResource()]
	if judge == nil {
		return Status{}, fmt.Errorf("%s have no rollout: want deployments, statefulsets, daemonsets or jobs", r.GroupResource())
	}
	spec, status := member(object, "spec"), member(object, "status")
	name, _ := member(object, "metadata")["name"].(string)
	return judge(&subject{name: name, generation: number(member(object, "metadata")["generation"]), spec: spec, status: status})
}

// subject is an object with a rollout.
type subject struct {
	name         string
	generation   int64
	spec, status map[string]any
}

var judges = map[string]func(*subject) (Status, error){
	"deployments.apps": deployment, "daemonsets.apps": daemonSet, "statefulsets.apps": statefulSet, "jobs.batch": job,
}

// of returns a number of the status.
func (s *subject) of(name string) int64 { return number(s.status[name]) }

// replicas returns how many are wanted, false where the object does not say.
func (s *subject) replicas() (int64, bool) {
	return number(s.spec["replicas"]), s.spec["replicas"] != nil
}

func waiting(format string, args ...any) (Status, error) {
	return Status{Text: fmt.Sprintf(format, args...)}, nil
}

func done(format string, args ...any) (Status, error) {
	return Status{Done: true, Text: fmt.Sprintf(format, args...)}, nil
}

// The judges follow k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go.

func deployment(s *subject) (Status, error) {
	if s.generation > s.of("observedGeneration") {
		return waiting("Waiting for deployment spec update to be observed...")
	}
	if c := condition(s.status, "Progressing"); c["reason"] == "ProgressDeadlineExceeded" {
		return Status{}, fmt.Errorf("deployment %q exceeded its progress deadline", s.name)
	}
	updated := s.of("updatedReplicas")
	want, given := s.replicas()
	switch {
	case given && updated < want:
		return waiting("Waiting for deployment %q rollout to finish: %d out of %d new replicas have been updated...", s.name, updated, want)
	case s.of("replicas") > updated:
		return waiting("Waiting for deployment %q rollout to finish: %d old replicas are pending termination...", s.name, s.of("replicas")-updated)
	case s.of("availableReplicas") < updated:
		return waiting("Waiting for deployment %q rollout to finish: %d of %d updated replicas are available...", s.name, s.of("availableReplicas"), updated)
	}
	return done("deployment %q successfully rolled out", s.name)
}

// rolling returns an error for objects that are replaced by hand only.
func (s *subject) rolling() error {
	if t := member(s.spec, "updateStrategy")["type"]; t != "RollingUpdate" {
		return fmt.Errorf("rollout status is only available for RollingUpdate strategy type")
	}
	return nil
}

func daemonSet(s *subject) (Status, error) {
	if err := s.rolling(); err != nil {
		return Status{}, err
	}
	desired := s.of("desiredNumberScheduled")
	switch {
	case s.generation > s.of("observedGeneration"):
		return waiting("Waiting for daemon set spec update to be observed...")
	case s.of("updatedNumberScheduled") < desired:
		return waiting("Waiting for daemon set %q rollout to finish: %d out of %d new pods have been updated...", s.name, s.of("updatedNumberScheduled"), desired)
	case s.of("numberAvailable") < desired:
		return waiting("Waiting for daemon set %q rollout to finish: %d of %d updated pods are available...", s.name, s.of("numberAvailable"), desired)
	}
	return done("daemon set %q successfully rolled out", s.name)
}

func statefulSet(s *subject) (Status, error) {
	if err := s.rolling(); err != nil {
		return Status{}, err
	}
	want, given := s.replicas()
	updated := s.of("updatedReplicas")
	rolling, parted := member(s.spec, "updateStrategy")["rollingUpdate"].(map[string]any)
	switch {
	case s.of("observedGeneration") == 0 || s.generation > s.of("observedGeneration"):
		return waiting("Waiting for statefulset spec update to be observed...")
	case given && s.of("readyReplicas") < want:
		return waiting("Waiting for %d pods to be ready...", want-s.of("readyReplicas"))
	case parted && given && rolling["partition"] != nil && updated < want-number(rolling["partition"]):
		return waiting("Waiting for partitioned roll out to finish: %d out of %d new pods have been updated...", updated, want-number(rolling["partition"]))
	case parted:
		return done("partitioned roll out complete: %d new pods have been updated...", updated)
	}
	current, _ := s.status["currentRevision"].(string)
	if update, _ := s.status["updateRevision"].(string); update != current {
		return waiting("waiting for statefulset rolling update to complete %d pods at revision %s...", updated, update)
	}
	return done("statefulset rolling update complete %d pods at revision %s...", s.of("currentReplicas"), current)
}

// job is ours: kubectl has no status for Jobs.
func job(s *subject) (Status, error) {
	if c := condition(s.status, "Failed"); c["status"] == "True" {
		return Status{}, fmt.Errorf("job %q failed: %v", s.name, c["message"])
	}
	if c := condition(s.status, "Complete"); c["status"] == "True" {
		return done("job %q complete", s.name)
	}
	want := int64(1)
	if n := s.spec["completions"]; n != nil {
		want = number(n)
	}
	return waiting("Waiting for job %q to complete: %d of %d succeeded, %d active, %d failed...", s.name, s.of("succeeded"), want, s.of("active"), s.of("failed"))
}

// PodSelector returns what selects the Pods of an object, empty if it selects none.
func PodSelector(object map[string]any) (kube.Selector, error) {
	b, err := json.Marshal(member(member(object, "spec"), "selector"))
	if err != nil {
		return kube.Selector{}, err
	}
	var selector kube.LabelSelector
	if err := json.Unmarshal(b, &selector); err != nil {
		return kube.Selector{}, fmt.Errorf("the selector of Pods: %w", err)
	}
	return selector.Selector()
}

// condition returns the condition of a type, nil if there is none.
func condition(status map[string]any, name string) map[string]any {
	list, _ := status["conditions"].([]any)
	for _, e := range list {
		if c, _ := e.(map[string]any); c["type"] == name {
			return c
		}
	}
	return nil
}

// member returns a member that is an object, nil where it is not.
func member(m map[string]any, name string) map[string]any {
	o, _ := m[name].(map[string]any)
	return o
}

// number returns v as a number, 0 where it is none.
func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case int:
		return int64(v)
	case float64:
		return int64(v)
	case json.Number:
		n, _ := v.Int64()
		return n
	}
	return 0
}
