package rollout

import (
	"encoding/json"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

// FuzzJudge: whatever an object contains is judged: by an error or a text, and the same
// each time.
func FuzzJudge(f *testing.F) {
	f.Add(`{"metadata":{"name":"a","generation":2},"spec":{"replicas":3,"strategy":{"type":"RollingUpdate"},"selector":{"matchLabels":{"a":"b"}}},"status":{"observedGeneration":2,"updatedReplicas":3,"replicas":4,"availableReplicas":3,"conditions":[{"type":"Progressing","reason":"ProgressDeadlineExceeded"}]}}`)
	f.Add(`{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":{"partition":-1}},"completions":1e400},"status":{"conditions":[null,1,{"type":"Failed","status":"True"}],"phase":7}}`)
	types := []kube.Resource{kube.Deployments, kube.StatefulSets, kube.DaemonSets, kube.Jobs}
	f.Fuzz(func(t *testing.T, text string) {
		var o map[string]any
		if json.Unmarshal([]byte(text), &o) != nil {
			return
		}
		for _, r := range types {
			s, err := Judge(r, o)
			if err == nil && s.Text == "" || err != nil && s.Done {
				t.Fatalf("%s: %+v, %v", r.Plural, s, err)
			}
			if again, _ := Judge(r, o); again != s {
				t.Fatalf("%s: %+v, then %+v", r.Plural, s, again)
			}
		}
		_ = Unready(o)
		_ = Refused(o)
		_, _ = PodSelector(o)
	})
}
