package apitest_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// twoVersions defines widgets; stored is v1 or v1alpha1.
func twoVersions(stored string) string {
	version := func(name, field string) string {
		return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"},%q:{"type":"string"}}}}}}}`,
			name, name == stored, field)
	}
	return `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget","singular":"widget","listKind":"WidgetList"},` +
		`"versions":[` + version("v1alpha1", "old") + `,` + version("v1", "color") + `]}}`
}

const widgets = "/apis/example.com/%s/namespaces/a/widgets"

// lines returns the lines of a watch of widgets up to its end, as type, apiVersion,
// name, what there is of spec, and the revision.
func lines(t *testing.T, w *stream) (list []string) {
	t.Helper()
	for {
		line, err := w.line()
		if err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		spec := ""
		if _, rest, found := strings.Cut(line, `"spec":`); found {
			spec = strings.TrimSuffix(strings.TrimSpace(rest), "}}")
		}
		name := ""
		if strings.Contains(line, `"name"`) {
			name = field(t, line, "object", "metadata", "name")
		}
		list = append(list, fmt.Sprint(field(t, line, "type"), " ", field(t, line, "object", "apiVersion"), " ", name, " ", field(t, line, "object", "metadata", "resourceVersion"), " ", spec))
	}
}

// A watch sends everything in its own version, and ends when the versions change;
// the next goes on where it ended, though another version is stored by then.
func TestWatchesOfVersions(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.Put(kube.CustomResourceDefinitions, twoVersions("v1")) // 104
		r := kube.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true}
		srv.Put(r, `{"metadata":{"namespace":"a","name":"x"},"spec":{"size":1,"color":"red"}}`) // 105
		alpha := fmt.Sprintf(widgets, "v1alpha1")
		first := watch(t, srv, alpha+"?watch=1&resourceVersion=104&allowWatchBookmarks=true")
		second := watch(t, srv, fmt.Sprintf(widgets, "v1")+"?watch=1")
		srv.Put(r, `{"metadata":{"namespace":"a","name":"x"},"spec":{"size":2}}`) // 106
		srv.Bookmark()
		srv.Put(r, `{"metadata":{"namespace":"a","name":"x"},"spec":{"size":3}}`) // 107
		srv.Put(kube.CustomResourceDefinitions, twoVersions("v1alpha1"))          // 108
		want := []string{"ADDED example.com/v1alpha1 x 105 {\"size\":1}", "MODIFIED example.com/v1alpha1 x 106 {\"size\":2}", "MODIFIED example.com/v1alpha1 x 107 {\"size\":3}"}
		got := lines(t, first)
		for i, l := range got { // the bookmark comes between any two
			if strings.HasPrefix(l, "BOOKMARK example.com/v1alpha1 ") {
				got = append(got[:i], got[i+1:]...)
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("v1alpha1 (-want +got):\n%s", diff)
		}
		want = []string{"ADDED example.com/v1 x 105 {\"size\":1,\"color\":\"red\"}", "MODIFIED example.com/v1 x 106 {\"size\":2}", "MODIFIED example.com/v1 x 107 {\"size\":3}"}
		if diff := cmp.Diff(want, lines(t, second)); diff != "" {
			t.Errorf("v1 (-want +got):\n%s", diff)
		}
		// What was stored in the other version has its fields, which this one does not show.
		before := watch(t, srv, alpha+"?watch=1&resourceVersion=104")
		if line, err := before.line(); err != nil || !strings.Contains(line, `"spec":{"size":1}`) {
			t.Errorf("v1alpha1 once it is stored: %s, error %v", line, err)
		}
		srv.Delete(kube.Resource{Group: "example.com", Version: "v1alpha1", Plural: "widgets", Kind: "Widget", Namespaced: true}, kube.Key{Namespace: "a", Name: "x"}) // 109
		want = []string{"MODIFIED example.com/v1 x 106 {\"size\":2}", "MODIFIED example.com/v1 x 107 {\"size\":3}", "DELETED example.com/v1 x 109 {\"size\":3}"}
		if diff := cmp.Diff(want, lines(t, watch(t, srv, fmt.Sprintf(widgets, "v1")+"?watch=1&resourceVersion=105&timeoutSeconds=1"))); diff != "" {
			t.Errorf("v1, resumed (-want +got):\n%s", diff)
		}
		want = []string{"MODIFIED example.com/v1alpha1 x 107 {\"size\":3}", "DELETED example.com/v1alpha1 x 109 {\"size\":3}"}
		if diff := cmp.Diff(want, lines(t, watch(t, srv, alpha+"?watch=1&resourceVersion=106&timeoutSeconds=1"))); diff != "" {
			t.Errorf("v1alpha1, resumed (-want +got):\n%s", diff)
		}
	})
}

// TestPutInAVersionThatIsNotStored: Put and PutYAML take an object in any version.
func TestPutInAVersionThatIsNotStored(t *testing.T) {
	srv := apitest.New(t)
	srv.Put(kube.CustomResourceDefinitions, twoVersions("v1alpha1"))
	w := kube.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true}
	srv.Put(w, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"a","name":"w"}}`)
	srv.PutYAML("{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: a, name: y}}")
	var got []string
	for _, o := range apitest.Objects[kube.Partial](srv, w) {
		got = append(got, o.Name)
	}
	if d := cmp.Diff([]string{"w", "y"}, got); d != "" {
		t.Error(d)
	}
}
