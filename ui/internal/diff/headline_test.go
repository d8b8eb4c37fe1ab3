package diff

import "testing"

// TestHeadlinesOfARollout: a deployment's history can be read without its differences.
func TestHeadlinesOfARollout(t *testing.T) {
	c := func(path, old, now string) Change {
		side := func(s string) *string {
			if s == "" {
				return nil
			}
			return &s
		}
		return Change{Path: path, Old: side(old), New: side(now)}
	}
	for _, test := range []struct {
		want    string
		changes []Change
	}{
		{"Available 3 → 4", []Change{c("status.availableReplicas", "3", "4"), c("status.readyReplicas", "3", "4")}},
		{"Available 0 → 1", []Change{c("status.availableReplicas", "", "1")}},
		{"Terminating 1 → 0", []Change{c("status.terminatingReplicas", "1", "")}},
		{"Updated 1 → 2", []Change{c("status.replicas", "3", "4"), c("status.updatedReplicas", "1", "2")}},
		{"ProgressDeadlineExceeded", []Change{c("status.conditions[type=Progressing].reason", "ReplicaSetUpdated", "ProgressDeadlineExceeded"), c("status.conditions[type=Progressing].status", "True", "False")}},
		{"NewReplicaSetCreated", []Change{c("status.conditions[type=Progressing]", "", `{"type":"Progressing","reason":"NewReplicaSetCreated"}`)}},
		{"Not available", []Change{c("status.availableReplicas", "4", "2"), c("status.conditions[type=Available].status", "True", "False")}},
		{"MemoryPressure True", []Change{c("status.conditions[type=MemoryPressure].status", "False", "True")}},
		{"MemoryPressure False", []Change{c("status.conditions[type=MemoryPressure].status", "True", "False")}},
		{"Generation 2 observed", []Change{c("status.observedGeneration", "1", "2"), c("status.terminatingReplicas", "", "0")}},
		{"Data changed: timeout 3s → 1s", []Change{c("data.timeout", "3s", "1s")}},
		{"Data changed: host, timeout added", []Change{c("data", "", `{"timeout":"1s","host":"a"}`)}},
		{"Spec changed: template.spec.containers[name=app].env[name=MODE].value a → b", []Change{c("spec.template.spec.containers[name=app].env[name=MODE].value", "a", "b")}},
		{"Image changed web:1 → web:2", []Change{c("spec.template.spec.containers[name=app].image", "registry.example/shop/web:1", "registry.example/shop/web:2")}},
		{"Data changed: page", []Change{c("data.page", "a\nb", "a\nc")}},
		{"Revision 4", []Change{c(`metadata.annotations["deployment.kubernetes.io/revision"]`, "3", "4")}},
		{"Annotations changed: note a → b", []Change{c("metadata.annotations.note", "a", "b")}},
		{"Annotations changed: example/timeout 30s → 45s", []Change{c(`metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, "{}", "{ }"), c(`metadata.annotations["example/timeout"]`, "30s", "45s")}},
		{"Annotations changed: example/timeout added", []Change{c("metadata.annotations", "", `{"example/timeout":"45s"}`)}},
		{"Annotations changed", []Change{c(`metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, "{}", "{ }")}},
		{"ReplicaFailure True: FailedCreate", []Change{c("status.conditions[type=ReplicaFailure]", "", `{"type":"ReplicaFailure","status":"True","reason":"FailedCreate"}`), c("status.unavailableReplicas", "1", "2")}},
		{"ReplicaFailure removed", []Change{c("status.conditions[type=ReplicaFailure]", `{"type":"ReplicaFailure"}`, "")}},
		{"ReplicaFailure True: FailedCreate", []Change{c("status.conditions", "", `[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate"}]`), c("status.observedGeneration", "", "1")}},
		{"ReplicaFailure removed", []Change{c("status.conditions", `[{"type":"ReplicaFailure","status":"True"}]`, ""), c("status.replicas", "0", "1")}},
		{"Only times changed", []Change{c("status.conditions[type=Ready].lastTransitionTime", "1", "2"), c("status.startTime", "1", "2")}},
		{"Changed status", []Change{c("status.podIP", "1", "2"), c("status.startTime", "1", "2")}},
	} {
		if got, _ := headline(test.changes); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	// Keys with dots are whole.
	for _, test := range []struct {
		want    string
		changes []Change
	}{
		{"Data changed: mime.types a → b, nginx.conf c → d, site.conf added, app removed", []Change{c(`data["mime.types"]`, "a", "b"), c(`data["nginx.conf"]`, "c", "d"), c(`data["site.conf"]`, "", "e"), c("data.app", "f", "")}},
		{"Changed: rules[0].verbs[1] get → list, rules[1].verbs[0] get → watch", []Change{c("rules[0].verbs[1]", "get", "list"), c("rules[1].verbs[0]", "get", "watch")}},
		{`Spec changed: paused true → false, annotations["example.com/a.b"] 1 → 2`, []Change{c("spec.paused", "true", "false"), c(`spec.template.metadata.annotations["example.com/a.b"]`, "1", "2")}},
	} {
		if got := Summary(test.changes); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	container := "spec.template.spec.containers[name=app]."
	for _, test := range []struct {
		want    string
		changes []Change
	}{
		{"Image changed web:2.0 → web:2.1, containers[name=app].resources.limits.cpu 100m → 500m, containers[name=app].resources.requests added (cpu 500m), paused removed", []Change{c(container+"image", "web:2.0", "web:2.1"),
			c(container+"resources.limits.cpu", "100m", "500m"), c(container+"resources.requests", "", `{"cpu":"500m"}`), c("spec.paused", "true", ""), c("metadata.generation", "1", "2")}},
		{"Spec changed: template.spec.containers[name=app].env[name=HOST].value a → b, env[name=LOG].value info → debug", []Change{c(container+"env[name=HOST].value", "a", "b"), c(container+"env[name=LOG].value", "info", "debug")}},
		{"Image changed tools:1.4 → tools:1.5 in 2 containers, initContainers[order] fetch, render → render, fetch, paused removed", []Change{
			c("spec.template.spec.initContainers[name=fetch].image", "example/tools:1.4", "example/tools:1.5"), c("spec.template.spec.initContainers[name=render].image", "example/tools:1.4", "example/tools:1.5"),
			c("spec.paused", "true", ""), c("spec.template.spec.initContainers[order]", "fetch, render", "render, fetch")}},
		{"Image changed web:2 → web:3, containers[name=b].image log:1 → log:2, a 1 → 2, and 2 more\x00b 1 → 2, c 1 → 2", []Change{
			c(container+"image", "example/web:2", "example/web:3"), c("spec.template.spec.containers[name=b].image", "example/log:1", "example/log:2"), c("spec.a", "1", "2"), c("spec.b", "1", "2"), c("spec.c", "1", "2")}},
		{"Scaled 2 → 3", []Change{c("spec.replicas", "2", "3"), c("status.replicas", "2", "3")}},
		{"Spec changed: selector.track removed, clusterIP a → b, ports[port=5432].targetPort 1 → 2", []Change{c("spec.clusterIP", "a", "b"), c("spec.clusterIPs[0]", "a", "b"),
			c("spec.ports[port=5432].targetPort", "1", "2"), c("spec.selector.track", "stable", "")}},
		{`Spec changed: rules[host=a].host a → b, annotations["example/timeout"] 30s → 45s`, []Change{c("spec.rules[host=a].host", "a", "b"), c(`metadata.annotations["example/timeout"]`, "30s", "45s"), c(`metadata.annotations["deployment.kubernetes.io/revision"]`, "1", "2")}},
		{"Data changed: a 1 → 2, b removed", []Change{c("data.a", "1", "2"), c("data.b", "1", "")}},
		{"Written without a change", nil},
	} {
		if got := Summary(test.changes); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	for _, test := range []struct {
		want    string
		changes []Change
	}{
		{", ReplicaFailure True: FailedCreate", []Change{c("status.readyReplicas", "4", "3"), c("status.conditions[type=ReplicaFailure]", "", `{"type":"ReplicaFailure","status":"True","reason":"FailedCreate"}`)}},
		{", ReplicaFailure True: FailedCreate", []Change{c("status.conditions", "", `[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate"}]`)}},
		{", Available False: MinimumReplicasUnavailable, Degraded True", []Change{c("status.conditions[type=Available].status", "True", "False"), c("status.conditions[type=Degraded].status", "False", "True"),
			c("status.conditions[type=Available].reason", "MinimumReplicasAvailable", "MinimumReplicasUnavailable")}},
		{"", []Change{c("status.conditions[type=Progressing].reason", "ReplicaSetUpdated", "NewReplicaSetAvailable"), c("status.conditions[type=Progressing].message", "a", "b"), c("status.parts[type=a].status", "a", "b")}},
	} {
		if got := Conditions(test.changes); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
