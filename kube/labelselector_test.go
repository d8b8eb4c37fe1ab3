package kube_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

func TestLabelSelector(t *testing.T) {
	values := []string{"b", "a", "b"}
	one := func(key, operator string, values ...string) kube.LabelSelector {
		return kube.LabelSelector{MatchExpressions: []kube.LabelRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	for _, c := range []struct {
		in   kube.LabelSelector
		want string // the selector, or what the error says
	}{
		{kube.LabelSelector{}, ""},
		{kube.LabelSelector{MatchLabels: map[string]string{"b": "2", "a": ""}}, "a=,b=2"},
		{one("env", "In", values...), "env in (a,b)"},
		{one("env", "NotIn", values...), "env notin (a,b)"},
		{one("env", "Exists"), "env"},
		{one("env", "DoesNotExist"), "!env"},
		{kube.LabelSelector{MatchLabels: map[string]string{"z": "1"}, MatchExpressions: one("env", "Exists").MatchExpressions}, "env,z=1"},
		{kube.LabelSelector{MatchLabels: map[string]string{"_": "1"}}, `matchLabels: label key "_"`},
		{kube.LabelSelector{MatchLabels: map[string]string{"a": "b c"}}, `matchLabels: label value "b c"`},
		{one("", "Exists"), "matchExpressions[0]: a label key is missing"},
		{one("env", "in", "a"), `operator "in": want In, NotIn, Exists or DoesNotExist`},
		{one("env", "In"), `In of "env" has no values`},
		{one("env", "NotIn"), `NotIn of "env" has no values`},
		{one("env", "In", "a", "-"), `label value "-"`},
		{one("env", "Exists", "a"), `Exists of "env" has values`},
		{one("env", "DoesNotExist", "a"), `DoesNotExist of "env" has values`},
	} {
		s, err := c.in.Selector()
		if err == nil && s.String() != c.want || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want) || !s.Empty()) {
			t.Errorf("%+v: %q, %v; want %q", c.in, s, err, c.want)
		}
	}
	if diff := cmp.Diff([]string{"b", "a", "b"}, values); diff != "" {
		t.Errorf("the values that were given (-want +got):\n%s", diff)
	}
}
