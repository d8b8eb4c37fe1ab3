package until_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/until"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// endless are what filters are made of that take all the time or memory that they get: jq
// has a limit of time only, which [TestConditionsThatDoNotEnd] waits for.
var endless = regexp.MustCompile(`def|repeat|range|while|until|recurse|\.\.|limit|\*|reduce|foreach|combinations|[0-9]{5}|e[0-9]`)

// TestConditionsThatDoNotEnd are errors, also where they are asked before any object is seen.
func TestConditionsThatDoNotEnd(t *testing.T) {
	t.Parallel()
	_, err := (&until.Flags{Until: []string{"count | def f: f; f"}}).Compile()
	if want := `--until "count | def f: f; f": jq: no result within 5s`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// FuzzCondition: a condition that is accepted is judged, alone and beside another one,
// whatever the object is.
func FuzzCondition(f *testing.F) {
	object := `{"metadata":{"name":"a","namespace":"b","generation":2},"spec":{"paused":true,"replicas":3},"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}}`
	for _, text := range []string{
		"condition=Ready=False", "jsonpath={.status.phase}=Failed", "jsonpath={..type}", "create", "delete", "count>=1", "count <= 18446744073709551616",
		`.status.phase == "Failed"`, `count(.status.phase == "Failed") >= 3 or all(.spec.paused)`, "-(count) + 2 * any(.a) < 1", "count(.a) | . > 1", ".spec.paused = true",
		"all(.a; .b)", "any(count) as $x | $x", "all(all(.a))", ".spec.replicas as [$a] | $a", "$__loc__", "input", "env", "@base64d",
	} {
		f.Add(text, object)
	}
	f.Fuzz(func(t *testing.T, text, object string) {
		o, err := codec.ParseRaw([]byte(object))
		if err != nil || !json.Valid([]byte(object)) || endless.MatchString(text) {
			return
		}
		for _, flags := range []until.Flags{{Until: []string{text}}, {UntilAny: []string{text, "delete"}}, {FailOn: []string{text}}} {
			v, err := flags.Compile()
			if err != nil {
				continue
			}
			if err := v.Expect(nil, 1); err != nil {
				continue
			}
			id := codec.Identity{Namespace: o.GetNamespace(), Name: o.GetName()}
			for _, r := range []record.Record{
				{Type: string(watch.Added), Resource: kube.Pods, ID: id, Object: o}, {Type: string(watch.Synced)},
				{Type: string(watch.Modified), Resource: kube.Pods, ID: id, Object: o}, {Type: string(watch.Deleted), Resource: kube.Pods, ID: id, Object: o},
			} {
				if v.See(&r) != nil {
					break
				}
			}
		}
	})
}
