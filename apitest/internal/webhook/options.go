package webhook

import "net/url"

// Options are CreateOptions or UpdateOptions.
type Options struct {
	Kind            string   `json:"kind"`
	APIVersion      string   `json:"apiVersion"`
	DryRun          []string `json:"dryRun,omitempty"`
	FieldManager    string   `json:"fieldManager,omitempty"`
	FieldValidation string   `json:"fieldValidation,omitempty"`
}

// OptionsOf returns the options in the query of a create, an update, or a patch, which is
// one of both.
func OptionsOf(operation string, q url.Values) Options {
	kind := "UpdateOptions"
	if operation == "CREATE" {
		kind = "CreateOptions"
	}
	return Options{kind, OptionsVersion, q["dryRun"], q.Get("fieldManager"), q.Get("fieldValidation")}
}

// OptionsVersion is the apiVersion of options.
const OptionsVersion = "meta.k8s.io/v1"
