package apitest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// definitionNames is what a test of names sees of a definition.
type definitionNames struct {
	Conditions, Names string
	Served            bool
}

// named returns the definition of plural in the group example.com, and whether it is served.
func named(t *testing.T, srv *apitest.Server, plural string) (n definitionNames) {
	t.Helper()
	var o struct {
		Status struct {
			AcceptedNames json.RawMessage
			Conditions    []struct{ Type, Status, Reason, Message string }
		}
	}
	if err := json.Unmarshal(srv.Get(kube.CustomResourceDefinitions, kube.Key{Name: plural + ".example.com"}), &o); err != nil {
		t.Fatal(err)
	}
	for _, c := range o.Status.Conditions {
		n.Conditions += fmt.Sprintf("%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	var names struct {
		Plural, Singular, Kind, ListKind string
		ShortNames                       []string
	}
	if err := json.Unmarshal(o.Status.AcceptedNames, &names); err != nil {
		t.Fatal(err)
	}
	n.Names = fmt.Sprint(names)
	code, _ := do(t, srv, http.MethodGet, "/apis/example.com/v1/"+plural, "")
	_, group := do(t, srv, http.MethodGet, "/apis/example.com/v1", "")
	n.Served = code == http.StatusOK
	if n.Served != strings.Contains(group, `"name":"`+plural+`"`) {
		t.Errorf("%s: a list gets %d, and discovery has %s", plural, code, group)
	}
	return n
}

const (
	definitions      = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	namesAccepted    = "NamesAccepted=True NoConflicts: no conflicts found\n"
	namesEstablished = "Established=True InitialNamesAccepted: the initial names have been accepted\n"
	namesRefused     = "Established=False NotAccepted: not all names are accepted\n"
)

// define creates a definition of the group example.com.
func define(t *testing.T, srv *apitest.Server, plural, names string) {
	t.Helper()
	code, body := do(t, srv, http.MethodPost, definitions, fmt.Sprintf(`{"metadata":{"name":"%[1]s.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":%[1]q,%[2]s},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, plural, names))
	if code != http.StatusCreated {
		t.Fatalf("create %s: %d %s", plural, code, body)
	}
}

// rename changes names of a definition.
func rename(t *testing.T, srv *apitest.Server, plural, names string) {
	t.Helper()
	code, body := do(t, srv, http.MethodPatch, definitions+"/"+plural+".example.com", `{"spec":{"names":{`+names+`}}}`, "Content-Type", "application/merge-patch+json")
	if code != http.StatusOK {
		t.Fatalf("rename %s: %d %s", plural, code, body)
	}
}

// TestDefinitionWithNamesOfAnother: it is served when the other one is gone, or has other names.
func TestDefinitionWithNamesOfAnother(t *testing.T) {
	const foo = `"singular":"foo","kind":"Foo","listKind":"FooList","shortNames":["f","fo"]`
	for _, c := range []struct{ names, conflict, accepted, rename string }{
		{`"kind":"Foo","listKind":"BarList"`, `KindConflict: "Foo" is already in use`, "{bars   BarList []}", ""},
		{`"kind":"Bar","listKind":"FooList"`, `ListKindConflict: "FooList" is already in use`, "{bars bar Bar  []}", `"listKind":"OtherList"`},
		{`"kind":"Bar","singular":"foo"`, `SingularConflict: "foo" is already in use`, "{bars  Bar BarList []}", `"singular":"other"`},
		{`"kind":"Bar","singular":"foos"`, `SingularConflict: "foos" is already in use`, "{bars  Bar BarList []}", ""},
		{`"kind":"Bar","shortNames":["b","fo"]`, `ShortNamesConflict: "fo" is already in use`, "{bars bar Bar BarList []}", `"shortNames":["f"]`},
		{`"kind":"Bar","shortNames":["f","fo"]`, `ShortNamesConflict: ["f" is already in use, "fo" is already in use]`, "{bars bar Bar BarList []}", `"shortNames":null`},
		{`"kind":"Foo"`, `ListKindConflict: "FooList" is already in use`, "{bars    []}", ""},
	} {
		t.Run(c.names, func(t *testing.T) {
			srv := apitest.NewInMemory(t)
			define(t, srv, "foos", foo)
			define(t, srv, "bars", c.names)
			want := definitionNames{"NamesAccepted=False " + c.conflict + "\n" + namesRefused, c.accepted, false}
			if diff := cmp.Diff(want, named(t, srv, "bars")); diff != "" {
				t.Errorf("beside foos (-want +got):\n%s", diff)
			}
			if c.rename == "" {
				do(t, srv, http.MethodDelete, definitions+"/foos.example.com", "")
			} else {
				rename(t, srv, "foos", c.rename)
			}
			if got := named(t, srv, "bars"); got.Conditions != namesAccepted+namesEstablished || !got.Served {
				t.Errorf("when its names are free: %+v", got)
			}
		})
	}
}

// TestDefinitionThatTakesNamesOfAnother: one that is served keeps its names and is served on,
// also after a restart.
func TestDefinitionThatTakesNamesOfAnother(t *testing.T) {
	srv := apitest.NewInMemory(t)
	define(t, srv, "foos", `"kind":"Foo","shortNames":["f"]`)
	define(t, srv, "bars", `"kind":"Bar","shortNames":["b"]`)
	rename(t, srv, "bars", `"shortNames":["f"]`)
	want := definitionNames{"NamesAccepted=False ShortNamesConflict: \"f\" is already in use\n" + namesEstablished, "{bars bar Bar BarList [b]}", true}
	if diff := cmp.Diff(want, named(t, srv, "bars")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, group := do(t, srv, http.MethodGet, "/apis/example.com/v1", ""); !strings.Contains(group, `"shortNames":["b"]`) {
		t.Errorf("discovery has other short names: %s", group)
	}
	define(t, srv, "acts", `"kind":"Act","shortNames":["f"]`) // is refused, too
	var state bytes.Buffer
	if _, err := srv.Save(&state); err != nil {
		t.Fatal(err)
	}
	again := apitest.NewWith(t, apitest.Options{InMemory: true, State: state.Bytes()})
	for plural, served := range map[string]bool{"acts": false, "bars": true, "foos": true} {
		was, is := named(t, srv, plural), named(t, again, plural)
		if diff := cmp.Diff(was, is); diff != "" || is.Served != served {
			t.Errorf("%s after a restart: served %v (-before +after):\n%s", plural, is.Served, diff)
		}
	}
}

// TestDefinitionThatIsNotServedMayChangeItsKind, unlike one that is.
func TestDefinitionThatIsNotServedMayChangeItsKind(t *testing.T) {
	srv := apitest.NewInMemory(t)
	define(t, srv, "foos", `"kind":"Foo"`)
	define(t, srv, "bars", `"kind":"Foo"`)
	at := srv.Revision()
	rename(t, srv, "bars", `"singular":"bar","kind":"Bar","listKind":"BarList"`)
	if got := named(t, srv, "bars"); got.Conditions != namesAccepted+namesEstablished || !got.Served {
		t.Errorf("with free names: %+v", got)
	}
	srv.RestoreTo(at)
	if got := named(t, srv, "bars"); got.Served || got.Names != "{bars    []}" {
		t.Errorf("after a restore to the time before: %+v", got)
	}
}

// TestMirrorOfADefinitionThatWaits stores and serves nothing.
func TestMirrorOfADefinitionThatWaits(t *testing.T) {
	srv := apitest.NewInMemory(t)
	define(t, srv, "foos", `"kind":"Foo"`)
	define(t, srv, "bars", `"kind":"Foo"`)
	bars := kube.Resource{Group: "example.com", Version: "v1", Plural: "bars", Kind: "Foo", Namespaced: true}
	rev, err := srv.Mirror(apitest.ResourceInfo{Resource: bars}, kube.Key{Namespace: "d", Name: "x"}, []byte(`{"metadata":{"namespace":"d","name":"x"}}`))
	if got := named(t, srv, "bars"); rev != "" || err != nil || got.Served {
		t.Errorf("got %q, %v, and %+v", rev, err, got)
	}
}
