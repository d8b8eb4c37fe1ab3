package rollout

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestJudgeIsKubectls(t *testing.T) {
	type verdict struct {
		Status
		Err string
	}
	types := map[string]kube.Resource{"deployment": kube.Deployments, "daemonset": {Group: "apps", Version: "v1", Plural: "daemonsets"},
		"statefulset": {Group: "apps", Version: "v1", Plural: "statefulsets"}, "job": {Group: "batch", Version: "v1", Plural: "jobs"}, "pod": kube.Pods}
	for _, test := range []struct {
		of, object string
		want       verdict
	}{
		{"deployment", `{"metadata":{"name":"w","generation":2},"status":{"observedGeneration":1}}`,
			verdict{Status: Status{Text: `Waiting for deployment spec update to be observed...`}}},
		{"deployment", `{"metadata":{"name":"w","generation":2},"spec":{"replicas":3},"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":1}}`,
			verdict{Status: Status{Text: `Waiting for deployment "w" rollout to finish: 1 out of 3 new replicas have been updated...`}}},
		{"deployment", `{"metadata":{"name":"w","generation":2},"spec":{"replicas":3},"status":{"observedGeneration":2,"replicas":4,"updatedReplicas":3}}`,
			verdict{Status: Status{Text: `Waiting for deployment "w" rollout to finish: 1 old replicas are pending termination...`}}},
		{"deployment", `{"metadata":{"name":"w","generation":2},"spec":{"replicas":3},"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":3,"availableReplicas":2}}`,
			verdict{Status: Status{Text: `Waiting for deployment "w" rollout to finish: 2 of 3 updated replicas are available...`}}},
		{"deployment", `{"metadata":{"name":"w","generation":2},"spec":{"replicas":3},"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":3,"availableReplicas":3}}`,
			verdict{Status: Status{Done: true, Text: `deployment "w" successfully rolled out`}}},
		{"deployment", `{"metadata":{"name":"w"},"status":{"conditions":[{"type":"Progressing","reason":"ProgressDeadlineExceeded"}]}}`,
			verdict{Err: `deployment "w" exceeded its progress deadline`}},
		{"daemonset", `{"metadata":{"name":"d"},"spec":{"updateStrategy":{"type":"OnDelete"}}}`,
			verdict{Err: "rollout status is only available for RollingUpdate strategy type"}},
		{"daemonset", `{"metadata":{"name":"d","generation":1},"spec":{"updateStrategy":{"type":"RollingUpdate"}}}`,
			verdict{Status: Status{Text: `Waiting for daemon set spec update to be observed...`}}},
		{"daemonset", `{"metadata":{"name":"d"},"spec":{"updateStrategy":{"type":"RollingUpdate"}},"status":{"desiredNumberScheduled":2,"updatedNumberScheduled":1}}`,
			verdict{Status: Status{Text: `Waiting for daemon set "d" rollout to finish: 1 out of 2 new pods have been updated...`}}},
		{"daemonset", `{"metadata":{"name":"d"},"spec":{"updateStrategy":{"type":"RollingUpdate"}},"status":{"desiredNumberScheduled":2,"updatedNumberScheduled":2,"numberAvailable":1}}`,
			verdict{Status: Status{Text: `Waiting for daemon set "d" rollout to finish: 1 of 2 updated pods are available...`}}},
		{"daemonset", `{"metadata":{"name":"d"},"spec":{"updateStrategy":{"type":"RollingUpdate"}},"status":{"desiredNumberScheduled":2,"updatedNumberScheduled":2,"numberAvailable":2}}`,
			verdict{Status: Status{Done: true, Text: `daemon set "d" successfully rolled out`}}},
		{"statefulset", `{"metadata":{"name":"s"},"spec":{"updateStrategy":{"type":"RollingUpdate"}}}`,
			verdict{Status: Status{Text: `Waiting for statefulset spec update to be observed...`}}},
		{"statefulset", `{"metadata":{"name":"s"},"spec":{"replicas":2,"updateStrategy":{"type":"RollingUpdate"}},"status":{"observedGeneration":1,"readyReplicas":1}}`,
			verdict{Status: Status{Text: `Waiting for 1 pods to be ready...`}}},
		{"statefulset", `{"metadata":{"name":"s"},"spec":{"replicas":3,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}}},"status":{"observedGeneration":1,"readyReplicas":3,"updatedReplicas":1}}`,
			verdict{Status: Status{Text: `Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...`}}},
		{"statefulset", `{"metadata":{"name":"s"},"spec":{"replicas":3,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}}},"status":{"observedGeneration":1,"readyReplicas":3,"updatedReplicas":2}}`,
			verdict{Status: Status{Done: true, Text: `partitioned roll out complete: 2 new pods have been updated...`}}},
		{"statefulset", `{"metadata":{"name":"s"},"spec":{"replicas":1,"updateStrategy":{"type":"RollingUpdate"}},"status":{"observedGeneration":1,"readyReplicas":1,"updateRevision":"b","currentRevision":"a"}}`,
			verdict{Status: Status{Text: `waiting for statefulset rolling update to complete 0 pods at revision b...`}}},
		{"statefulset", `{"metadata":{"name":"s"},"spec":{"replicas":1,"updateStrategy":{"type":"RollingUpdate"}},"status":{"observedGeneration":1,"readyReplicas":1,"currentReplicas":1,"updateRevision":"b","currentRevision":"b"}}`,
			verdict{Status: Status{Done: true, Text: `statefulset rolling update complete 1 pods at revision b...`}}},
		{"statefulset", `{"metadata":{"name":"s"},"spec":{"replicas":0,"updateStrategy":{"type":"RollingUpdate"}},"status":{"observedGeneration":1}}`,
			verdict{Status: Status{Done: true, Text: `statefulset rolling update complete 0 pods at revision ...`}}},
		{"job", `{"metadata":{"name":"j"},"spec":{"completions":3},"status":{"succeeded":1,"active":2,"failed":1}}`,
			verdict{Status: Status{Text: `Waiting for job "j" to complete: 1 of 3 succeeded, 2 active, 1 failed...`}}},
		{"job", `{"metadata":{"name":"j"},"status":{"conditions":[{"type":"Complete","status":"True"}]}}`,
			verdict{Status: Status{Done: true, Text: `job "j" complete`}}},
		{"job", `{"metadata":{"name":"j"},"status":{"conditions":[{"type":"Failed","status":"True","message":"too often"}]}}`,
			verdict{Err: `job "j" failed: too often`}},
		{"pod", `{}`, verdict{Err: "pods have no rollout: want deployments, statefulsets, daemonsets or jobs"}},
	} {
		var got verdict
		var err error
		if got.Status, err = Judge(types[test.of], decoded(t, test.object)); err != nil {
			got.Err = err.Error()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.of, test.object, diff)
		}
	}
}

