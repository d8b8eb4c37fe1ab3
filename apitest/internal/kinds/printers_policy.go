package kinds

import (
	"cmp"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// What administrators decide: who is admitted, who is served first, who gets a
// certificate.

var mutatingPolicyPrinter = policyPrinter("Mutations")

var validatingPolicyPrinter = policyPrinter("Validations")

func policyPrinter(what string) Printer {
	member := strings.ToLower(what)
	return Printer{
		Columns: columns(
			integerColumn(what, "number of them"),
			column("ParamKind", "kind of the parameters"),
			ageColumn(),
		),
		Cells: func(r *Row) {
			var spec struct {
				Mutations, Validations []struct{}
				ParamKind              *struct{ APIVersion, Kind string }
			}
			r.read("spec", &spec)
			count, kind := len(spec.Validations), unset
			if member == "mutations" {
				count = len(spec.Mutations)
			}
			if k := spec.ParamKind; k != nil {
				kind = k.APIVersion + "/" + k.Kind
			}
			r.add(r.Meta.Name, count, kind, r.age())
		},
	}
}

var policyBindingPrinter = Printer{
	Columns: columns(
		column("PolicyName", "the policy"),
		column("ParamRef", "its parameters"),
		ageColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			PolicyName string
			ParamRef   *struct {
				Name, Namespace string
				Selector        *LabelSelector
			}
		}
		r.read("spec", &spec)
		ref := unset
		switch p := spec.ParamRef; {
		case p == nil:
		case p.Selector != nil:
			ref = p.Selector.goString()
		case p.Namespace == "":
			ref = "*/" + p.Name
		default:
			ref = p.Namespace + "/" + p.Name
		}
		r.add(r.Meta.Name, spec.PolicyName, ref, r.age())
	},
}

// goString returns s as Go's types of Kubernetes print it.
func (s *LabelSelector) goString() string {
	var b strings.Builder
	b.WriteString("&LabelSelector{MatchLabels:map[string]string{")
	for _, k := range object.SortedKeys(s.MatchLabels) {
		b.WriteString(k + ": " + s.MatchLabels[k] + ",")
	}
	b.WriteString("},MatchExpressions:[]LabelSelectorRequirement{")
	for _, e := range s.MatchExpressions {
		b.WriteString("LabelSelectorRequirement{Key:" + e.Key + ",Operator:" + e.Operator + ",Values:[" + strings.Join(e.Values, " ") + "],},")
	}
	return b.String() + "},}"
}

// has reports whether there is a condition of a type, true or not.
func (list Conditions) has(typ string) bool {
	for _, c := range list {
		if c.Type == typ {
			return true
		}
	}
	return false
}

var signingPrinter = Printer{
	Columns: columns(
		ageColumn(),
		column("SignerName", "who is to sign"),
		column("Requestor", "who asks"),
		column("RequestedDuration", "how long the certificate is to be good"),
		column("Condition", "what became of it"),
	),
	Cells: func(r *Row) {
		var spec struct {
			SignerName, Username string
			ExpirationSeconds    *int64
		}
		var status struct {
			Conditions  Conditions
			Certificate string
		}
		r.read("spec", &spec)
		r.read("status", &status)
		duration := none
		if s := spec.ExpirationSeconds; s != nil {
			duration = human(time.Duration(*s) * time.Second)
		}
		is := status.Conditions.has
		state := "Pending"
		switch {
		case is("Denied"):
			state = "Denied"
		case is("Approved"):
			state = "Approved"
		}
		if is("Failed") {
			state += ",Failed"
		}
		if status.Certificate != "" {
			state += ",Issued"
		}
		r.add(r.Meta.Name, r.age(), cmp.Or(spec.SignerName, none), spec.Username, duration, state)
	},
}

var trustPrinter = Printer{
	Columns: columns(column("SignerName", "whose certificates these are")),
	Cells: func(r *Row) {
		var spec struct{ SignerName string }
		r.read("spec", &spec)
		r.add(r.Meta.Name, cmp.Or(spec.SignerName, none))
	},
}

