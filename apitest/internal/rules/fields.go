package rules

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
)

// Elements iterates over the objects in the list m[name], which is at path, each with
// its own path.
func Elements(path string, m map[string]any, name string) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		for i, e := range ListAt(m, name) {
			o, _ := e.(map[string]any)
			if !yield(fmt.Sprintf("%s.%s[%d]", path, name, i), o) {
				return
			}
		}
	}
}

// Texts iterates over the strings in the list m[name], which is at path, each with
// its own path.
func Texts(path string, m map[string]any, name string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i, e := range ListAt(m, name) {
			s, _ := e.(string)
			if !yield(fmt.Sprintf("%s.%s[%d]", path, name, i), s) {
				return
			}
		}
	}
}

// Has reports whether m has a member other than null.
func Has(m map[string]any, name string) bool { return m[name] != nil }

// Needed refuses missing or empty strings.
func (r *Refusals) Needed(path string, m map[string]any, names ...string) {
	for _, name := range names {
		if TextAt(m, name) == "" {
			r.Required(path + "." + name)
		}
	}
}

// Named refuses a string for which check returns errors; a missing or empty one is
// refused as required.
func (r *Refusals) Named(path string, m map[string]any, name string, check func(string) []string) {
	if s := TextAt(m, name); s == "" {
		r.Required(path + "." + name)
	} else {
		r.Each(path+"."+name, s, check(s))
	}
}

// Maybe refuses a string for which check returns errors; a missing or empty one is
// valid.
func (r *Refusals) Maybe(path string, m map[string]any, name string, check func(string) []string) {
	if s := TextAt(m, name); s != "" {
		r.Each(path+"."+name, s, check(s))
	}
}

// Chosen refuses a string that is missing, empty or not supported.
func (r *Refusals) Chosen(path string, m map[string]any, name string, supported ...string) {
	if s := TextAt(m, name); s == "" {
		r.Required(path + "." + name)
	} else {
		r.Supported(path+"."+name, s, supported...)
	}
}

// Among refuses strings of a list that are not supported; the field is that of the
// list.
func (r *Refusals) Among(path string, m map[string]any, name string, supported ...string) {
	for _, s := range Texts(path, m, name) {
		if !slices.Contains(supported, s) {
			r.Unsupported(path+"."+name, s, supported...)
		}
	}
}

// Forbidden refuses a field that is set.
func (r *Refusals) Forbidden(field, why string) {
	r.Add("FieldValueForbidden", field, "Forbidden: "+why)
}

// NotFound refuses a name of something that does not exist.
func (r *Refusals) NotFound(field, name string) {
	r.Add("FieldValueNotFound", field, "Not found: "+Show(name))
}

// Between refuses a number that is not from least to most.
func (r *Refusals) Between(path string, m map[string]any, name string, least, most int64) {
	if n, ok := m[name].(int64); ok && (n < least || n > most) {
		r.Invalid(path+"."+name, n, fmt.Sprintf("must be between %d and %d, inclusive", least, most))
	}
}

// IP refuses an invalid IP address.
func (r *Refusals) IP(field, s string) {
	if len(IPAddress(s)) > 0 {
		r.Each(field, s, IPAddress(s))
	}
}

// IPAddress returns the errors of an IP address.
func IPAddress(s string) []string {
	if _, err := netip.ParseAddr(s); err != nil {
		return []string{"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"}
	}
	return nil
}

// CIDR returns the errors of a range of IP addresses.
func CIDR(s string) []string {
	if _, err := netip.ParsePrefix(s); err != nil {
		return []string{"must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"}
	}
	return nil
}

// PortOrName refuses a port that is out of range, or an invalid port name.
func (r *Refusals) PortOrName(field string, v any) {
	switch v := v.(type) {
	case string:
		r.Each(field, v, PortName(v))
	case int64:
		r.Port(field, v)
	default:
		r.Invalid(field, 0, "must be between 1 and 65535, inclusive")
	}
}

// LocalPath refuses a path that is absolute or contains "..".
func (r *Refusals) LocalPath(field, s string) {
	if strings.HasPrefix(s, "/") {
		r.Invalid(field, s, "must be a relative path")
	}
	r.NoWayUp(field, s)
}

// NoWayUp refuses a path that contains "..".
func (r *Refusals) NoWayUp(field, s string) {
	if slices.Contains(strings.Split(s, "/"), "..") {
		r.Invalid(field, s, "must not contain '..'")
	}
}

// LabelSelector refuses the errors of a selector that may be empty.
func (r *Refusals) LabelSelector(path string, s map[string]any) {
	r.Labels(path+".matchLabels", ObjectAt(s, "matchLabels"))
	for at, x := range Elements(path, s, "matchExpressions") {
		r.Requirement(at, x, false)
	}
}

