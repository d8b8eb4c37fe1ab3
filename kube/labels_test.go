package kube_test

import (
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

func TestParseSelectorPrints(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{" \t\n", ""},
		{"app", "app"},
		{" app ", "app"},
		{"!app", "!app"},
		{"! app", "!app"},
		{"app=web", "app=web"},
		{"app==web", "app=web"},
		{" app = web ", "app=web"},
		{"app!=web", "app!=web"},
		{"app=", "app="},
		{"app!=", "app!="},
		{"app=,b", "app=,b"},
		{"cores>4", "cores>4"},
		{"cores < 4", "cores<4"},
		{"cores>004", "cores>004"},
		{"env in (b,a)", "env in (a,b)"},
		{"env in(a)", "env in (a)"},
		{"env in ( b , a , b )", "env in (a,b)"},
		{"env notin (a)", "env notin (a)"},
		{"env in ()", "env in ()"},
		{"env in (,a)", "env in (,a)"},
		{"env in (a,)", "env in (,a)"},
		{"in in (in)", "in in (in)"},
		{"notin=in", "notin=in"},
		{"example.com/app=web", "example.com/app=web"},
		{"a.b-c.d/A_b.C-d", "a.b-c.d/A_b.C-d"},
		{"b,a", "a,b"},
		{"a=2,a=1,!a,a", "!a,a=1,a=2,a"},
		{"a=1,!a,a,a=2", "!a,a=1,a=2,a"},
		{"app=web,tier!=db,env in (a,b),env notin (c),gpu,!spot,cores>4", "app=web,cores>4,env in (a,b),env notin (c),gpu,!spot,tier!=db"},
		{strings.Repeat("a", 63) + "=" + strings.Repeat("b", 63), strings.Repeat("a", 63) + "=" + strings.Repeat("b", 63)},
	} {
		got, err := kube.ParseSelector(tt.in)
		if err != nil || got.String() != tt.want {
			t.Errorf("ParseSelector(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
		if got.Empty() != (tt.want == "") {
			t.Errorf("ParseSelector(%q).Empty() = %t", tt.in, got.Empty())
		}
	}
}

func TestParseSelectorErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{",", "key is missing"},
		{"a,", "nothing after the last comma"},
		{"a,,b", "key is missing"},
		{"!", "key is missing"},
		{"!a=b", "want a comma, found"},
		{"=a", "key is missing"},
		{"a b", "want one of"},
		{"a!b", "want one of"},
		{"a=b c", "want a comma, found"},
		{"a===b", "want a comma, found"},
		{"a=>b", "want a comma, found"},
		{"a>b", "want an integer"},
		{"a>", "want an integer"},
		{"a<1.5", "want an integer"},
		{"a>-1", "label value"},
		{"a in b", "want (value,...)"},
		{"a in", "want (value,...)"},
		{"a in (b", "a comma or )"},
		{"a in (b c)", "a comma or )"},
		{"a in (b=c)", "a comma or )"},
		{"a in (b))", "want a comma, found"},
		{"a IN (b)", "want one of"},
		{"-a", "label key"},
		{"a-", "label key"},
		{"/a", "not a lower-case DNS name"},
		{"A.b/c", "not a lower-case DNS name"},
		{"a..b/c", "not a lower-case DNS name"},
		{"a_b/c", "not a lower-case DNS name"},
		{"a/b/c", "label key"},
		{"a/", "label key"},
		{"é", "label key"},
		{"a=é", "label value"},
		{"a=-b", "label value"},
		{"a in (b,-)", "label value"},
		{"a\x00", "label key"},
		{"\xff", "label key"},
		{strings.Repeat("a", 64), "label key"},
		{"a=" + strings.Repeat("b", 64), "label value"},
		{strings.Repeat("a", 254) + "/b", "not a lower-case DNS name"},
		{strings.Repeat("=", 1<<20), "key is missing"},
		{"a " + strings.Repeat("b", 1<<20), "want one of"},
	} {
		got, err := kube.ParseSelector(tt.in)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseSelector(%.80q) = %q, %v; want an error with %q", tt.in, got, err, tt.want)
			continue
		}
		if !got.Empty() || len(err.Error()) > 1000 {
			t.Errorf("ParseSelector(%.80q) returns %q beside an error of %d bytes", tt.in, got, len(err.Error()))
		}
	}
}

func TestSelectorMatches(t *testing.T) {
	for _, tt := range []struct {
		sel    string
		labels map[string]string
		want   bool
	}{
		{"", nil, true},
		{"a", nil, false},
		{"a", map[string]string{"a": ""}, true},
		{"!a", nil, true},
		{"!a", map[string]string{"a": ""}, false},
		{"a=1", map[string]string{"a": "1"}, true},
		{"a=1", map[string]string{"a": "2"}, false},
		{"a=", nil, false},
		{"a=", map[string]string{"a": ""}, true},
		{"a!=1", nil, true},
		{"a!=1", map[string]string{"a": "2"}, true},
		{"a!=1", map[string]string{"a": "1"}, false},
		{"a in (1,2)", map[string]string{"a": "2"}, true},
		{"a in (1,2)", map[string]string{"a": "3"}, false},
		{"a in (1,2)", nil, false},
		{"a notin (1,2)", map[string]string{"a": "2"}, false},
		{"a notin (1,2)", nil, true},
		{"a>4", map[string]string{"a": "5"}, true},
		{"a>4", map[string]string{"a": "4"}, false},
		{"a>4", map[string]string{"a": "10"}, true},
		{"a>4", map[string]string{"a": "x"}, false},
		{"a>4", nil, false},
		{"a<4", map[string]string{"a": "3"}, true},
		{"a<4", map[string]string{"a": "99999999999999999999"}, false},
		{"a=1,b", map[string]string{"a": "1"}, false},
		{"a=1,b", map[string]string{"a": "1", "b": ""}, true},
	} {
		sel, err := kube.ParseSelector(tt.sel)
		if err != nil {
			t.Fatal(err)
		}
		if got := sel.Matches(tt.labels); got != tt.want {
			t.Errorf("%q matches %v: %t, want %t", sel, tt.labels, got, tt.want)
		}
	}
}

func TestLabelsSelector(t *testing.T) {
	labels := map[string]string{"b": "2", "a": "1", "c": ""}
	sel := kube.LabelsSelector(labels)
	if got, want := sel.String(), "a=1,b=2,c="; got != want {
		t.Errorf("LabelsSelector = %q, want %q", got, want)
	}
	if !sel.Matches(labels) || sel.Matches(map[string]string{"a": "1"}) {
		t.Error("it must match its own labels, and not fewer")
	}
	if !kube.LabelsSelector(nil).Empty() {
		t.Error("no labels must select everything")
	}
}

func FuzzParseSelector(f *testing.F) {
	for _, s := range []string{"", "app=web,tier!=db,env in (a,b),env notin (c),gpu,!spot,cores>4", "a in (,)", "x/y<1", "a\xff=b"} {
		f.Add(s, "a", "b")
	}
	f.Fuzz(func(t *testing.T, s, key, value string) {
		sel, err := kube.ParseSelector(s)
		if err != nil {
			if len(err.Error()) > 4000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		again, err := kube.ParseSelector(sel.String())
		if err != nil || again.String() != sel.String() {
			t.Fatalf("%q prints %q, which reads as %q, %v", s, sel, again, err)
		}
		labels := map[string]string{key: value}
		if sel.Matches(labels) != again.Matches(labels) || sel.Matches(nil) != again.Matches(nil) {
			t.Fatalf("%q and %q match differently", s, sel)
		}
	})
}
