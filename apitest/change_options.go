package apitest

import (
	"cmp"
	"fmt"
	"unicode"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// maxManager limits a fieldManager in characters.
const maxManager = 128

// writeOptions are the CreateOptions, UpdateOptions or PatchOptions of a write.
type writeOptions struct {
	verb       string
	dry        bool
	manager    string // empty = derived from the user agent
	validation string // Ignore, Warn, Strict
	typ        string // media type of the body
	force      bool   // of an apply
}

// parseWriteOptions reads the options of a write; kind is their name in errors, and typ
// the media type of a patch.
func parseWriteOptions(x *Exchange, kind, typ string) (o writeOptions, st *kube.Status) {
	q := x.r.URL.Query()
	o = writeOptions{verb: x.target.verb, typ: typ, manager: q.Get("fieldManager"), validation: cmp.Or(q.Get("fieldValidation"), "Warn")}
	o.dry, o.force = q.Has("dryRun"), wire.QueryBool(q, "force")
	causes := o.checkPatch(typ, q.Has("force"))
	if len(o.manager) > maxManager {
		causes = append(causes, kube.StatusCause{Reason: "FieldValueTooLong",
			Message: fmt.Sprintf("Too long: may not be more than %d bytes", maxManager), Field: "fieldManager"})
	}
	for i, r := range o.manager {
		if !unicode.IsPrint(r) {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid",
				Message: fmt.Sprintf("Invalid value: %q: invalid character %U (at position %d)", o.manager, r, i), Field: "fieldManager"})
			break
		}
	}
	causes = append(causes, checkDryRun(q["dryRun"])...)
	switch o.validation {
	case "Ignore", "Warn", "Strict":
	default:
		causes = append(causes, kube.StatusCause{Reason: "FieldValueNotSupported",
			Message: fmt.Sprintf("Unsupported value: %q: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"", o.validation), Field: "fieldValidation"})
	}
	if len(causes) > 0 {
		return o, wire.Invalid("meta.k8s.io", kind, "", causes...)
	}
	return o, nil
}

// checkPatch returns errors for options that a patch of this type does not support.
func (o writeOptions) checkPatch(typ string, force bool) []kube.StatusCause {
	switch {
	case typ == wire.TypeApply && o.manager == "":
		return []kube.StatusCause{{Reason: "FieldValueRequired", Message: "Required value: is required for apply patch", Field: "fieldManager"}}
	case o.verb == "patch" && typ != wire.TypeApply && force:
		return []kube.StatusCause{rules.ForbiddenField("force", "may not be specified for non-apply patch")}
	}
	return nil
}

// checkDryRun returns errors for invalid values of dryRun.
func checkDryRun(values []string) []kube.StatusCause {
	for _, v := range values {
		if v != "All" {
			return []kube.StatusCause{{Reason: "FieldValueNotSupported",
				Message: fmt.Sprintf("Unsupported value: %s: supported values: \"All\"", object.Marshal(values)), Field: "dryRun"}}
		}
	}
	return nil
}