// Requirement refuses the errors of an expression of a label selector; one of nodes may
// compare numbers.
func (r *Refusals) Requirement(at string, x map[string]any, nodes bool) {
	switch op := TextAt(x, "operator"); {
	case op == "In" || op == "NotIn":
		if Lacks(x, "values") {
			r.Required(at+".values", "must be specified when `operator` is 'In' or 'NotIn'")
		}
	case op == "Exists" || op == "DoesNotExist":
		if !Lacks(x, "values") {
			r.Forbidden(at+".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		}
	case nodes && (op == "Gt" || op == "Lt"):
		if len(ListAt(x, "values")) != 1 {
			r.Required(at+".values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
		}
	default:
		r.Invalid(at+".operator", op, "not a valid selector operator")
	}
	r.Each(at+".key", TextAt(x, "key"), QualifiedName(TextAt(x, "key")))
	if op := TextAt(x, "operator"); op == "Gt" || op == "Lt" {
		return // numbers are not looked at
	}
	for field, s := range Texts(at, x, "values") {
		r.Each(field, s, LabelValue(s))
	}
}

// Tolerations refuses the errors of tolerations.
func (r *Refusals) Tolerations(path string, m map[string]any) {
	for at, t := range Elements(path, m, "tolerations") {
		key, op, value, effect := TextAt(t, "key"), TextAt(t, "operator"), TextAt(t, "value"), TextAt(t, "effect")
		if key != "" {
			r.Each(at+".key", key, QualifiedName(key))
		} else if op != "Exists" {
			r.Invalid(at+".operator", op, `operator must be Exists when `+"`key`"+` is empty, which means "match all values and all keys"`)
		}
		if Has(t, "tolerationSeconds") && effect != "NoExecute" {
			r.Invalid(at+".effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		switch op {
		case "", "Equal":
			if wrong := LabelValue(value); len(wrong) > 0 {
				r.Invalid(at+".operator", value, strings.Join(wrong, ";"))
			}
		case "Exists":
			if value != "" {
				r.Invalid(at+".operator", t, "value must be empty when `operator` is 'Exists'")
			}
		default:
			r.Unsupported(at+".operator", op, "Equal", "Exists")
		}
		r.Supported(at+".effect", effect, "NoSchedule", "PreferNoSchedule", "NoExecute")
	}
}

// NodeSelector refuses the errors of a selector of nodes.
func (r *Refusals) NodeSelector(path string, s map[string]any) {
	if Lacks(s, "nodeSelectorTerms") {
		r.Required(path+".nodeSelectorTerms", "must have at least one node selector term")
	}
	for at, t := range Elements(path, s, "nodeSelectorTerms") {
		r.NodeTerm(at, t)
	}
}

// NodeTerm refuses the errors of a term of such a selector.
func (r *Refusals) NodeTerm(path string, t map[string]any) {
	for at, x := range Elements(path, t, "matchExpressions") {
		r.Requirement(at, x, true)
	}
	for at, x := range Elements(path, t, "matchFields") {
		switch op := TextAt(x, "operator"); op {
		case "In", "NotIn":
			if len(ListAt(x, "values")) != 1 {
				r.Required(at+".values", "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
			}
		default:
			r.Invalid(at+".operator", op, "not a valid selector operator")
		}
		if key := TextAt(x, "key"); key != "metadata.name" {
			r.Invalid(at+".key", key, "not a valid field selector key")
			continue
		}
		for field, s := range Texts(at, x, "values") {
			r.Each(field, s, Subdomain(s))
		}
	}
}

// Topologies refuses what is wrong with terms about the places of nodes.
func (r *Refusals) Topologies(path string, terms []any) {
	same := map[string]bool{}
	for i, e := range terms {
		t, _ := e.(map[string]any)
		at := fmt.Sprintf("%s[%d]", path, i)
		wrong, keys := len(r.Causes), map[string]bool{}
		for at, x := range Elements(at, t, "matchLabelExpressions") {
			key, values := TextAt(x, "key"), map[string]bool{}
			if Lacks(x, "values") {
				r.Required(at + ".values")
			}
			for field, v := range Texts(at, x, "values") {
				if values[v] {
					r.Duplicate(field, v)
				}
				values[v] = true
			}
			r.Each(at+".key", key, QualifiedName(key))
			if keys[key] {
				r.Duplicate(at+".key", key)
			}
			keys[key] = true
		}
		if id := Show(t["matchLabelExpressions"]); same[id] || Lacks(t, "matchLabelExpressions") && len(r.Causes) == wrong {
			r.Duplicate(at+".matchLabelExpressions", "")
		} else {
			same[id] = true
		}
	}
}

// DomainPath refuses what is no name such as example.com/controller, or longer than most.
func (r *Refusals) DomainPath(field, s string, most int) {
	if len(s) > most {
		r.Add("FieldValueTooLong", field, fmt.Sprintf("Too long: may not be more than %d bytes", most))
	}
	if s == "" {
		r.Required(field)
		return
	}
	domain, path, ok := strings.Cut(s, "/")
	if !ok || domain == "" || path == "" {
		r.Invalid(field, s, `must be a domain-prefixed path (such as "acme.io/foo")`)
		return
	}
	r.Each(field, s, Subdomain(domain))
	if strings.ContainsAny(path, " !\"<>^`{|}\\[]") {
		r.Invalid(field, s, "Invalid path")
	}
}
