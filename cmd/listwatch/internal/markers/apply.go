package markers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/crd"
)

// apply adds what markers say to a schema. It keeps the limits that the schema has, which are
// those of the type of a field.
func (r *reader) apply(s *crd.Schema, c *comments, n ast.Node) {
	if !r.room(n, sizeOf(c)) {
		return
	}
	was, wasOfItems := takeLimits(s), takeLimits(s.Items)
	_, ofType := n.(*ast.TypeSpec)
	for _, m := range c.markers {
		switch m.name {
		case "kubebuilder:default", "default", "kubebuilder:title", "kubebuilder:example", "k8s:immutable":
			if ofType {
				continue // it is that of a field
			}
		case "k8s:enum":
			if err := r.enum(s, ofType); err != nil {
				r.fail(n, err)
			}
			if !r.room(n, amount{schemas: len(s.Enum)}) {
				return
			}
			continue
		}
		of := s
		name, ok := strings.CutPrefix(m.name, "kubebuilder:validation:items:")
		if ok {
			if of = s.Items; of == nil {
				r.fail(n, fmt.Errorf("+%s is for lists", m.name))
				continue
			}
		} else if name, ok = strings.CutPrefix(m.name, "kubebuilder:validation:"); !ok {
			name = m.name
		}
		if other, ok := strings.CutPrefix(m.name, "k8s:"); ok {
			switch {
			case strings.HasPrefix(other, "min"), strings.HasPrefix(other, "max"):
				name = strings.ToUpper(other[:1]) + other[1:] // k8s:maxItems is MaxItems
				text, _, _ := strings.Cut(m.text, "#")
				m.text = strings.TrimSpace(text)
			case strings.HasPrefix(other, "list"):
				name = other // k8s:listType is listType
			}
		}
		if err := set(of, name, m); err != nil {
			r.fail(n, err)
		}
		if name == "Enum" && !r.room(n, amount{schemas: len(of.Enum)}) {
			return
		}
	}
	tighten(s, was)
	tighten(s.Items, wasOfItems)
}

// enum sets the values of the type that is being read: its constants.
func (r *reader) enum(s *crd.Schema, ofType bool) error {
	if !ofType {
		return errors.New("+k8s:enum is for types, not for fields")
	}
	t := r.open[len(r.open)-1]
	if s.Enum = t.in.constants[t.spec.Name.Name]; s.Enum == nil {
		return fmt.Errorf("+k8s:enum: the type %s has no constants that are texts", t.spec.Name.Name)
	}
	return nil
}

// takeLimits removes the limits from a schema.
func takeLimits(s *crd.Schema) *crd.Schema {
	if s == nil {
		return nil
	}
	was := *s
	s.Enum, s.Pattern, s.MultipleOf = nil, "", ""
	s.Minimum, s.ExclusiveMinimum, s.Maximum, s.ExclusiveMaximum = "", false, "", false
	s.MinLength, s.MaxLength, s.MinItems, s.MaxItems, s.MinProperties, s.MaxProperties = nil, nil, nil, nil, nil, nil
	return &was
}

// tighten adds the limits of o to those of s: values fit both.
func tighten(s, o *crd.Schema) {
	if s == nil || o == nil {
		return
	}
	size(&s.MinLength, o.MinLength, 1)
	size(&s.MaxLength, o.MaxLength, -1)
	size(&s.MinItems, o.MinItems, 1)
	size(&s.MaxItems, o.MaxItems, -1)
	size(&s.MinProperties, o.MinProperties, 1)
	size(&s.MaxProperties, o.MaxProperties, -1)
	bound(&s.Minimum, &s.ExclusiveMinimum, o.Minimum, o.ExclusiveMinimum, 1)
	bound(&s.Maximum, &s.ExclusiveMaximum, o.Maximum, o.ExclusiveMaximum, -1)
	var also crd.Schema
	if s.Pattern != "" && o.Pattern != "" && s.Pattern != o.Pattern {
		also.Pattern = s.Pattern
	}
	if s.MultipleOf != "" && o.MultipleOf != "" && s.MultipleOf != o.MultipleOf {
		also.MultipleOf = s.MultipleOf
	}
	if s.Enum != nil && o.Enum != nil && !reflect.DeepEqual(s.Enum, o.Enum) {
		also.Enum = s.Enum
	}
	if !reflect.DeepEqual(also, crd.Schema{}) {
		s.AllOf = append(s.AllOf, &also)
	}
	s.Pattern, s.MultipleOf = cmp.Or(o.Pattern, s.Pattern), cmp.Or(o.MultipleOf, s.MultipleOf)
	if o.Enum != nil {
		s.Enum = o.Enum
	}
}

