package kube

import (
	"errors"
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/internal/clip"
)

// LabelSelector is a label selector as a member of objects, such as spec.selector of a
// Deployment. All its labels and requirements must hold. The zero value selects all. The
// kind of the object defines what a missing selector selects: use a *LabelSelector where
// a missing and an empty selector differ. See
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements.
type LabelSelector struct {
	MatchLabels      map[string]string  `json:"matchLabels,omitempty"`
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`
}

// LabelRequirement is one condition of a [LabelSelector].
type LabelRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // In, NotIn, Exists or DoesNotExist
	Values   []string `json:"values,omitempty"`
}

// Selector returns the Selector that matches the same labels. It fails for what the API
// server refuses: keys and values that no label can have, unknown operators, In and NotIn
// without values, Exists and DoesNotExist with values.
func (s LabelSelector) Selector() (Selector, error) {
	var sel Selector
	for k, v := range s.MatchLabels {
		if err := errors.Join(checkLabelKey(k), checkLabelValue(v)); err != nil {
			return Selector{}, fmt.Errorf("label selector: matchLabels: %w", err)
		}
		sel.reqs = append(sel.reqs, requirement{k, opEquals, []string{v}})
	}
	for i, e := range s.MatchExpressions {
		r, err := e.requirement()
		if err != nil {
			return Selector{}, fmt.Errorf("label selector: matchExpressions[%d]: %w", i, err)
		}
		sel.reqs = append(sel.reqs, r)
	}
	slices.SortFunc(sel.reqs, requirement.compare)
	return sel, nil
}

func (e LabelRequirement) requirement() (requirement, error) {
	ops := map[string]operator{"In": opIn, "NotIn": opNotIn, "Exists": opExists, "DoesNotExist": opAbsent}
	r := requirement{key: e.Key, op: ops[e.Operator]}
	if err := checkLabelKey(e.Key); err != nil {
		return r, err
	}
	switch r.op {
	case "":
		return r, fmt.Errorf("operator %q: want In, NotIn, Exists or DoesNotExist", clip.Text(e.Operator, 80))
	case opIn, opNotIn:
		if len(e.Values) == 0 {
			return r, fmt.Errorf("%s of %q has no values", e.Operator, e.Key)
		}
	default:
		if len(e.Values) > 0 {
			return r, fmt.Errorf("%s of %q has values", e.Operator, e.Key)
		}
		return r, nil
	}
	for _, v := range e.Values {
		if err := checkLabelValue(v); err != nil {
			return r, err
		}
	}
	r.values = slices.Sorted(slices.Values(e.Values)) // a copy
	r.values = slices.Compact(r.values)
	return r, nil
}
