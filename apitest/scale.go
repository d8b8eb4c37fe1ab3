package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

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

// scaleOf returns o as a Scale.
func scaleOf(r *resourceInfo, o *object) []byte {
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

// unscalable says why the Scale of o, a custom resource, cannot be read.
func unscalable(r *resourceInfo, o *object) *kube.Status {
	if r.builtIn || o.lookup(r.Scale.SpecReplicas) != nil {
		return nil
	}
	return StatusInternal(fmt.Sprintf("the spec replicas field %q does not exist", "."+r.Scale.SpecReplicas))
}

// scaleCauses refuses numbers of replicas that are not natural.
func scaleCauses(r *resourceInfo, o *object) []kube.StatusCause {
	if r.Scale == nil {
		return nil
	}
	var causes []kube.StatusCause
	for _, at := range [...]string{r.Scale.SpecReplicas, r.Scale.StatusReplicas} {
		v, typ := o.lookup(at), "string"
		if n, ok := v.(json.Number); ok {
			i, err := n.Int64()
			if err == nil && i >= 0 {
				continue
			} else if err == nil {
				causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "." + at, Message: fmt.Sprintf("Invalid value: %d: should be a non-negative integer", i)})
				continue
			}
			typ = "float64"
		} else if v == nil && o.hasNull(at) {
			typ = "<nil>"
		} else if _, ok := v.(string); !ok {
			continue
		}
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "." + at,
			Message: fmt.Sprintf("Invalid value: 0: .%s accessor error: %v is of the type %s, expected int64", at, v, typ)})
	}
	return causes
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
	if err := json.Unmarshal(b, &s); err != nil && c.options.verb == "patch" {
		return nil, statusInvalid("", "", "", kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %q: %v", b, err), Field: "patch"})
	} else if err != nil {
		return nil, statusBadRequest("Scale in version \"v1\" cannot be handled as a Scale: %v", err)
	}
	if s.Metadata.Name == "" && c.options.verb == "update" {
		return nil, statusBadRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", old.key.Name)
	}
	if s.Spec.Replicas < 0 && info.builtIn { // that of others is refused as it is stored
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
