package rules

import (
	"fmt"
	"slices"
)

// Selector refuses what is wrong with a selector, and reports whether nothing is.
func (r *Refusals) Selector(path string, s map[string]any) bool {
	before := len(r.Causes)
	r.Labels(path+".matchLabels", ObjectAt(s, "matchLabels"))
	for i, e := range ListAt(s, "matchExpressions") {
		x, _ := e.(map[string]any)
		at := fmt.Sprintf("%s.matchExpressions[%d]", path, i)
		switch op := TextAt(x, "operator"); op {
		case "In", "NotIn":
			if Lacks(x, "values") {
				r.Required(at+".values", "must be specified when `operator` is 'In' or 'NotIn'")
			}
		case "Exists", "DoesNotExist":
			if !Lacks(x, "values") {
				r.Add("FieldValueForbidden", at+".values", "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
			}
		default:
			r.Invalid(at+".operator", op, "not a valid selector operator")
		}
		r.Each(at+".key", TextAt(x, "key"), QualifiedName(TextAt(x, "key")))
		for field, s := range Texts(at, x, "values") {
			r.Each(field, s, LabelValue(s))
		}
	}
	if len(r.Causes) == before {
		return true
	}
	r.Invalid(path, s, "invalid label selector")
	return false
}

// Selects reports whether a sound selector selects labels.
func Selects(s, labels map[string]any) bool {
	for k, v := range ObjectAt(s, "matchLabels") {
		if got, ok := labels[k]; !ok || fmt.Sprint(got) != fmt.Sprint(v) {
			return false
		}
	}
	for x := range ObjectsAt(s, "matchExpressions") {
		v, has := labels[TextAt(x, "key")]
		in := slices.ContainsFunc(ListAt(x, "values"), func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) })
		switch x["operator"] {
		case "In":
			if !has || !in {
				return false
			}
		case "NotIn":
			if has && in {
				return false
			}
		case "Exists", "DoesNotExist":
			if has != (x["operator"] == "Exists") {
				return false
			}
		}
	}
	return true
}
