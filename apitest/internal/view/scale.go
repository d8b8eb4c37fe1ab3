package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// Scale is a Scale of autoscaling/v1.
type Scale struct {
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

// ScaleOf returns o as a Scale.
func ScaleOf(r *object.Info, o *object.Object) []byte {
	s := Scale{Kind: "Scale", APIVersion: "autoscaling/v1"}
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

// scaleInfo and scalePrinter are those of a Scale, which no table has.
var (
	scaleInfo    = object.Info{Resource: kube.Resource{Group: "autoscaling", Version: "v1", Plural: "scales", Kind: "Scale", Namespaced: true}, BuiltIn: true}
	scalePrinter = columns.Printer{
		Columns: []columns.Definition{columns.Text("Name", "name of the object, unique in its namespace"),
			columns.Integer("Desired", "replicas is the desired number of instances for the scaled object."),
			columns.Integer("Available", "replicas is the actual number of observed instances of the scaled object."), columns.AgeColumn()},
		Cells: func(r *columns.Row) {
			r.Add(r.Meta.Name, r.Object.Integer("spec.replicas"), r.Object.Integer("status.replicas"), r.Age())
		},
	}
)

// Scale returns the Scale of o as a response. That of a custom resource has no other form.
func (v *View) Scale(o *object.Object) []byte {
	b := ScaleOf(v.Info, o)
	scale, err := object.Parse(scaleInfo.Resource, b)
	if v.as == "" || !v.Info.BuiltIn || err != nil {
		return b
	}
	scale.Seal(&scaleInfo, o.Revision)
	own := *v
	own.Info, own.columns = &scaleInfo, false
	return own.Object(scale)
}

// Unscalable returns why the Scale of o, a custom resource, cannot be read.
func Unscalable(r *object.Info, o *object.Object) *kube.Status {
	if r.BuiltIn || o.Lookup(r.Scale.SpecReplicas) != nil {
		return nil
	}
	return wire.Internal(fmt.Sprintf("the spec replicas field %q does not exist", "."+r.Scale.SpecReplicas))
}

// ScaleCauses returns errors for replicas that are not natural numbers.
func ScaleCauses(r *object.Info, o *object.Object) []kube.StatusCause {
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
