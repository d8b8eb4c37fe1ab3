package webhook

import (
	"encoding/json"

	"github.com/listwatch/listwatch/kube"
)

// selects reports whether the selectors of h select a, by the object or by the old one. A
// namespace counts as the one that it is in: as it is to be, if that is what is written.
func (h *Webhook) selects(a *Write, namespace func(name string) []byte) bool {
	s := selectorOf(h.ObjectSelector)
	if (a.Object == nil || !s.Matches(labelsOf(a.Object))) && (a.Old == nil || !s.Matches(labelsOf(a.Old))) {
		return false
	}
	ns := a.Key.Namespace
	if a.Resource == kube.Namespaces {
		is := a.Old
		if a.Object != nil && a.Subresource == "" {
			is = a.Object
		}
		return selectorOf(h.NamespaceSelector).Matches(labelsOf(is))
	}
	if ns == "" {
		return true
	}
	return selectorOf(h.NamespaceSelector).Matches(labelsOf(namespace(ns)))
}

func labelsOf(object []byte) map[string]string {
	var o struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	json.Unmarshal(object, &o)
	return o.Metadata.Labels
}

// selectorOf converts a LabelSelector; an invalid one selects everything.
func selectorOf(raw json.RawMessage) kube.Selector {
	var s struct {
		MatchLabels      map[string]string `json:"matchLabels"`
		MatchExpressions []struct {
			Key      string   `json:"key"`
			Operator string   `json:"operator"`
			Values   []string `json:"values"`
		} `json:"matchExpressions"`
	}
	json.Unmarshal(raw, &s)
	var terms []string
	for k, v := range s.MatchLabels {
		terms = append(terms, k+"="+v)
	}
	for _, e := range s.MatchExpressions {
		values := " (" + joined(e.Values) + ")"
		switch e.Operator {
		case "In":
			terms = append(terms, e.Key+" in"+values)
		case "NotIn":
			terms = append(terms, e.Key+" notin"+values)
		case "Exists":
			terms = append(terms, e.Key)
		case "DoesNotExist":
			terms = append(terms, "!"+e.Key)
		}
	}
	sel, err := kube.ParseSelector(joined(terms))
	if err != nil {
		return kube.Selector{}
	}
	return sel
}
