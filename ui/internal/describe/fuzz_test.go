package describe

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

// FuzzOf: any object is described within the limits, or refused, and what the page gets
// is JSON.
func FuzzOf(f *testing.F) {
	for _, text := range []string{
		`{"metadata":{"name":"a","labels":{"a":"b"}},"status":{"conditions":[{"type":"Ready","status":"False","reason":"No","message":"x","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
		`{"spec":{"containers":[{"name":"c"}]},"status":{"containerStatuses":[{"name":"c","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`,
		`{"status":{"conditions":[{"type":1,"lastTransitionTime":"never"}],"containerStatuses":{}},"metadata":{"labels":{"a":7}}}`,
		`{"spec":{"a":"\u0000\u202e\ud800"}}`, `[]`, `{}`,
	} {
		f.Add("pods", text)
		f.Add("deployments.apps", text)
	}
	f.Fuzz(func(t *testing.T, typ, text string) {
		d, err := Of(typ, kube.Key{Namespace: "shop", Name: "a b"}, text, maps.All(map[string]string{"Status": text}))
		if err != nil {
			return
		}
		if len(d.YAML) > maxYAML+1<<10 {
			t.Fatalf("%d bytes of YAML", len(d.YAML))
		}
		if d.Conditions == nil {
			t.Fatal("no list of conditions, which the page expects")
		}
		if _, err := json.Marshal(d); err != nil {
			t.Fatal(err)
		}
	})
}
