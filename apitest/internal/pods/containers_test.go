package pods_test

import (
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/pods"
	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// TestRestartsOfContainers: the causes are those of kube-apiserver 1.37.
func TestRestartsOfContainers(t *testing.T) {
	const onlySidecars = "Forbidden: may not be set for init containers without restartPolicy=Always"
	for list, containers := range map[string]map[string]string{
		"initContainers": {
			`"restartPolicy":"Always"`:    "",
			`"restartPolicy":"Never"`:     "",
			`"restartPolicy":"OnFailure"`: "",
			`"restartPolicy":"Never","restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[42]}}]`: "",
			`"restartPolicy":"x"`: `x[0].restartPolicy: Unsupported value: "x": supported values: "Always", "Never", "OnFailure"`,
			`"restartPolicy":""`:  `x[0].restartPolicy: Unsupported value: "": supported values: "Always", "Never", "OnFailure"`,
			`"livenessProbe":{}`:  "x[0].livenessProbe: " + onlySidecars,
			`"restartPolicy":"Never","startupProbe":{"exec":{"command":["a"]}}`: "x[0].startupProbe: " + onlySidecars,
			`"lifecycle":{}`: "x[0].lifecycle: " + onlySidecars,
			`"restartPolicy":"Always","readinessProbe":{"successThreshold":1,"exec":{"command":["a"]}},"lifecycle":{}`: "",
		},
		"containers": {
			`"restartPolicy":"Never"`: "",
			`"restartPolicy":"x"`:     `x[0].restartPolicy: Unsupported value: "x": supported values: "Always", "Never", "OnFailure"`,
			`"restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[42]}}]`: "x[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
			`"livenessProbe":{"successThreshold":1,"exec":{"command":["a"]}},"lifecycle":{}`:          "",
		},
	} {
		for members, want := range containers {
			c := object.DecodeValue([]byte(`{"name":"a","image":"i",` + members + `}`))
			spec := map[string]any{"containers": []any{map[string]any{"name": "main", "image": "i"}}, list: []any{c}}
			r, got := &rules.Refusals{}, ""
			pods.Refuse(r, "spec", spec)
			for _, cause := range r.Causes {
				got += cause.Field + ": " + cause.Message
			}
			if want != "" {
				want = "spec." + list + want[1:]
			}
			if got != want {
				t.Errorf("%s %s: %s, want %s", list, members, got, want)
			}
		}
	}
}

// TestFieldsOfVariables: kube-apiserver takes the keys of annotations in any case, and the old
// name of a field.
func TestFieldsOfVariables(t *testing.T) {
	for field, valid := range map[string]bool{
		"metadata.annotations['Example.com/A']": true,
		"metadata.annotations['Example.com/ ']": false,
		"metadata.labels['example.com/A']":      true,
		"metadata.labels['Example.com/A']":      false,
		"spec.host":                             true,
		"spec.nodeName":                         true,
		"spec.hostname":                         false,
	} {
		spec := map[string]any{"containers": []any{map[string]any{"name": "a", "image": "i", "env": []any{map[string]any{
			"name": "A", "valueFrom": map[string]any{"fieldRef": map[string]any{"apiVersion": "v1", "fieldPath": field}}}}}}}
		var r rules.Refusals
		if pods.Refuse(&r, "spec", spec); (len(r.Causes) == 0) != valid {
			t.Errorf("%s: %v", field, r.Causes)
		}
	}
}