// size makes a limit other, if that is stricter: more of those with the sign 1, less with -1.
func size(limit **int64, other *int64, sign int) {
	if other != nil && (*limit == nil || cmp.Compare(*other, **limit) == sign) {
		*limit = other
	}
}

// bound makes a limit of a number other, if that is stricter, as size does.
func bound(limit *json.Number, exclusive *bool, other json.Number, without bool, sign int) {
	is, _ := limit.Float64()
	was, _ := other.Float64()
	order := cmp.Compare(was, is)
	switch {
	case other == "":
	case *limit == "", order == 0:
		*limit, *exclusive = other, *exclusive || without
	case order == sign:
		*limit, *exclusive = other, without
	}
}

// part returns the part of a schema that a marker sets; nil if it sets none alone.
func part(s *crd.Schema, name string) any {
	switch name {
	case "MinLength":
		return &s.MinLength
	case "MaxLength":
		return &s.MaxLength
	case "MinItems":
		return &s.MinItems
	case "MaxItems":
		return &s.MaxItems
	case "MinProperties":
		return &s.MinProperties
	case "MaxProperties":
		return &s.MaxProperties
	case "Minimum":
		return &s.Minimum
	case "Maximum":
		return &s.Maximum
	case "MultipleOf":
		return &s.MultipleOf
	case "Pattern":
		return &s.Pattern
	case "Format":
		return &s.Format
	case "Type":
		return &s.Type
	case "kubebuilder:title":
		return &s.Title
	case "listType":
		return &s.ListType
	case "mapType", "structType":
		return &s.MapType
	case "ExclusiveMinimum":
		return &s.ExclusiveMinimum
	case "ExclusiveMaximum":
		return &s.ExclusiveMaximum
	case "nullable", "Nullable":
		return &s.Nullable
	case "XIntOrString":
		return &s.IntOrString
	case "XEmbeddedResource", "EmbeddedResource":
		return &s.EmbeddedResource
	case "XPreserveUnknownFields", "kubebuilder:pruning:PreserveUnknownFields":
		return &s.PreserveUnknownFields
	}
	return nil
}

// set applies one marker, whose name has no prefix of validation.
func set(s *crd.Schema, name string, m marker) (err error) {
	switch p := part(s, name).(type) {
	case **int64:
		n, err := strconv.ParseInt(m.text, 10, 64)
		if err != nil {
			return fmt.Errorf("+%s=%s: want a number", m.name, m.text)
		}
		*p = &n
		return nil
	case *json.Number:
		f, err := strconv.ParseFloat(m.text, 64)
		text := m.text
		if !json.Valid([]byte(text)) { // as Go writes it, such as 1_000 and .5
			text = strconv.FormatFloat(f, 'f', -1, 64)
		}
		if err != nil || !json.Valid([]byte(text)) {
			return fmt.Errorf("+%s=%s: want a number", m.name, m.text)
		}
		*p = json.Number(text)
		return nil
	case *string:
		*p, err = m.string()
		return err
	case *bool:
		*p = m.text != "false"
		return nil
	}
	switch {
	case name == "Enum":
		s.Enum, err = m.list()
	case name == "default" && strings.HasPrefix(m.text, "ref("): // a constant of Go, for other generators
	case name == "kubebuilder:default", name == "default":
		s.Default, err = m.value()
		if s.Type == "array" && string(s.Default) == "{}" {
			s.Default = json.RawMessage("[]")
		}
	case name == "listMapKey":
		var key string
		key, err = m.string()
		if !slices.Contains(s.ListMapKeys, key) { // types of Kubernetes have k8s:listMapKey too
			s.ListMapKeys = append(s.ListMapKeys, key)
		}
	case name == "k8s:immutable":
		s.Validations = append(s.Validations, crd.Rule{Rule: "self == oldSelf", Message: "field is immutable"})
	case name == "kubebuilder:example":
		if s.Example, err = m.value(); string(s.Example) == "null" {
			s.Example = json.RawMessage(`"null"`) // as controller-gen reads it
		}
	case name == "Optional", name == "Required", name == "Schemaless":
	case name == "XValidation":
		return rule(s, m)
	case strings.HasPrefix(m.name, "kubebuilder:validation:"):
		return fmt.Errorf("the marker +%s is not supported", m.name)
	}
	return err
}

func rule(s *crd.Schema, m marker) error {
	args, err := m.arguments()
	if err != nil {
		return err
	}
	s.Validations = append(s.Validations, crd.Rule{
		Rule: args.get("rule"), Message: args.get("message"), MessageExpression: args.get("messageExpression"),
		Reason: args.get("reason"), FieldPath: args.get("fieldPath"), OptionalOldSelf: args.get("optionalOldSelf") == "true",
	})
	return nil
}
