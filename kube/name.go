package kube

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxIdentity limits a name, a UID or a resource version in bytes. Kubernetes limits
// most names to 253; a UID has 36.
const MaxIdentity = 1024

// ErrBadName means that Kubernetes does not allow a name.
var ErrBadName = errors.New("not a valid name")

// CheckIdentity returns an error that wraps ErrBadName if no object can have this key, UID
// and resource version: a name or a namespace that CheckName refuses, or a UID or revision
// that exceeds MaxIdentity or has unprintable characters. Empty values are not checked.
func CheckIdentity(k Key, uid string, rev Revision) error {
	if err := CheckName(k.Name); err != nil {
		return fmt.Errorf("metadata.name: %w", err)
	}
	if err := CheckName(k.Namespace); err != nil {
		return fmt.Errorf("metadata.namespace: %w", err)
	}
	if why := badText(uid); why != "" {
		return fmt.Errorf("metadata.uid: %w: %s", ErrBadName, why)
	}
	if why := badText(string(rev)); why != "" {
		return fmt.Errorf("metadata.resourceVersion: %w: %s", ErrBadName, why)
	}
	return nil
}

// CheckName returns an error that wraps ErrBadName if no object of any resource can have
// the name: the name exceeds MaxIdentity, cannot be a segment of a URL path (it is "." or
// "..", or contains / or %), or has unprintable characters, which could control a terminal.
// The empty name is accepted. See
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names.
func CheckName(name string) error {
	why := badText(name)
	switch {
	case why != "":
	case name == ".", name == "..", strings.ContainsAny(name, "/%"):
		why = "it is not a segment of a URL path"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrBadName, why)
}

// badText returns why s cannot be part of an identity, "" if it can.
func badText(s string) string {
	if len(s) > MaxIdentity {
		return fmt.Sprintf("it has %d bytes, at most %d are allowed", len(s), MaxIdentity)
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7F {
			if strings.ContainsFunc(s, unprintable) { // invalid UTF-8 is U+FFFD
				return "it has unprintable characters"
			}
			return ""
		}
	}
	return ""
}

// unprintable reports whether r may control a terminal, is invisible, or stands for an
// invalid character.
func unprintable(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// CleanName returns name, or a printable form of it if CheckName refuses it: at most 256
// bytes, with U+FFFD at the end and in place of characters that are not allowed.
// CheckName refuses this form too, so it cannot be confused with a valid name.
func CleanName(name string) string {
	if CheckName(name) == nil {
		return name
	}
	const most = 253
	var b strings.Builder
	for _, r := range name {
		if unprintable(r) || r == '/' || r == '%' {
			r = utf8.RuneError
		}
		if b.Len()+utf8.RuneLen(r) > most {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + string(utf8.RuneError)
}

// CheckResource returns an error that wraps ErrBadName if no server can serve r: its group
// must be a DNS subdomain (RFC 1123), its version and plural DNS labels, its kind a label
// with letters of any case.
func CheckResource(r Resource) error {
	if r.Group != "" && (len(r.Group) > 253 || !isSubdomain(r.Group)) {
		return fmt.Errorf("group %q: %w: want a DNS subdomain", CleanName(r.Group), ErrBadName)
	}
	for _, part := range []struct{ what, name string }{{"version", r.Version}, {"resource", r.Plural}, {"kind", strings.ToLower(r.Kind)}} {
		if !IsLabel(part.name) {
			return fmt.Errorf("%s %q: %w: want a DNS label", part.what, CleanName(part.name), ErrBadName)
		}
	}
	return nil
}

// IsLabel reports whether s is a DNS label (RFC 1123): at most 63 lower case letters,
// digits and hyphens, without a hyphen at either end.
func IsLabel(s string) bool { return len(s) <= 63 && isSubdomain(s) && !strings.Contains(s, ".") }
