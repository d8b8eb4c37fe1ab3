package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

// source connects to the cluster as the program does.
func (s *stage) source() *source {
	s.t.Helper()
	p := &program{connect: connection{kubeconfig: s.args[1], cluster: "c"}, env: func(string) string { return "" }, log: slog.New(slog.DiscardHandler)}
	src, err := p.source(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return src
}

// form is the media type of the documents of offered.
const form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// offered returns what a server serves that says this of the versions of example.com.
func offered(t *testing.T, versions string) *discovery.API {
	t.Helper()
	known := discovery.Known{
		Core:   discovery.Document{ETag: "1", ContentType: form, Body: []byte(`{"kind":"APIGroupDiscoveryList"}`)},
		Groups: discovery.Document{ETag: "1", ContentType: form, Body: fmt.Appendf(nil, `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"example.com"},"versions":[%s]}]}`, versions)},
	}
	api, err := known.API()
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// TestRowsStayWhileAnotherServerMayServeTheType: an APIService of any version of the group
// routes it to another server, which need not answer at the moment.
func TestRowsStayWhileAnotherServerMayServeTheType(t *testing.T) {
	const other, own = `,"service":{"name":"s","namespace":"shop"},"insecureSkipTLSVerify":true`, ""
	fail := func(code int) http.HandlerFunc { return faults.Answer(&kube.Status{Code: code}) }
	for _, tt := range []struct {
		name     string
		services map[string]string // what APIServices of the group have besides the version
		versions string            // in the response of discovery
		answer   http.HandlerFunc  // to a request for APIServices
		gone     bool
	}{
		{name: "none", gone: true},
		{name: "own", services: map[string]string{"v1.example.com": own, "v2.example.com": own}, gone: true},
		{name: "same version", services: map[string]string{"v1.example.com": other}},
		{name: "other version", services: map[string]string{"v2.example.com": other}},
		{name: "both", services: map[string]string{"v1.example.com": own, "v2.example.com": other}},
		{name: "other group", services: map[string]string{"v1.notexample.com": other, "v1.a.example.com": other}, gone: true},
		{name: "stale version", versions: `{"version":"v2","freshness":"Stale"}`},
		{name: "forbidden", answer: fail(http.StatusForbidden)},
		{name: "unknown", answer: fail(http.StatusNotFound), gone: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			for name, spec := range tt.services {
				version, group, _ := strings.Cut(name, ".")
				s.server.Put(apiServices, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"group":%q,"version":%q,"groupPriorityMinimum":1000,"versionPriority":10%s}}`, name, group, version, spec))
			}
			if tt.answer != nil {
				s.server.On(apitest.Match{Resource: apiServices.GroupResource()}, tt.answer)
			}
			var log bytes.Buffer
			f := &fleet{source: s.source(), p: &program{log: slog.New(slog.NewTextHandler(&log, nil))}}
			for range 2 {
				if got := f.gone(t.Context(), servedBy(offered(t, tt.versions)), widgets("v1")); got != tt.gone {
					t.Errorf("gone: %t, want %t", got, tt.gone)
				}
			}
			if got := strings.Count(log.String(), "APIServices cannot be listed"); (got == 1) != (tt.name == "forbidden") {
				t.Errorf("it was said %d times that APIServices cannot be listed", got)
			}
		})
	}
}

// describe returns a type as discovery describes it.
func describe(plural, verbs string) string {
	return fmt.Sprintf(`{"resource":%q,"responseKind":{"kind":"Widget"},"scope":"Namespaced","verbs":[%s]}`, plural, verbs)
}

// TestNamedTypeInTheVersionOfEveryType: the first version of a type may lack list and watch. A
// name without a version then means the version in which '*' reads the type.
func TestNamedTypeInTheVersionOfEveryType(t *testing.T) {
	const both = `"list","watch"`
	api := offered(t, fmt.Sprintf(`{"version":"v1","resources":[%s,%s]},{"version":"v1beta1","resources":[%s]},{"version":"v1alpha1","resources":[%s]}`,
		describe("widgets", `"create"`), describe("never", `"list"`), describe("widgets", both), describe("widgets", both)))
	for name, want := range map[string]string{
		"*":                            "v1beta1",
		"widgets":                      "v1beta1",
		"Widgets.example.com":          "v1beta1",
		"widgets.exam":                 "v1beta1",
		"widgets.v1beta1.example.com":  "v1beta1",
		"widgets.v1alpha1.example.com": "v1alpha1",
		"Widgets.V1.example.com":       "widgets.example.com cannot be listed and watched: the server offers only: create",
		"never.example.com":            "never.example.com cannot be listed and watched: the server offers only: list",
	} {
		all, err := resources(api, []string{name})
		got := fmt.Sprint(err)
		if len(all) == 1 {
			got = all[0].Version
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
