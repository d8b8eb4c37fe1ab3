package kinds

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

const (
	labelRule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
		"and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
		`'[a-z0-9]([-a-z0-9]*[a-z0-9])?')`
	keyRule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	valueRule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
		"and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " +
		"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	dataRule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', " +
		"regex used for validation is '[-._a-zA-Z0-9]+')"
)

func tooLong(n int, of string) string { return fmt.Sprintf("must be no more than %d %s", n, of) }

// made reports whether s is of letters, digits and the characters in others.
func made(s, others string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return !alphanumeric(c) && !strings.ContainsRune(others, c) }) < 0
}

func alphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// framed is made, with a letter or digit at both ends.
func framed(s, others string) bool {
	return made(s, others) && alphanumeric(rune(s[0])) && alphanumeric(rune(s[len(s)-1]))
}

// labelName says what is wrong with a name of one part.
func labelName(s string) (wrong []string) {
	if len(s) > 63 {
		wrong = append(wrong, tooLong(63, "characters"))
	}
	switch {
	case framed(s, "-") && s == strings.ToLower(s):
	case len(subdomain(s)) == 0 && strings.Contains(s, "."):
		wrong = append(wrong, "must not contain dots")
	default:
		wrong = append(wrong, labelRule)
	}
	return wrong
}

// qualifiedName says what is wrong with the key of a label.
func qualifiedName(s string) (wrong []string) {
	prefix, name, prefixed := strings.Cut(s, "/")
	switch {
	case strings.Contains(name, "/"):
		return []string{"a valid label key " + keyRule + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"}
	case !prefixed:
		name = s
	case prefix == "":
		wrong = append(wrong, "prefix part must be non-empty")
	case len(subdomain(prefix)) > 0:
		wrong = append(wrong, "prefix part "+nameRule)
	}
	if name == "" {
		wrong = append(wrong, "name part must be non-empty")
	} else if len(name) > 63 {
		wrong = append(wrong, "name part "+tooLong(63, "bytes"))
	}
	if !framed(name, "-_.") {
		wrong = append(wrong, "name part "+keyRule)
	}
	return wrong
}

func labelValue(s string) (wrong []string) {
	if len(s) > 63 {
		wrong = append(wrong, tooLong(63, "bytes"))
	}
	if s != "" && !framed(s, "-_.") {
		wrong = append(wrong, valueRule)
	}
	return wrong
}

// dataKey says what is wrong with a key of a ConfigMap or Secret.
func dataKey(s string) (wrong []string) {
	if len(s) > 253 {
		wrong = append(wrong, tooLong(253, "characters"))
	}
	if !made(s, "-_.") {
		wrong = append(wrong, dataRule)
	}
	switch {
	case s == "." || s == "..":
		wrong = append(wrong, "must not be '"+s+"'")
	case strings.HasPrefix(s, ".."):
		wrong = append(wrong, "must not start with '..'")
	}
	return wrong
}

// portName says what is wrong with a port's name that others refer to.
func portName(s string) (wrong []string) {
	if len(s) > 15 {
		wrong = append(wrong, tooLong(15, "characters"))
	}
	if !made(s, "-") || s != strings.ToLower(s) {
		wrong = append(wrong, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
	}
	if strings.IndexFunc(s, func(c rune) bool { return c >= 'a' && c <= 'z' }) < 0 {
		wrong = append(wrong, "must contain at least one letter (a-z)")
	}
	if strings.Contains(s, "--") {
		wrong = append(wrong, "must not contain consecutive hyphens")
	}
	if strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-") {
		wrong = append(wrong, "must not begin or end with a hyphen")
	}
	return wrong
}

const nameRule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
	"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
	`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

// subdomain says what is wrong with a name of labels and dots.
func subdomain(s string) (wrong []string) {
	if len(s) > 253 {
		wrong = append(wrong, tooLong(253, "characters"))
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' ||
			strings.IndexFunc(part, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }) >= 0 {
			return append(wrong, nameRule)
		}
	}
	return wrong
}

// SegmentName says what is wrong with a name that need only fit into a URL.
func SegmentName(s string) (wrong []string) {
	if s == "." || s == ".." {
		return []string{"may not be '" + s + "'"}
	}
	for _, c := range [...]string{"/", "%"} {
		if strings.Contains(s, c) {
			wrong = append(wrong, "may not contain '"+c+"'")
		}
	}
	return wrong
}

// bundleName says what is wrong with the name of a ClusterTrustBundle: one of a
// signer begins with the signer's, with colons for slashes.
func bundleName(s string) (wrong []string) {
	for part := range strings.SplitSeq(s, ":") {
		if wrong = subdomain(part); len(wrong) > 0 {
			return wrong
		}
	}
	return nil
}

// addressName says what is wrong with the name of an IPAddress, which is the address.
func addressName(s string) []string {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || a.Zone() != "":
		return []string{"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"}
	case a.String() != s:
		return []string{"must be in canonical form (" + strconv.Quote(a.String()) + ")"}
	}
	return nil
}

// cronJobName leaves room for the time that the names of its Jobs have.
func cronJobName(s string) []string {
	wrong := subdomain(s)
	if len(s) > 52 {
		wrong = append(wrong, tooLong(52, "characters"))
	}
	return wrong
}

// NameCauses says what is wrong with the name of a new object, and with what it
// was made of.
func NameCauses(r *object.Info, m *object.Meta) (causes []kube.StatusCause) {
	check := StrategyOf(r).name
	if check == nil {
		check = subdomain
	}
	add := func(field, is string, wrong []string) {
		for _, text := range wrong {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %q: %s", is, text), Field: field})
		}
	}
	if base := m.GenerateName; base != "" {
		whole := base
		if len(base) > 1 && strings.HasSuffix(base, "-") {
			whole = base[:len(base)-2] + "a" // a name may not end in "-", its beginning may
		}
		add("metadata.generateName", base, check(whole))
	}
	if m.Name == "" {
		return append(causes, kube.StatusCause{Reason: "FieldValueRequired", Message: "Required value: name or generateName is required", Field: "metadata.name"})
	}
	add("metadata.name", m.Name, check(m.Name))
	return causes
}

// NameWarnings says what may come of the name of a new object.
func NameWarnings(r *object.Info, name string) []string {
	hosts := StrategyOf(r).hosts
	if hosts == "" {
		return nil
	}
	wrong := labelName(name)
	if r.Resource == kube.Jobs || r.Resource == kube.CronJobs { // the name is short, or refused
		wrong = slices.DeleteFunc(wrong, func(s string) bool { return s == tooLong(63, "characters") })
	}
	if len(wrong) == 0 {
		return nil
	}
	return []string{hosts + "[" + strings.Join(wrong, " ") + "]"}
}

// podNames is what becomes of the names of what makes pods.
const podNames = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: "
