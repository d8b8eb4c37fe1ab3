package main

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

// namespaceList is the value of --namespace: several by commas, or by giving the
// flag again. The first one is also what the configuration is loaded for.
type namespaceList struct {
	names []string
	first *string
	many  bool // more than one is allowed
}

func (l *namespaceList) register(f *pflag.FlagSet, first *string) {
	l.first = first
	f.VarP(l, "namespace", "n", "namespace (default that of the context)")
}

// allow lets f's --namespace name several.
func (l *namespaceList) allow(f *pflag.FlagSet) {
	l.many = true
	f.Lookup("namespace").Usage = "namespace, or several: a,b; may be repeated (default that of the context)"
}

func (l *namespaceList) String() string { return strings.Join(l.names, ",") }
func (l *namespaceList) Type() string   { return "string" }

// Set adds the names in s. An s of nothing is no namespace, as for kubectl.
func (l *namespaceList) Set(s string) error {
	if s == "" && len(l.names) == 0 {
		return nil
	}
	if !l.many && strings.Contains(s, ",") {
		return errors.New("this command looks into one namespace")
	}
	if !l.many { // the last one counts
		if err := checkNamespace(s); err != nil && s != "" {
			return err
		}
		l.names, *l.first = []string{s}, s
		return nil
	}
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return errors.New("a name is missing beside a comma")
		}
		if err := checkNamespace(name); err != nil {
			return err
		}
		if !slices.Contains(l.names, name) {
			l.names = append(l.names, name)
		}
	}
	*l.first = l.names[0]
	return nil
}

// dnsLabel is a label of RFC 1123, which names of namespaces are.
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkNamespace refuses a name that no server gives a namespace: it would find
// nothing there, and say so of any name.
func checkNamespace(name string) error {
	if dnsLabel.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q is not the name of a namespace: want at most 63 lower case letters, digits and hyphens, and no hyphen at an end", printable.Clip(name))
}

// places returns the namespaces to look in; "" is all of them.
func (l *namespaceList) places(cfg *config.Config, all bool) []string {
	switch {
	case all:
		return []string{""}
	case len(l.names) > 1:
		return l.names
	}
	return []string{cfg.Namespace}
}

// spread repeats what is namespaced in each of several places.
func spread(ts []target, places []string) []target {
	if len(places) < 2 {
		return ts
	}
	var all []target
	for _, t := range ts {
		if !t.resource.Namespaced {
			all = append(all, t)
			continue
		}
		for _, place := range places {
			t.namespace, t.apart = place, true
			all = append(all, t)
		}
	}
	return all
}

// where says in which namespaces ts are, for a message: " in namespace a".
func where(ts []target) string {
	var names []string
	for _, t := range ts {
		if t.namespace == "" {
			return ""
		}
		if !slices.Contains(names, t.namespace) {
			names = append(names, t.namespace)
		}
	}
	if len(names) > 1 {
		return " in namespaces " + strings.Join(names, ", ")
	}
	return in(strings.Join(names, ""))
}

// whereOnce is where, unless the labels of ts say it.
func whereOnce(ts []target) string {
	if slices.ContainsFunc(ts, func(t target) bool { return t.apart }) {
		return ""
	}
	return where(ts)
}

// severalNamespaces reports whether ts are in more than one.
func severalNamespaces(ts []target) bool {
	first := ""
	for _, t := range ts {
		if !t.resource.Namespaced {
			continue
		}
		if first == "" {
			first = t.namespace
		} else if t.namespace != first {
			return true
		}
	}
	return false
}
