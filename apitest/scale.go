package apitest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// scaleObject is a Scale of autoscaling/v1.
type scaleObject struct {
	Kind       string      `json:"kind"`
	APIVersion string      `json:"apiVersion"`
	Metadata   object.Meta `json:"metadata"`
	Spec       struct {
		Replicas int64 `json:"replicas,omitempty"`
	} `json:"spec"`
	Status struct {
		Replicas int64  `json:"replicas"`
		Selector string `json:"selector,omitempty"`
	} `json:"status"`
}

// scaleOf returns o as a Scale.
func scaleOf(r *object.Info, o *object.Object) []byte {
	s := scaleObject{Kind: "Scale", APIVersion: "autoscaling/v1"}
	s.Metadata = object.Meta{Name: o.Meta.Name, Namespace: o.Meta.Namespace, UID: o.Meta.UID,
		ResourceVersion: o.Meta.ResourceVersion, CreationTimestamp: o.Meta.CreationTimestamp}
	s.Spec.Replicas = o.Integer(r.Scale.SpecReplicas)
	s.Status.Replicas = o.Integer(r.Scale.StatusReplicas)
	switch v := o.Lookup(r.Scale.Selector).(type) {
	case string:
		s.Status.Selector = v
	case map[string]any:
		s.Status.Selector = selectorText(v)
	}
	return object.Marshal(s)
}

// unscalable says why the Scale of o, a custom resource, cannot be read.
func unscalable(r *object.Info, o *object.Object) *kube.Status {
	if r.BuiltIn || o.Lookup(r.Scale.SpecReplicas) != nil {
		return nil
	}
	return wire.Internal(fmt.Sprintf("the spec replicas field %q does not exist", "."+r.Scale.SpecReplicas))
}

// scaleCauses refuses numbers of replicas that are not natural.
func scaleCauses(r *object.Info, o *object.Object) []kube.StatusCause {
	if r.Scale == nil {
		return nil
	}
	var causes []kube.StatusCause
	for _, at := range [...]string{r.Scale.SpecReplicas, r.Scale.StatusReplicas} {
		v, typ := o.Lookup(at), "string"
		if n, ok := v.(json.Number); ok {
			i, err := n.Int64()
			if err == nil && i >= 0 {
				continue
			} else if err == nil {
				causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: "." + at, Message: fmt.Sprintf("Invalid value: %d: should be a non-negative integer", i)})
				continue
			}
			typ = "float64"
		} else if v == nil && o.HasNull(at) {
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
	return strings.Join(columns.Sorted(terms), ",")
}

// scaled returns old with the replicas of the Scale that a client sent.
func (c *change) scaled(old *object.Object, b []byte) (*object.Object, *kube.Status) {
	info := c.target.info
	var s scaleObject
	if err := json.Unmarshal(b, &s); err != nil && c.options.verb == "patch" {
		return nil, wire.Invalid("", "", "", kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %q: %v", b, err), Field: "patch"})
	} else if err != nil {
		return nil, wire.BadRequest("Scale in version \"v1\" cannot be handled as a Scale: %v", err)
	}
	if s.Metadata.Name == "" && c.options.verb == "update" {
		return nil, wire.BadRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", old.Key.Name)
	}
	if s.Spec.Replicas < 0 && info.BuiltIn { // that of others is refused as it is stored
		return nil, wire.Invalid("autoscaling", "Scale", old.Key.Name, kube.StatusCause{Reason: "FieldValueInvalid",
			Message: fmt.Sprintf("Invalid value: %d: must be greater than or equal to 0", s.Spec.Replicas), Field: "spec.replicas"})
	}
	o := &object.Object{Key: old.Key, Meta: old.Meta, Fields: old.Fields}
	o.Meta.ResourceVersion = s.Metadata.ResourceVersion
	first, rest, _ := strings.Cut(info.Scale.SpecReplicas, ".")
	raw, _ := old.Field(first)
	o.SetField(first, object.SetAt(raw, rest, s.Spec.Replicas), true)
	return o, nil
}
