package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// A Scale says where a resource keeps what its scale subresource shows. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource.
type Scale struct {
	SpecReplicas   string // dotted path, such as "spec.replicas"
	StatusReplicas string
	Selector       string // path of a selector: a string, or an object with matchLabels
}

// scaleObject is a Scale of autoscaling/v1.
type scaleObject struct {
	Kind       string     `json:"kind"`
	APIVersion string     `json:"apiVersion"`
	Metadata   objectMeta `json:"metadata"`
	Spec       struct {
		Replicas int64 `json:"replicas,omitempty"`
	} `json:"spec"`
	Status struct {
		Replicas int64  `json:"replicas"`
		Selector string `json:"selector,omitempty"`
	} `json:"status"`
}

// scale returns o as a Scale.
func (r *ResourceInfo) scale(o *object) []byte {
	s := scaleObject{Kind: "Scale", APIVersion: "autoscaling/v1"}
	s.Metadata = objectMeta{Name: o.meta.Name, Namespace: o.meta.Namespace, UID: o.meta.UID,
		ResourceVersion: o.meta.ResourceVersion, CreationTimestamp: o.meta.CreationTimestamp}
	s.Spec.Replicas = o.integer(r.Scale.SpecReplicas)
	s.Status.Replicas = o.integer(r.Scale.StatusReplicas)
	switch v := o.lookup(r.Scale.Selector).(type) {
	case string:
		s.Status.Selector = v
	case map[string]any:
		s.Status.Selector = selectorText(v)
	}
	return marshal(s)
}

// integer returns the number at path, 0 where there is none.
func (o *object) integer(path string) int64 {
	n, _ := o.lookup(path).(json.Number)
	i, _ := n.Int64()
	return i
}

// selectorText prints a LabelSelector.
func selectorText(v map[string]any) string {
	labels, _ := v["matchLabels"].(map[string]any)
	var terms []string
	for k, v := range labels {
		terms = append(terms, fmt.Sprintf("%s=%v", k, v))
	}
	return strings.Join(sorted(terms), ",")
}

// scaled returns old with the replicas of the Scale that a client sent.
func (c *change) scaled(old *object, b []byte) (*object, *kube.Status) {
	info := c.target.info
	var s scaleObject
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, statusBadRequest("Scale in version \"v1\" cannot be handled as a Scale: %v", err)
	}
	if s.Spec.Replicas < 0 {
		return nil, statusInvalid("autoscaling", "Scale", old.key.Name, kube.StatusCause{Reason: "FieldValueInvalid",
			Message: fmt.Sprintf("Invalid value: %d: must be greater than or equal to 0", s.Spec.Replicas), Field: "spec.replicas"})
	}
	o := &object{key: old.key, meta: old.meta, fields: old.fields}
	o.meta.ResourceVersion = s.Metadata.ResourceVersion
	first, rest, _ := strings.Cut(info.Scale.SpecReplicas, ".")
	raw, _ := old.field(first)
	o.setField(first, setAt(raw, rest, s.Spec.Replicas), true)
	return o, nil
}

// setAt returns the JSON object raw with value at a dotted path.
func setAt(raw json.RawMessage, path string, value any) json.RawMessage {
	if path == "" {
		return marshal(value)
	}
	top := map[string]any{}
	if len(raw) > 0 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if dec.Decode(&top) != nil || top == nil {
			top = map[string]any{}
		}
	}
	parts := strings.Split(path, ".")
	at := top
	for _, p := range parts[:len(parts)-1] {
		next, ok := at[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[p] = next
		}
		at = next
	}
	at[parts[len(parts)-1]] = value
	return marshal(top)
}
