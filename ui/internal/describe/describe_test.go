package describe

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

// TestContainersSayWhy one does not run: the message of its state, and how the one before ended.
func TestContainersSayWhy(t *testing.T) {
	d, err := Of("pods", kube.Key{Namespace: "shop", Name: "web"}, `{"status":{"initContainerStatuses":[{"name":"setup","state":{"terminated":{"reason":"Completed","exitCode":0}}}],
		"containerStatuses":[{"name":"app","image":"web:1","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 40s"}},"lastState":{"terminated":{"reason":"OOMKilled","exitCode":137,"message":"no memory"}}}]}}`, func(yield func(string, string) bool) {
		_ = yield("Name", "web") && yield("Ready", "0/1") && yield("Age", "5m") && yield("Node", "a") && yield("Nominated Node", "<none>")
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Container{
		{Name: "setup", Init: true, State: "terminated: Completed"},
		{Name: "app", Restarts: 3, State: "waiting: CrashLoopBackOff", Message: "back-off 40s", Last: "terminated: OOMKilled, exit code 137", LastMessage: "no memory", Image: "web:1"},
	}
	if diff := cmp.Diff(want, d.Containers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Fact{{"Ready", "0/1"}, {"Node", "a"}}, d.Facts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithin(t *testing.T) {
	for _, test := range []struct{ at, arrived, want int64 }{
		{5000, 5120, 5120}, {5000, 5000, 5000}, {5000, 6000, 5000}, {5000, 4999, 5000}, {5000, 0, 5000}, {5001, 5120, 5001},
	} {
		if got := Within(test.at, test.arrived); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}
