package compat_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listwatch/listwatch/kube"
)

// TestLabelSelectorsSelectAsInApimachinery compares random selectors, of which some are
// not valid: whether they are refused, which labels they match, and that the printed
// form has the same meaning for the API server.
func TestLabelSelectorsSelectAsInApimachinery(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	key := func() string { return pick("a", "a", "b", "b", "example.com/c", "example.com/c", "a", "b", "_", "") }
	value := func() string { return pick("", "1", "2", "x", "1", "2", "x", "1", "2", "no value") }
	refused, matched := 0, 0
	const rounds = 20000
	for range rounds {
		var theirs metav1.LabelSelector
		for range r.IntN(3) {
			metav1.AddLabelToSelector(&theirs, key(), value())
		}
		for range r.IntN(3) {
			e := metav1.LabelSelectorRequirement{Key: key(), Operator: metav1.LabelSelectorOperator(pick("In", "NotIn", "In", "NotIn", "Exists", "DoesNotExist", "in"))}
			if n := r.IntN(4); e.Operator == "In" || e.Operator == "NotIn" || n == 0 {
				for range r.IntN(4) {
					e.Values = append(e.Values, value())
				}
			}
			theirs.MatchExpressions = append(theirs.MatchExpressions, e)
		}
		b, err := json.Marshal(theirs)
		if err != nil {
			t.Fatal(err)
		}
		var ours kube.LabelSelector
		if err := json.Unmarshal(b, &ours); err != nil {
			t.Fatal(err)
		}
		want, wantErr := metav1.LabelSelectorAsSelector(&theirs)
		got, gotErr := ours.Selector()
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%s: apimachinery %v, listwatch %v", b, wantErr, gotErr)
		}
		if wantErr != nil {
			refused++
			continue
		}
		printed, err := labels.Parse(got.String())
		if err != nil {
			t.Fatalf("%s: apimachinery does not parse %q: %v", b, got, err)
		}
		for range 5 {
			set := labels.Set{}
			for range r.IntN(4) {
				set[pick("a", "b", "example.com/c")] = pick("", "1", "2", "x")
			}
			is := want.Matches(set)
			if is {
				matched++
			}
			if got.Matches(set) != is || printed.Matches(set) != is {
				t.Fatalf("%s, labels %v: apimachinery %t, listwatch %t, its printed form %t", b, set, is, got.Matches(set), printed.Matches(set))
			}
		}
	}
	if refused < rounds/20 || refused > rounds*19/20 || matched < rounds/20 {
		t.Errorf("of %d selectors %d were refused, %d matches: the test compares too little", rounds, refused, matched)
	}
}