var podCertificatePrinter = Printer{
	Columns: columns(
		column("PodName", "whose certificate it is to be"),
		column("ServiceAccountName", "as whom the pod runs"),
		column("NodeName", "where it runs"),
		column("SignerName", "who is to sign"),
		column("State", "what became of it"),
		column("UnverifiedUserAnnotations", "what the pod adds"),
	),
	Cells: func(r *Row) {
		var spec struct {
			PodName, ServiceAccountName, NodeName, SignerName string
			UnverifiedUserAnnotations                         map[string]string
		}
		var status struct{ Conditions Conditions }
		r.read("spec", &spec)
		r.read("status", &status)
		state := "Pending"
		for _, typ := range [...]string{"Denied", "Failed", "Issued"} {
			if status.Conditions.has(typ) {
				state = typ
				break
			}
		}
		r.add(r.Meta.Name, spec.PodName, spec.ServiceAccountName, spec.NodeName, spec.SignerName, state, labelList(spec.UnverifiedUserAnnotations))
	},
}

var flowPrinter = Printer{
	Columns: columns(
		column("PriorityLevel", "where its requests wait"),
		column("MatchingPrecedence", "the least is asked first"),
		column("DistinguisherMethod", "what tells flows from each other"),
		ageColumn(),
		column("MissingPL", "whether there is no such level"),
	),
	Cells: func(r *Row) {
		var spec struct {
			PriorityLevelConfiguration struct{ Name string }
			MatchingPrecedence         int
			DistinguisherMethod        *struct{ Type string }
		}
		var status struct{ Conditions Conditions }
		r.read("spec", &spec)
		r.read("status", &status)
		method, dangling := none, "?"
		if m := spec.DistinguisherMethod; m != nil {
			method = m.Type
		}
		for _, c := range status.Conditions {
			if c.Type == "Dangling" {
				dangling = c.Status
			}
		}
		r.add(r.Meta.Name, spec.PriorityLevelConfiguration.Name, spec.MatchingPrecedence, method, r.age(), dangling)
	},
}

var levelPrinter = Printer{
	Columns: columns(
		column("Type", "Limited, or Exempt"),
		column("NominalConcurrencyShares", "its part of all requests"),
		column("Queues", "number of queues"),
		column("HandSize", "queues of one flow"),
		column("QueueLengthLimit", "requests in one queue"),
		ageColumn(),
	),
	Cells: func(r *Row) {
		var spec struct {
			Type    string
			Limited *struct {
				NominalConcurrencyShares *int
				LimitResponse            struct {
					Queuing *struct{ Queues, HandSize, QueueLengthLimit int }
				}
			}
		}
		r.read("spec", &spec)
		var shares, queues, hand, length any = none, none, none, none
		if l := spec.Limited; l != nil {
			shares = Or(l.NominalConcurrencyShares, 0)
			if q := l.LimitResponse.Queuing; q != nil {
				queues, hand, length = q.Queues, q.HandSize, q.QueueLengthLimit
			}
		}
		r.add(r.Meta.Name, spec.Type, shares, queues, hand, length, r.age())
	},
}

var migrationPrinter = Printer{
	Columns: []ColumnDefinition{
		column("Name", "name of the object, unique in its namespace"),
		column("Resource", "what is stored anew"),
		column("Status", "how far that is"),
	},
	Cells: func(r *Row) {
		var spec struct {
			Resource struct{ Group, Resource string }
		}
		var status struct{ Conditions Conditions }
		r.read("spec", &spec)
		r.read("status", &status)
		resource, state := spec.Resource.Resource, "Unknown"
		if g := spec.Resource.Group; g != "" {
			resource += "." + g
		}
		for _, c := range status.Conditions {
			if c.Status == "True" {
				state = c.Type
			}
		}
		r.add(r.Meta.Name, resource, state)
	},
}
