package kube_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

func TestParseFieldSelectorPrints(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{" , ", ""},
		{"metadata.name=web", "metadata.name=web"},
		{"metadata.name==web", "metadata.name=web"},
		{"metadata.name!=web", "metadata.name!=web"},
		{" metadata.name=web", "metadata.name=web"},
		{"a=,b!=", "a=,b!="},
		{" a=b, c =d ", "a=b,c=d "}, // space belongs to a value
		{"a= b", "a= b"},
		{"b=1,a=2", "b=1,a=2"},
		{"a=1,,b=2,", "a=1,b=2"},
		{`a=x\,y`, `a=x\,y`},
		{`a=x\=y`, `a=x\=y`},
		{`a=x\\`, `a=x\\`},
		{`a=x\\,b=y`, `a=x\\,b=y`},
		{`a=!b`, `a=!b`},
	} {
		got, err := kube.ParseFieldSelector(tt.in)
		if err != nil || got.String() != tt.want {
			t.Errorf("ParseFieldSelector(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
		if got.Empty() != (tt.want == "") {
			t.Errorf("ParseFieldSelector(%q).Empty() = %t", tt.in, got.Empty())
		}
	}
}

func TestParseFieldSelectorErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a", "want field=value"},
		{"a>1", "want field=value"},
		{"a in (b)", "want field=value"},
		{"a=1,b", "want field=value"},
		{"=a", "no field before the operator"},
		{" =a", "no field before the operator"},
		{"!=a", "no field before the operator"},
		{"a!b=c", "neither spaces nor exclamation"},
		{"a! =b", "neither spaces nor exclamation"},
		{"a b=c", "neither spaces nor exclamation"},
		{"a=b=c", `write = as \=`},
		{"a===b", `write = as \=`},
		{"a!==b", `write = as \=`},
		{`a=b\c`, `\ must stand before`},
		{`a=b\`, `\ must stand before`},
		{strings.Repeat("a", 1<<20), "want field=value"},
	} {
		got, err := kube.ParseFieldSelector(tt.in)
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 1000 {
			t.Errorf("ParseFieldSelector(%.80q) = %q, %.200v; want a short error with %q", tt.in, got, err, tt.want)
		}
		if !got.Empty() {
			t.Errorf("ParseFieldSelector(%.80q) returns %q beside an error", tt.in, got)
		}
	}
}

func TestFieldSelectorMatches(t *testing.T) {
	get := func(path string) string {
		return map[string]string{"metadata.name": "web", "spec.x": "a,b=c"}[path]
	}
	for _, tt := range []struct {
		sel  string
		want bool
	}{
		{"", true},
		{"metadata.name=web", true},
		{"metadata.name=db", false},
		{"metadata.name!=db", true},
		{"metadata.name!=web", false},
		{"status.phase=", true},
		{"status.phase!=Running", true},
		{`spec.x=a\,b\=c`, true},
		{"metadata.name=web,status.phase=Running", false},
	} {
		sel, err := kube.ParseFieldSelector(tt.sel)
		if err != nil {
			t.Fatal(err)
		}
		if got := sel.Matches(get); got != tt.want {
			t.Errorf("%q matches: %t, want %t", sel, got, tt.want)
		}
	}
}

func TestFieldSelectorPathsAndRequires(t *testing.T) {
	sel, err := kube.ParseFieldSelector("b!=1,metadata.name=web,b=2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "metadata.name", "b"}, sel.Paths()); diff != "" {
		t.Errorf("Paths (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		path, want string
		ok         bool
	}{{"metadata.name", "web", true}, {"b", "2", true}, {"c", "", false}} {
		if got, ok := sel.Requires(tt.path); got != tt.want || ok != tt.ok {
			t.Errorf("Requires(%q) = %q, %t; want %q, %t", tt.path, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseFieldSelector(f *testing.F) {
	for _, s := range []string{"", "metadata.name=web,a!=b", `a=x\,y\=z\\`, `a\=b`, `a\`, "a!b==c", "! =0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sel, err := kube.ParseFieldSelector(s)
		if err != nil {
			return
		}
		again, err := kube.ParseFieldSelector(sel.String())
		if err != nil || again.String() != sel.String() {
			t.Fatalf("%q prints %q, which reads as %q, %v", s, sel, again, err)
		}
		for _, p := range sel.Paths() {
			v, _ := sel.Requires(p)
			get := func(path string) string {
				if path == p {
					return v
				}
				return ""
			}
			if sel.Matches(get) != again.Matches(get) {
				t.Fatalf("%q and %q match differently", s, sel)
			}
		}
	})
}
