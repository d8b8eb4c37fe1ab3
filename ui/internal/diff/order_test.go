package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatPeopleLookForIsFirst, and what each write changes is last.
func TestWhatPeopleLookForIsFirst(t *testing.T) {
	for _, test := range []struct {
		name, a, b string
		want       []string
	}{
		{"a rollout", `{
			"metadata":{"generation":1,"annotations":{"deployment.kubernetes.io/revision":"1","kubectl.kubernetes.io/last-applied-configuration":"{}"}},
			"spec":{"minReadySeconds":0,"replicas":3,"template":{"spec":{"containers":[{"name":"app","image":"web:1"}]}}},
			"status":{"availableReplicas":3,"conditions":[{"type":"Progressing","lastUpdateTime":"1","message":"a","reason":"NewReplicaSetAvailable","status":"True"}],"observedGeneration":1,"updatedReplicas":3}}`, `{
			"metadata":{"generation":2,"annotations":{"deployment.kubernetes.io/revision":"2","kubectl.kubernetes.io/last-applied-configuration":"{ }"}},
			"spec":{"minReadySeconds":5,"replicas":4,"template":{"spec":{"containers":[{"name":"app","image":"web:2"}]}}},
			"status":{"availableReplicas":2,"conditions":[{"type":"Progressing","lastUpdateTime":"2","message":"b","reason":"ProgressDeadlineExceeded","status":"False"}],"observedGeneration":2,"updatedReplicas":1}}`,
			[]string{
				"spec.replicas", "spec.template.spec.containers[name=app].image", "spec.minReadySeconds",
				"status.conditions[type=Progressing].status", "status.conditions[type=Progressing].reason", "status.conditions[type=Progressing].message",
				`metadata.annotations["deployment.kubernetes.io/revision"]`, "status.availableReplicas", "status.updatedReplicas",
				`metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, "metadata.generation", "status.conditions[type=Progressing].lastUpdateTime", "status.observedGeneration",
			}},
		{"a pod", `{"metadata":{"name":"x"},"status":{"containerStatuses":[{"name":"app","containerID":"1","lastState":{},"ready":true,"restartCount":0,"state":{"running":{"startedAt":"1"}}}],"phase":"Running","podIP":"1","startTime":"1"}}`,
			`{"metadata":{"name":"x","deletionTimestamp":"1"},"status":{"containerStatuses":[{"name":"app","containerID":"2","lastState":{"terminated":{}},"ready":false,"restartCount":1,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}],"phase":"Failed","podIP":"2","startTime":"2"}}`,
			[]string{
				"metadata.deletionTimestamp",
				"status.containerStatuses[name=app].ready", "status.containerStatuses[name=app].restartCount", "status.containerStatuses[name=app].state.running", "status.containerStatuses[name=app].state.waiting", "status.phase",
				"status.containerStatuses[name=app].lastState.terminated", "status.podIP",
				"status.containerStatuses[name=app].containerID", "status.startTime",
			}},
		{"orders", `{"spec":{"volumes":[{"name":"a"},{"name":"b"}]},"status":{"conditions":[{"type":"A"},{"type":"B"}],"phase":"x"}}`,
			`{"spec":{"volumes":[{"name":"b"},{"name":"a"}]},"status":{"conditions":[{"type":"B"},{"type":"A"}],"phase":"y"}}`,
			[]string{"spec.volumes[order]", "status.phase", "status.conditions[order]"}},
		{"an Event", `{"count":1,"lastTimestamp":"1","message":"a"}`, `{"count":2,"lastTimestamp":"2","message":"b"}`, []string{"message", "count", "lastTimestamp"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			changes, _ := Objects(parse(t, test.a), parse(t, test.b), 100)
			var got []string
			for _, c := range changes {
				got = append(got, c.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
