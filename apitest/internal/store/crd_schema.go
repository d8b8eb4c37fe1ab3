package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// schemaTypes are the types that a schema may have.
var schemaTypes = []string{"array", "boolean", "integer", "number", "object", "string"}

// crdSchema are the members of a schema that make it structural.
type crdSchema struct {
	Type       string                     `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Items      json.RawMessage            `json:"items"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Any        bool                       `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrText  bool                       `json:"x-kubernetes-int-or-string"`
}

// schemaCauses returns the errors about the types of a schema, which must be structural. path
// is that of the schema, and where the place that the message names.
func schemaCauses(raw json.RawMessage, path, where string) (causes []kube.StatusCause) {
	var s crdSchema
	if json.Unmarshal(raw, &s) != nil { // as additionalProperties: true
		return nil
	}
	root := where == "at the root"
	switch {
	case s.Type == "" && (s.Any || s.IntOrText):
	case s.Type == "":
		causes = append(causes, kube.StatusCause{Reason: "FieldValueRequired", Field: path + ".type", Message: "Required value: must not be empty " + where})
	case !slices.Contains(schemaTypes, s.Type):
		causes = append(causes, kube.StatusCause{Reason: "FieldValueNotSupported", Field: path + ".type",
			Message: fmt.Sprintf(`Unsupported value: %q: supported values: "%s"`, s.Type, strings.Join(schemaTypes, `", "`))})
	case root && s.Type != "object":
		causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Field: path + ".type", Message: fmt.Sprintf("Invalid value: %q: must be object at the root", s.Type)})
	case s.Type == "array" && s.Items == nil:
		causes = append(causes, kube.StatusCause{Reason: "FieldValueRequired", Field: path + ".items", Message: "Required value: must be specified"})
	}
	if s.Items != nil {
		causes = append(causes, schemaCauses(s.Items, path+".items", "for specified array items")...)
	}
	if s.Additional != nil {
		causes = append(causes, schemaCauses(s.Additional, path+".additionalProperties", "for specified object fields")...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		causes = append(causes, schemaCauses(s.Properties[name], path+".properties["+name+"]", "for specified object fields")...)
	}
	return causes
}
