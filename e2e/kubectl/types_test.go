package kubectl_test

import (
	"slices"
	"strings"
	"testing"
)

// typeCases compares the objects of all types that the server lists and the fixture has;
// tableCases compares their columns.
func (k *pair) typeCases() {
	names := strings.Fields(k.program.Output(k.T, k.kubectl, append([]string{"api-resources", "--verbs=list", "-o", "name"}, k.flags...)...))
	if len(names) < 60 {
		k.Fatalf("the server lists %d types only: %v", len(names), names)
	}
	var empty []string
	for _, name := range names {
		if name == "componentstatuses" { // the server checks them at each request, in no order
			empty = append(empty, name)
		} else if out := k.program.Output(k.T, k.kubectl, append([]string{"get", name, "-o", "name"}, k.flags...)...); out == "" {
			empty = append(empty, name)
		}
	}
	k.Logf("%d types, of which these have no object, or no order: %v", len(names), empty)
	all := strings.Join(slices.DeleteFunc(names, func(name string) bool { return slices.Contains(empty, name) }), ",")
	for _, format := range []string{"-o name", "-o json", "-o yaml"} {
		k.Run("all "+format, func(t *testing.T) {
			k := k.with(t)
			args := append([]string{all, "--redact=none"}, strings.Fields(format)...)
			want, got := k.both(args)
			for t.Context().Err() == nil { // until nothing changed in between
				again, _ := k.both(args)
				if differs(want.Stdout, again.Stdout, false) == "" {
					break
				}
				want, got = k.both(args)
			}
			if diff := differs(want.Stdout, got.Stdout, false); diff != "" || want.Code != got.Code {
				t.Errorf("exit codes %d, %d\n%s%s(-kubectl +listwatch):\n%s", want.Code, got.Code, want.Stderr, got.Stderr, diff)
			}
		})
	}
}