func TestUnreadySaysWhy(t *testing.T) {
	for _, test := range []struct {
		pod  string
		want []string
	}{
		{`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, nil},
		{`{"status":{"phase":"Succeeded"}}`, nil},
		{`{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}`, []string{"is being deleted"}},
		{`{"status":{"phase":"Failed","reason":"Evicted","message":"no room"}}`, []string{"failed: Evicted: no room"}},
		{`{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available"}]}}`, []string{"is not scheduled: Unschedulable: 0/3 nodes are available"}},
		{`{"status":{"initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":0}}}],"containerStatuses":[{"name":"a","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off"}}},{"name":"b","ready":true,"state":{"running":{}}},{"name":"c","state":{"running":{}}}]}}`,
			[]string{"container a: is waiting: CrashLoopBackOff: back-off (restarted 3 times)", "container c: is running and not ready"}},
		{`{"status":{"initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":2,"reason":"Error"}}}],"containerStatuses":[{"name":"a","state":{"waiting":{"reason":"PodInitializing"}}}]}}`,
			[]string{"container i: ended with exit code 2: Error"}},
		{`{"status":{"containerStatuses":[{"name":"a","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}}`,
			[]string{"container a: is waiting: CrashLoopBackOff (restarted 3 times, last after exit code 137: OOMKilled)"}},
		{`{}`, []string{"is not ready"}},
	} {
		if diff := cmp.Diff(test.want, Unready(decoded(t, test.pod))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.pod, diff)
		}
	}
}
