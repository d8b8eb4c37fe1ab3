package rules

import (
	"fmt"
	"strings"
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

// TooLong returns the error for more than n of something.
func TooLong(n int, of string) string { return fmt.Sprintf("must be no more than %d %s", n, of) }

// made reports whether s consists of letters, digits and the characters in others.
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

// LabelName returns the errors of a name of one part.
func LabelName(s string) (wrong []string) {
	if len(s) > 63 {
		wrong = append(wrong, TooLong(63, "characters"))
	}
	switch {
	case framed(s, "-") && s == strings.ToLower(s):
	case len(Subdomain(s)) == 0 && strings.Contains(s, "."):
		wrong = append(wrong, "must not contain dots")
	default:
		wrong = append(wrong, labelRule)
	}
	return wrong
}

// QualifiedName returns the errors of a label key.
func QualifiedName(s string) (wrong []string) {
	prefix, name, prefixed := strings.Cut(s, "/")
	switch {
	case strings.Contains(name, "/"):
		return []string{"a valid label key " + keyRule + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"}
	case !prefixed:
		name = s
	case prefix == "":
		wrong = append(wrong, "prefix part must be non-empty")
	case len(Subdomain(prefix)) > 0:
		wrong = append(wrong, "prefix part "+nameRule)
	}
	if name == "" {
		wrong = append(wrong, "name part must be non-empty")
	} else if len(name) > 63 {
		wrong = append(wrong, "name part "+TooLong(63, "bytes"))
	}
	if !framed(name, "-_.") {
		wrong = append(wrong, "name part "+keyRule)
	}
	return wrong
}

// LabelValue returns the errors of a label value.
func LabelValue(s string) (wrong []string) {
	if len(s) > 63 {
		wrong = append(wrong, TooLong(63, "bytes"))
	}
	if s != "" && !framed(s, "-_.") {
		wrong = append(wrong, valueRule)
	}
	return wrong
}

// DataKey returns the errors of a key of a ConfigMap or Secret.
func DataKey(s string) (wrong []string) {
	if len(s) > 253 {
		wrong = append(wrong, TooLong(253, "characters"))
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

// PortName returns the errors of a port's name that others refer to.
func PortName(s string) (wrong []string) {
	if len(s) > 15 {
		wrong = append(wrong, TooLong(15, "characters"))
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

// Subdomain returns the errors of a name of labels and dots.
func Subdomain(s string) (wrong []string) {
	if len(s) > 253 {
		wrong = append(wrong, TooLong(253, "characters"))
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' ||
			strings.IndexFunc(part, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }) >= 0 {
			return append(wrong, nameRule)
		}
	}
	return wrong
}

// SegmentName returns the errors of a name that only needs to fit into a URL.
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
