package kinds

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// admissionKinds are the kinds of admissionregistration.k8s.io.
func admissionKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: MutatingConfigurations, Categories: []string{"api-extensions"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				for w := range rules.ObjectsAt(o, "webhooks") {
					fillWebhook(d, w)
					d.Set(w, "reinvocationPolicy", "Never")
				}
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				refuseWebhooks(r, o)
			},
			Printer:  webhookPrinter,
			Strategy: Strategy{Guarded: true, counts: true},
		},
		{
			Info: object.Info{Resource: ValidatingConfigurations, Categories: []string{"api-extensions"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				for w := range rules.ObjectsAt(o, "webhooks") {
					fillWebhook(d, w)
				}
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				refuseWebhooks(r, o)
			},
			Printer:  webhookPrinter,
			Strategy: Strategy{Guarded: true, counts: true},
		},
		{
			Info:     object.Info{Resource: cluster("admissionregistration.k8s.io", "mutatingadmissionpolicies", "MutatingAdmissionPolicy"), Categories: []string{"api-extensions"}},
			Defaults: fillAdmissionPolicy,
			Zero:     `"spec":{}`,
			Printer:  mutatingPolicyPrinter,
			Strategy: Strategy{Guarded: true},
		},
		{
			Info:     object.Info{Resource: cluster("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"), Categories: []string{"api-extensions"}},
			Defaults: fillPolicyBinding,
			Zero:     `"spec":{}`,
			Printer:  policyBindingPrinter,
			Strategy: Strategy{Guarded: true},
		},
		{
			Info:     object.Info{Resource: cluster("admissionregistration.k8s.io", "validatingadmissionpolicies", "ValidatingAdmissionPolicy"), Categories: []string{"api-extensions"}, Status: true},
			Defaults: fillAdmissionPolicy,
			Status:   `{}`,
			Zero:     `"spec":{},"status":{}`,
			Printer:  validatingPolicyPrinter,
			Strategy: Strategy{Guarded: true},
		},
		{
			Info:     object.Info{Resource: cluster("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"), Categories: []string{"api-extensions"}},
			Defaults: fillPolicyBinding,
			Zero:     `"spec":{}`,
			Printer:  policyBindingPrinter,
			Strategy: Strategy{Guarded: true},
		},
	}
}

// The resources that configure webhooks.
var (
	MutatingConfigurations   = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "mutatingwebhookconfigurations", Kind: "MutatingWebhookConfiguration"}
	ValidatingConfigurations = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"}
)

func fillWebhook(d *rules.Defaults, w map[string]any) {
	d.Set(w, "failurePolicy", "Fail")
	d.Set(w, "matchPolicy", "Equivalent")
	d.Object(w, "namespaceSelector")
	d.Object(w, "objectSelector")
	d.Set(w, "timeoutSeconds", int64(10))
	for r := range rules.ObjectsAt(w, "rules") {
		d.Set(r, "scope", "*")
	}
	fillServicePort(d, rules.ObjectAt(w, "clientConfig"))
}

// fillMatchResources fills in what a policy, or a binding, matches, if it says so.
func fillMatchResources(d *rules.Defaults, spec map[string]any, name string) {
	m := rules.ObjectAt(spec, name)
	if m == nil {
		return
	}
	d.Set(m, "matchPolicy", "Equivalent")
	d.Object(m, "namespaceSelector")
	d.Object(m, "objectSelector")
	for _, list := range [...]string{"resourceRules", "excludeResourceRules"} {
		for r := range rules.ObjectsAt(m, list) {
			d.Set(r, "scope", "*")
		}
	}
}

// fillPolicyBinding sets the defaults of a binding of either kind of admission policy.
func fillPolicyBinding(d *rules.Defaults, o map[string]any) {
	fillMatchResources(d, d.Object(o, "spec"), "matchResources")
}

func fillAdmissionPolicy(d *rules.Defaults, o map[string]any) {
	spec := d.Object(o, "spec")
	d.Set(spec, "failurePolicy", "Fail")
	fillMatchResources(d, spec, "matchConstraints")
}

// refuseWebhooks refuses URLs that a webhook configuration may not have.
func refuseWebhooks(r *rules.Refusals, o map[string]any) {
	for i, e := range rules.ListAt(o, "webhooks") {
		w, _ := e.(map[string]any)
		config := rules.ObjectAt(w, "clientConfig")
		if text, ok := config["url"].(string); ok {
			refuseWebhookURL(r, fmt.Sprintf("webhooks[%d].clientConfig.url", i), text)
		}
	}
}

func refuseWebhookURL(r *rules.Refusals, path, text string) {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		r.Required(path, "url must be a valid URL: "+err.Error()+form)
		return
	}
	if u.Scheme != "https" {
		r.Invalid(path, u.Scheme, "'https' is the only allowed URL scheme"+form)
	}
	if u.Host == "" {
		r.Invalid(path, u.Host, "host must be specified"+form)
	}
	if u.User != nil {
		r.Invalid(path, u.User.String(), "user information is not permitted in URLs")
	}
	if u.Fragment != "" {
		r.Invalid(path, u.Fragment, "fragments are not permitted in URLs")
	}
	if u.RawQuery != "" {
		r.Invalid(path, u.RawQuery, "query parameters are not permitted in URLs")
	}
}

var webhookPrinter = columns.Printer{
	Columns: columns.List(columns.Integer("Webhooks", "number of webhooks"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var webhooks []struct{}
		r.Read("webhooks", &webhooks)
		r.Add(r.Meta.Name, len(webhooks), r.Age())
	},
}

var mutatingPolicyPrinter = policyPrinter("Mutations")

var validatingPolicyPrinter = policyPrinter("Validations")

func policyPrinter(what string) columns.Printer {
	member := strings.ToLower(what)
	return columns.Printer{
		Columns: columns.List(
			columns.Integer(what, "number of them"),
			columns.Text("ParamKind", "kind of the parameters"),
			columns.AgeColumn(),
		),
		Cells: func(r *columns.Row) {
			var spec struct {
				Mutations, Validations []struct{}
				ParamKind              *struct{ APIVersion, Kind string }
			}
			r.Read("spec", &spec)
			count, kind := len(spec.Validations), columns.Unset
			if member == "mutations" {
				count = len(spec.Mutations)
			}
			if k := spec.ParamKind; k != nil {
				kind = k.APIVersion + "/" + k.Kind
			}
			r.Add(r.Meta.Name, count, kind, r.Age())
		},
	}
}

var policyBindingPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("PolicyName", "the policy"),
		columns.Text("ParamRef", "its parameters"),
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			PolicyName string
			ParamRef   *struct {
				Name, Namespace string
				Selector        *columns.LabelSelector
			}
		}
		r.Read("spec", &spec)
		ref := columns.Unset
		switch p := spec.ParamRef; {
		case p == nil:
		case p.Selector != nil:
			ref = p.Selector.GoSyntax()
		case p.Namespace == "":
			ref = "*/" + p.Name
		default:
			ref = p.Namespace + "/" + p.Name
		}
		r.Add(r.Meta.Name, spec.PolicyName, ref, r.Age())
	},
}

// fillServicePort fills in how a webhook is reached.
func fillServicePort(d *rules.Defaults, config map[string]any) {
	if s := rules.ObjectAt(config, "service"); s != nil {
		d.Set(s, "port", int64(443))
	}
}
