package crd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Schema is a structural schema: the JSONSchemaProps of a CustomResourceDefinition. A
// type whose JSON differs from its Go fields returns its own schema from a method
// Schema() crd.Schema. A struct must not embed such a type, because the method would
// become that of the struct. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema.
type Schema struct {
	Description string            `json:"description,omitempty"`
	Title       string            `json:"title,omitempty"`
	Type        string            `json:"type,omitempty"`
	Format      string            `json:"format,omitempty"`
	Nullable    bool              `json:"nullable,omitempty"`
	Default     json.RawMessage   `json:"default,omitempty"`
	Example     json.RawMessage   `json:"example,omitempty"`
	Enum        []json.RawMessage `json:"enum,omitempty"`

	Minimum          json.Number `json:"minimum,omitempty"`
	ExclusiveMinimum bool        `json:"exclusiveMinimum,omitempty"`
	Maximum          json.Number `json:"maximum,omitempty"`
	ExclusiveMaximum bool        `json:"exclusiveMaximum,omitempty"`
	MultipleOf       json.Number `json:"multipleOf,omitempty"`

	MinLength *int64 `json:"minLength,omitempty"`
	MaxLength *int64 `json:"maxLength,omitempty"`
	Pattern   string `json:"pattern,omitempty"`

	MinItems *int64  `json:"minItems,omitempty"`
	MaxItems *int64  `json:"maxItems,omitempty"`
	Items    *Schema `json:"items,omitempty"`

	MinProperties        *int64             `json:"minProperties,omitempty"`
	MaxProperties        *int64             `json:"maxProperties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"`

	AllOf []*Schema `json:"allOf,omitempty"`
	AnyOf []*Schema `json:"anyOf,omitempty"`
	OneOf []*Schema `json:"oneOf,omitempty"`
	Not   *Schema   `json:"not,omitempty"`

	PreserveUnknownFields bool     `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	EmbeddedResource      bool     `json:"x-kubernetes-embedded-resource,omitempty"`
	IntOrString           bool     `json:"x-kubernetes-int-or-string,omitempty"`
	ListType              string   `json:"x-kubernetes-list-type,omitempty"`
	ListMapKeys           []string `json:"x-kubernetes-list-map-keys,omitempty"`
	MapType               string   `json:"x-kubernetes-map-type,omitempty"`
	Validations           []Rule   `json:"x-kubernetes-validations,omitempty"`
}

// Rule is a CEL rule of a schema. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules.
type Rule struct {
	Rule              string `json:"rule"`
	Message           string `json:"message,omitempty"`
	MessageExpression string `json:"messageExpression,omitempty"`
	Reason            string `json:"reason,omitempty"`
	FieldPath         string `json:"fieldPath,omitempty"`
	OptionalOldSelf   bool   `json:"optionalOldSelf,omitempty"`
}

// UnmarshalJSON reads a schema, or true, which is the schema of any value.
func (s *Schema) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); string(b) == "true" {
		*s = Schema{PreserveUnknownFields: true}
		return nil
	}
	type plain Schema
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return fmt.Errorf("read a schema: %w", err)
	}
	*s = Schema(p)
	return nil
}

// FieldError is a member of a schema, or of the definition around it, that
// kube-apiserver would refuse.
type FieldError struct {
	Path    string // of the member in the object, such as "spec.replicas", or in the definition
	Message string
}

func (e *FieldError) Error() string { return e.Path + ": " + e.Message }

// scalar reports whether values of s are strings, numbers or booleans.
func (s *Schema) scalar() bool {
	return s.Type != "object" && s.Type != "array" && !s.PreserveUnknownFields
}

// join returns the path of a member.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// hasDefault reports whether s has a default. The server drops null, which is none.
func (s *Schema) hasDefault() bool { return s.Default != nil && string(s.Default) != "null" }

// bits returns the size of an integer.
func (s *Schema) bits() int {
	if s.Format == "int32" {
		return 32
	}
	return 64
}

// fits reports whether servers refuse by a limit only what it excludes. They take a definition with
// any. They read limits as float64: the largest int64 is none. For a limit that is not a value of
// the type integer they refuse every value; of another type they apply it to integers as an int64.
func (s *Schema) fits(name string, limit json.Number) bool {
	f, err := limit.Float64()
	switch {
	case err != nil: // or there is none
		return true
	case s.Type == "integer":
		_, err = strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, s.bits())
		return err == nil
	case name == "multipleOf", name == "minimum" && s.ExclusiveMinimum && f < 0, name == "maximum" && s.ExclusiveMaximum && f > 0:
		return f == math.Trunc(f) && f < 1<<63
	default:
		return f < 1<<63
	}
}

// misfit is what is wrong with a limit that does not fit.
func (s *Schema) misfit() string {
	if s.Type == "integer" {
		return fmt.Sprintf("is not a value of the type integer with %d bits: servers refuse every value", s.bits())
	}
	return "is not an int64, as which servers apply it to integers"
}
