package crd

import (
	"encoding"
	"encoding/json"
	"reflect"
)

const metaV1 = "k8s.io/apimachinery/pkg/apis/meta/v1"

// quantityPattern is that of Kubernetes' own Quantity.
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// Known returns the schema of a type whose JSON is known by its package and name, without
// importing it: those of Kubernetes' API machinery, and a few of the standard library.
func Known(pkg, name string) (*Schema, bool) {
	switch pkg + "." + name {
	case "time.Time", metaV1 + ".Time", metaV1 + ".MicroTime", "github.com/listwatch/listwatch/kube.MicroTime":
		return &Schema{Type: "string", Format: "date-time"}, true
	case metaV1 + ".Duration":
		return &Schema{Type: "string"}, true
	case "k8s.io/apimachinery/pkg/api/resource.Quantity", "github.com/listwatch/listwatch/kube.Quantity":
		return &Schema{IntOrString: true, AnyOf: []*Schema{{Type: "integer"}, {Type: "string"}}, Pattern: quantityPattern}, true
	case "k8s.io/apimachinery/pkg/util/intstr.IntOrString", "github.com/listwatch/listwatch/kube.IntOrString":
		return &Schema{IntOrString: true, AnyOf: []*Schema{{Type: "integer"}, {Type: "string"}}}, true
	case "k8s.io/apimachinery/pkg/runtime.RawExtension", metaV1 + "/unstructured.Unstructured":
		return &Schema{Type: "object", PreserveUnknownFields: true}, true
	case metaV1 + ".FieldsV1":
		return &Schema{Type: "object", PreserveUnknownFields: true}, true
	case "encoding/json.RawMessage", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":
		return &Schema{PreserveUnknownFields: true}, true
	case "encoding/json.Number":
		return &Schema{Type: "number"}, true
	case metaV1 + ".Condition", "github.com/listwatch/listwatch/kube.Condition":
		return conditionSchema(), true
	case metaV1 + ".ObjectMeta", "github.com/listwatch/listwatch/kube.Meta":
		text := func() *Schema { return &Schema{Type: "string"} }
		return &Schema{Type: "object", Properties: map[string]*Schema{
			"name": text(), "namespace": text(), "finalizers": {Type: "array", Items: text()},
			"labels":      {Type: "object", AdditionalProperties: text()},
			"annotations": {Type: "object", AdditionalProperties: text()},
		}}, true
	}
	return nil, false
}

// conditionSchema is that of metav1.Condition, as its markers have it.
func conditionSchema() *Schema {
	size := func(n int64) *int64 { return &n }
	return &Schema{
		Type: "object", Required: []string{"lastTransitionTime", "message", "reason", "status", "type"},
		Properties: map[string]*Schema{
			"lastTransitionTime": {Type: "string", Format: "date-time"},
			"message":            {Type: "string", MaxLength: size(32768)},
			"observedGeneration": {Type: "integer", Format: "int64", Minimum: "0"},
			"reason":             {Type: "string", MinLength: size(1), MaxLength: size(1024), Pattern: `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`},
			"status":             {Type: "string", Enum: []json.RawMessage{[]byte(`"True"`), []byte(`"False"`), []byte(`"Unknown"`)}},
			"type": {Type: "string", MaxLength: size(316),
				Pattern: `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`},
		},
	}
}

// schemer is a type that knows its own schema.
type schemer interface{ Schema() Schema }

// lender returns the type that a struct embeds and that has a method Schema, which is that
// of the struct as well, without its other members; nil if there is none.
func lender(t reflect.Type) reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && implements(inner, reflect.TypeFor[schemer]()) {
			return inner
		}
	}
	return nil
}

// quotable reports whether encoding/json heeds the option string for t.
func quotable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return (t.Kind() == reflect.Bool || t.Kind() == reflect.String || number(t.Kind()) != nil) && !implements(t, jsonMarshaler)
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func implements(t, i reflect.Type) bool { return t.Implements(i) || reflect.PointerTo(t).Implements(i) }

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// number returns the schema of a number of kind k.
func number(k reflect.Kind) *Schema {
	switch k {
	case reflect.Int8:
		return &Schema{Type: "integer", Minimum: "-128", Maximum: "127"}
	case reflect.Int16:
		return &Schema{Type: "integer", Minimum: "-32768", Maximum: "32767"}
	case reflect.Int32:
		return &Schema{Type: "integer", Format: "int32"}
	case reflect.Int64:
		return &Schema{Type: "integer", Format: "int64"}
	case reflect.Int:
		return &Schema{Type: "integer"}
	case reflect.Uint8:
		return &Schema{Type: "integer", Minimum: "0", Maximum: "255"}
	case reflect.Uint16:
		return &Schema{Type: "integer", Minimum: "0", Maximum: "65535"}
	case reflect.Uint32:
		return &Schema{Type: "integer", Format: "int64", Minimum: "0", Maximum: "4294967295"}
	case reflect.Uint, reflect.Uint64:
		return &Schema{Type: "integer", Format: "int64", Minimum: "0"}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: "number"}
	}
	return nil
}
