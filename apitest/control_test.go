package apitest_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// Many edit one object, and others write it beside: nothing is lost.
func TestEditLosesNoWrite(t *testing.T) {
	srv := apitest.NewInMemory(t)
	key := kube.Key{Namespace: "a", Name: "x"}
	add := func(name string) func(old []byte) any {
		return func(old []byte) any {
			if old == nil {
				return configMap("x", name)
			}
			return bytes.Replace(old, []byte(`"k":"`), []byte(`"k":"`+name+`,`), 1)
		}
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for n := range 20 {
				srv.Edit(kube.ConfigMaps, key, add(fmt.Sprintf("%02d.%02d", i, n)))
			}
		})
	}
	all.Wait()
	names := strings.Split(field(t, string(srv.Get(kube.ConfigMaps, key)), "data", "k"), ",")
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	if len(names) != 400 || len(seen) != 400 || srv.Revision() != "500" {
		t.Errorf("%d of 400 edits are there, %d of them once, at %s", len(names), len(seen), srv.Revision())
	}
}

func TestEditIsComputedAgain(t *testing.T) {
	srv := apitest.NewInMemory(t)
	key := kube.Key{Namespace: "a", Name: "x"}
	var saw []string
	edit := func(change func(old []byte) any) {
		rv := srv.Edit(kube.ConfigMaps, key, func(old []byte) any {
			text := "nothing"
			if old != nil {
				text = field(t, string(old), "data", "k")
			}
			saw = append(saw, text)
			return change(old)
		})
		saw = append(saw, "at "+string(rv))
	}
	edit(func([]byte) any { return nil })                   // leaves nothing
	edit(func([]byte) any { return configMap("x", "one") }) // creates
	edit(func([]byte) any { return nil })
	first := true
	edit(func(old []byte) any { // somebody is quicker
		if first {
			first = false
			srv.Put(kube.ConfigMaps, configMap("x", "two"))
		}
		return bytes.Replace(old, []byte(`"k":"`), []byte(`"k":"after `), 1)
	})
	first = true
	edit(func([]byte) any { // or deletes it
		if first {
			first = false
			srv.Delete(kube.ConfigMaps, key)
		}
		return configMap("x", "three")
	})
	edit(func(old []byte) any { return old }) // is no write
	want := []string{"nothing", "at ", "nothing", "at 101", "one", "at 101", "one", "two", "at 103", "after two", "nothing", "at 105", "three", "at 105"}
	if diff := cmp.Diff(want, saw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEditOfAnotherObjectFails(t *testing.T) {
	tb := &complaints{TB: t}
	srv := apitest.NewWith(tb, apitest.Options{InMemory: true})
	rv := srv.Edit(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "x"}, func([]byte) any { return configMap("y", "1") })
	if rv != "" || len(tb.fatal) != 1 || !strings.Contains(tb.fatal[0], "the object is that of a/y") || srv.Revision() != "100" {
		t.Errorf("%q at %q: %q", rv, srv.Revision(), tb.fatal)
	}
}

// complaints keeps what fails a test.
type complaints struct {
	testing.TB
	fatal []string
}

func (c *complaints) Fatalf(format string, args ...any) {
	c.fatal = append(c.fatal, fmt.Sprintf(format, args...))
}

func TestDeleteIfLooksAgain(t *testing.T) {
	srv := apitest.NewInMemory(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: configMap("x", "1")})
	key := kube.Key{Namespace: "a", Name: "x"}
	var saw []string
	remove := func(value string) {
		rv := srv.DeleteIf(kube.ConfigMaps, key, func(old []byte) bool {
			have := field(t, string(old), "data", "k")
			if saw = append(saw, have); have == "1" {
				srv.Put(kube.ConfigMaps, configMap("x", "2"))
			}
			return have == value
		})
		saw = append(saw, "at "+string(rv))
	}
	remove("1")
	remove("2")
	remove("2")
	if diff := cmp.Diff([]string{"1", "2", "at ", "2", "at 103", "at "}, saw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWaitForWatchesTakesMore: more watches than are waited for are no reason to wait.
func TestWaitForWatchesTakesMore(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		for range 3 {
			watch(t, srv, configMaps+"?watch=1&resourceVersion=103")
		}
		for _, n := range []int{1, 2, 3} {
			limit, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := srv.WaitForWatches(limit, n); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestFaultScriptWithAByteOrderMark: some editors write one.
func TestFaultScriptWithAByteOrderMark(t *testing.T) {
	rules, err := faults.Parse("\ufefflist pods: status 500\n")
	if err != nil || len(rules) != 1 {
		t.Errorf("%v, %v", rules, err)
	}
}

// TestObjectsAreReadInTheVersionThatIsAsked: what was put in a version that is not stored comes
// back in it, and an Edit takes what a Put takes.
func TestObjectsAreReadInTheVersionThatIsAsked(t *testing.T) {
	srv := apitest.NewInMemory(t)
	srv.PutYAML(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	beta := widgetsV1
	beta.Version = "v1beta1"
	events := kube.Resource{Group: "events.k8s.io", Version: "v1", Plural: "events", Kind: "Event", Namespaced: true}
	key := kube.Key{Namespace: "a", Name: "w"}
	for _, tt := range []struct {
		r   kube.Resource
		put string
	}{
		{beta, `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"namespace":"a","name":"w"},"note":"put"}`},
		{widgetsV1, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"a","name":"w"},"note":"put"}`},
		{events, `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"namespace":"a","name":"w"},"note":"put"}`},
	} {
		type noted struct{ APIVersion, Note string }
		srv.Put(tt.r, tt.put)
		if got, _ := apitest.Object[noted](srv, tt.r, key); got != (noted{tt.r.APIVersion(), "put"}) {
			t.Errorf("%s: got %+v", tt.r, got)
		}
		srv.Edit(tt.r, key, func(old []byte) any { return strings.Replace(string(old), `"put"`, `"edited"`, 1) })
		if got := apitest.Objects[noted](srv, tt.r); len(got) != 1 || got[0] != (noted{tt.r.APIVersion(), "edited"}) {
			t.Errorf("%s: listed after an edit: %+v", tt.r, got)
		}
		if srv.DeleteIf(tt.r, key, func(old []byte) bool { return strings.Contains(string(old), tt.r.APIVersion()) }) == "" {
			t.Errorf("%s: not deleted", tt.r)
		}
	}
}

// TestPutTakesAnEventWithoutAVersion in that of its resource.
func TestPutTakesAnEventWithoutAVersion(t *testing.T) {
	srv := apitest.NewInMemory(t)
	later := kube.Resource{Group: "events.k8s.io", Version: "v1", Plural: "events", Kind: "Event", Namespaced: true}
	srv.Put(later, `{"metadata":{"namespace":"a","name":"e"},"note":"hello","regarding":{"kind":"Pod","name":"p"}}`)
	e, _ := apitest.Object[struct {
		Message        string
		InvolvedObject struct{ Name string }
	}](srv, kube.Events, kube.Key{Namespace: "a", Name: "e"})
	if e.Message != "hello" || e.InvolvedObject.Name != "p" {
		t.Errorf("it is stored as %s", srv.Get(kube.Events, kube.Key{Namespace: "a", Name: "e"}))
	}
}
