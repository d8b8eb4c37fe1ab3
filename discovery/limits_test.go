package discovery_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

// manyGroups returns an APIGroupList of n groups, and answers by which each of them has
// one version that is answered by a.
func manyGroups(n int, a answer) map[string]answer {
	var names []string
	answers := map[string]answer{"/api": {http.StatusNotFound, ""}}
	for i := range n {
		names = append(names, fmt.Sprintf(`{"name":"g%d.example.com","versions":[{"version":"v1"}]}`, i))
		answers[fmt.Sprintf("/apis/g%d.example.com/v1", i)] = a
	}
	answers["/apis"] = answer{http.StatusOK, `{"kind":"APIGroupList","groups":[` + strings.Join(names, ",") + `]}`}
	return answers
}

func repeated(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

// TestFetchKeepsALimitedNumberOfResources: of all group versions together, be each of
// them within its own limit.
func TestFetchKeepsALimitedNumberOfResources(t *testing.T) {
	const most = 50_000
	each := answer{http.StatusOK, `{"kind":"APIResourceList","resources":[` + repeated(most/10, `{"name":"a","kind":"A"}`) + `]}`}
	api := mustFetch(t, &server{answers: manyGroups(15, each)})
	if got := len(slices.Collect(api.All())); got != most {
		t.Errorf("%d resources, want %d", got, most)
	}
	broken := api.Broken()
	if len(broken) != 5 {
		t.Errorf("%d broken group versions, want 5", len(broken))
	}
	for name, err := range broken {
		if !strings.Contains(err.Error(), "more than 50000 resources") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFetchReadsALimitedNumberOfBytes: also of what is not kept.
func TestFetchReadsALimitedNumberOfBytes(t *testing.T) {
	large := func(n int) answer {
		return answer{http.StatusOK, `{"kind":"APIResourceList","x":"` + strings.Repeat("x", n) + `"}`}
	}
	answers := manyGroups(10, large(4<<20-100))
	answers["/apis/g3.example.com/v1"] = large(4 << 20)
	broken := slices.Collect(maps.Values(mustFetch(t, &server{answers: answers}).Broken()))
	count := func(text string) int {
		return len(slices.DeleteFunc(slices.Clone(broken), func(err error) bool { return !strings.Contains(err.Error(), text) }))
	}
	if len(broken) != 2 || count("larger than 4 MiB") != 1 || count("more than 32 MiB") != 1 {
		t.Errorf("%v", broken)
	}
}

// TestFetchKeepsLittleOfEachRefusal: there may be thousands of them.
func TestFetchKeepsLittleOfEachRefusal(t *testing.T) {
	refusal := answer{http.StatusForbidden, `{"kind":"Status","code":403,"reason":"Forbidden","message":"` + strings.Repeat("x", 50_000) + `","details":{"causes":[` + repeated(3000, "{}") + `]}}`}
	for name, err := range mustFetch(t, &server{answers: manyGroups(3, refusal)}).Broken() {
		var st *kube.Status
		if !errors.As(err, &st) || !errors.Is(err, kube.ErrForbidden) || !strings.Contains(err.Error(), "/apis/g") {
			t.Fatalf("%s: %.300v", name, err)
		}
		if len(st.Message) > 2000 || st.Details != nil {
			t.Errorf("%s: a message of %d bytes and %v are kept", name, len(st.Message), st.Details != nil)
		}
	}
}

// TestFetchRefusesManyVersionsAtOnce: the time that they take may not grow with their
// square.
func TestFetchRefusesManyVersionsAtOnce(t *testing.T) {
	const many = 100_000
	for name, s := range map[string]*server{
		"preferred": {answers: map[string]answer{"/api": {http.StatusNotFound, ""}, "/apis": {http.StatusOK,
			`{"kind":"APIGroupList","groups":[{"name":"a.b","preferredVersion":{"version":"v1"},"versions":[` + repeated(many, `{"version":"v1"}`) + `]}]}`}}},
		"aggregated": {aggregated: "v2", answers: map[string]answer{"/apis": {http.StatusOK,
			`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"a.b"},"versions":[` + repeated(many, `{"freshness":"Stale"}`) + `]}]}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := fetch(t, s); err == nil || !strings.Contains(err.Error(), "names 100000 group versions, more than 5000") {
				t.Errorf("got %v", err)
			}
		})
	}
}
