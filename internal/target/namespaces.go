package target

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/printable"
)

// NamespaceList is the value of --namespace: several by commas, or by giving the
// flag again. The first one is also what the configuration is loaded for.
type NamespaceList struct {
	Names []string
	first *string
	many  bool // more than one is allowed
}

func (l *NamespaceList) Register(f *pflag.FlagSet, first *string) {
	l.first = first
	f.VarP(l, "namespace", "n", "read this namespace (default that of the context)")
}

// Allow lets f's --namespace name several.
func (l *NamespaceList) Allow(f *pflag.FlagSet) {
	l.many = true
	f.Lookup("namespace").Usage = "read this namespace, or several: a,b; may be repeated (default that of the context)"
}

func (l *NamespaceList) String() string { return strings.Join(l.Names, ",") }
func (l *NamespaceList) Type() string   { return "string" }

// Set adds the names in s. An s of nothing is no namespace, as for kubectl.
func (l *NamespaceList) Set(s string) error {
	if s == "" && len(l.Names) == 0 {
		return nil
	}
	if !l.many && strings.Contains(s, ",") {
		return errors.New("this command looks into one namespace")
	}
	if !l.many { // the last one counts
		if err := CheckNamespace(s); err != nil && s != "" {
			return err
		}
		l.Names, *l.first = []string{s}, s
		return nil
	}
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return errors.New("a name is missing beside a comma")
		}
		if err := CheckNamespace(name); err != nil {
			return err
		}
		if !slices.Contains(l.Names, name) {
			l.Names = append(l.Names, name)
		}
	}
	*l.first = l.Names[0]
	return nil
}

// dnsLabel is a label of RFC 1123, which names of namespaces are.
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// CheckNamespace refuses a name that no server gives a namespace: it would find
// nothing there, and say so of any name.
func CheckNamespace(name string) error {
	if dnsLabel.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q is not the name of a namespace: want at most 63 lower case letters, digits and hyphens, and no hyphen at an end", printable.Clip(name))
}

// Places returns the namespaces to look in; "" is all of them.
func (l *NamespaceList) Places(cfg *config.Config, all bool) []string {
	switch {
	case all:
		return []string{""}
	case len(l.Names) > 1:
		return l.Names
	}
	return []string{cfg.Namespace}
}

// Spread repeats what is namespaced in each of several places.
func Spread(ts []Target, places []string) []Target {
	if len(places) < 2 {
		return ts
	}
	var all []Target
	for _, t := range ts {
		if !t.Resource.Namespaced {
			all = append(all, t)
			continue
		}
		for _, place := range places {
			t.Namespace, t.Apart = place, true
			all = append(all, t)
		}
	}
	return all
}

// Where says in which namespaces ts are, for a message: " in namespace a".
func Where(ts []Target) string {
	var names []string
	for _, t := range ts {
		if t.Namespace == "" {
			return ""
		}
		if !slices.Contains(names, t.Namespace) {
			names = append(names, t.Namespace)
		}
	}
	if len(names) > 1 {
		return " in namespaces " + strings.Join(names, ", ")
	}
	return In(strings.Join(names, ""))
}

// WhereOnce is where, unless the labels of ts say it.
func WhereOnce(ts []Target) string {
	if slices.ContainsFunc(ts, func(t Target) bool { return t.Apart }) {
		return ""
	}
	return Where(ts)
}

// SeveralNamespaces reports whether ts are in more than one.
func SeveralNamespaces(ts []Target) bool {
	first := ""
	for _, t := range ts {
		if !t.Resource.Namespaced {
			continue
		}
		if first == "" {
			first = t.Namespace
		} else if t.Namespace != first {
			return true
		}
	}
	return false
}
