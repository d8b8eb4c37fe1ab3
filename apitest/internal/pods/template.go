package pods

import (
	"maps"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// WithClaims returns the template of a StatefulSet with the volumes of its claims, which
// replace those of the same names.
func WithClaims(template, spec map[string]any) map[string]any {
	if rules.Lacks(spec, "volumeClaimTemplates") {
		return template
	}
	var volumes []any
	claims := map[string]bool{}
	for c := range rules.ObjectsAt(spec, "volumeClaimTemplates") {
		name := rules.TextAt(rules.ObjectAt(c, "metadata"), "name")
		claims[name] = true
		volumes = append(volumes, map[string]any{"name": name, "persistentVolumeClaim": map[string]any{"claimName": name}})
	}
	for v := range rules.ObjectsAt(rules.ObjectAt(template, "spec"), "volumes") {
		if !claims[rules.TextAt(v, "name")] {
			volumes = append(volumes, v)
		}
	}
	t := maps.Clone(template)
	pod := maps.Clone(rules.ObjectAt(template, "spec"))
	if pod == nil {
		pod = map[string]any{}
	}
	pod["volumes"] = volumes
	if t == nil {
		t = map[string]any{}
	}
	t["spec"] = pod
	return t
}

// RefuseTemplate validates a template whose pods run for ever.
func RefuseTemplate(r *rules.Refusals, path string, t map[string]any) {
	r.Labels(path+".labels", rules.ObjectAt(rules.ObjectAt(t, "metadata"), "labels"))
	for key := range rules.KeysOf(rules.ObjectAt(rules.ObjectAt(t, "metadata"), "annotations")) {
		r.Each(path+".annotations", key, rules.QualifiedName(strings.ToLower(key)))
	}
	spec := rules.ObjectAt(t, "spec")
	Refuse(r, path+".spec", spec)
	if policy := rules.TextAt(spec, "restartPolicy"); policy != "" && policy != "Always" {
		r.Unsupported(path+".spec.restartPolicy", policy, "Always")
	}
}

// RefuseJobTemplate validates a template whose pods end.
func RefuseJobTemplate(r *rules.Refusals, path string, t map[string]any) {
	r.Labels(path+".labels", rules.ObjectAt(rules.ObjectAt(t, "metadata"), "labels"))
	spec := rules.ObjectAt(t, "spec")
	Refuse(r, path+".spec", spec)
	if policy := rules.TextAt(spec, "restartPolicy"); policy == "" || policy == "Always" {
		r.Required(path+".spec.restartPolicy", `valid values: "OnFailure", "Never"`)
	} else {
		r.Supported(path+".spec.restartPolicy", policy, "Never", "OnFailure")
	}
}
