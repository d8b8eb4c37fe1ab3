package apitest_test

import (
	"bytes"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

const stateCRD = `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
	"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

var widgetsV1 = kube.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true}

// everything returns the objects of these resources as they are served.
func everything(srv *apitest.Server, resources ...kube.Resource) []string {
	var all []string
	for _, r := range resources {
		objects, _ := srv.List(r)
		for _, b := range objects {
			all = append(all, string(b))
		}
	}
	return all
}

func save(t *testing.T, srv *apitest.Server) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := srv.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSaveKeepsEveryByte: objects of every kind come back as they were, with their
// revisions and the order of managedFields, and what is saved again is the same.
func TestSaveKeepsEveryByte(t *testing.T) {
	resources := []kube.Resource{kube.CustomResourceDefinitions, kube.Namespaces, kube.ConfigMaps, kube.Pods, kube.Deployments, kube.Events, widgetsV1}
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, Namespaces: true, CollectGarbage: true})
	srv.Put(kube.CustomResourceDefinitions, stateCRD)
	for _, request := range []struct{ path, body string }{
		{"/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a","labels":{"z":"1","a":"2"},"finalizers":["x.example.com/y"]},"data":{"k":"<&>","b":"\u2028"}}`},
		{"/api/v1/namespaces/default/pods", `{"metadata":{"generateName":"p-"},"spec":{"containers":[{"name":"c","image":"i"}]}}`},
		{"/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`},
		{"/api/v1/namespaces/default/events", `{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"default"},"reason":"Tested"}`},
		{"/apis/example.com/v1/namespaces/default/widgets", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"z":9007199254740993,"a":[1.0,null]}}`},
	} {
		resp, err := send(t.Context(), srv, http.MethodPost, request.path, request.body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s", request.path, resp.Status)
		}
	}
	srv.Close()
	saved := save(t, srv)
	again := apitest.NewWith(t, apitest.Options{InMemory: true, Namespaces: true, CollectGarbage: true, State: saved})
	if diff := cmp.Diff(everything(srv, resources...), everything(again, resources...)); diff != "" {
		t.Errorf("(-saved +restored):\n%s", diff)
	}
	if again.Revision() != srv.Revision() {
		t.Errorf("at revision %s, want that of the server that was closed, %s", again.Revision(), srv.Revision())
	}
	again.Close()
	want := strings.Replace(string(saved), `"life":{"number":0`, `"life":{"number":1`, 1)
	if diff := cmp.Diff(want, string(save(t, again))); diff != "" {
		t.Errorf("saved again (-want +got):\n%s", diff)
	}
}

// TestSaveOfARunningServer: what a server gives out after it was saved is lost with
// it, and never given out again.
func TestSaveOfARunningServer(t *testing.T) {
	const object = `{"metadata":{"namespace":"default","name":"a"}}`
	o := apitest.Options{InMemory: true, Seed: 3}
	srv := apitest.NewWith(t, o)
	srv.Put(kube.ConfigMaps, object)
	uids := map[string]bool{}
	uid := func(srv *apitest.Server) string {
		_, rest, _ := strings.Cut(string(srv.Get(kube.ConfigMaps, kube.Key{Namespace: "default", Name: "a"})), `"uid":"`)
		return rest[:36]
	}
	uids[uid(srv)] = true
	for range 5 {
		saved := save(t, srv)
		for range 10 { // lost
			srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "default", Name: "a"})
			srv.Put(kube.ConfigMaps, object)
			uids[uid(srv)] = true
		}
		lost := srv.Revision()
		o.State = saved
		srv = apitest.NewWith(t, o)
		if order, err := srv.Revision().Compare(lost); err != nil || order <= 0 {
			t.Fatalf("at revision %s, and a client has seen %s", srv.Revision(), lost)
		}
		resp, err := send(t.Context(), srv, http.MethodGet, "/api/v1/configmaps?watch=1&resourceVersion="+string(lost), "")
		if err != nil {
			t.Fatal(err)
		}
		if e, err := next(resp.Body); err != nil || !strings.Contains(e, `"code":410`) {
			t.Errorf("a watch from a lost revision: %s, %v, want 410", e, err)
		}
		resp.Body.Close()
		srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "default", Name: "a"})
		srv.Put(kube.ConfigMaps, object)
		if uids[uid(srv)] {
			t.Fatal("a UID is given out twice")
		}
		uids[uid(srv)] = true
	}
}

// next returns the first event of a watch.
func next(body interface{ Read([]byte) (int, error) }) (string, error) {
	var line []byte
	for one := make([]byte, 1); ; line = append(line, one[0]) {
		if _, err := body.Read(one); err != nil {
			return string(line), err
		}
		if one[0] == '\n' {
			return string(line), nil
		}
	}
}

// TestStateThatCannotBeUsed: the error says which item, and quotes no object.
func TestStateThatCannotBeUsed(t *testing.T) {
	for state, want := range map[string]string{
		``:                                    "state: it is not JSON, at byte 0",
		`{"kind":"List",`:                     "state: it is not JSON, at byte 15",
		`[]`:                                  "state: it is not a List",
		`{"kind":"Secret"}`:                   "state: it is not a List",
		`{"kind":"List","life":{"next":"x"}}`: "state: life.next is not a revision",
		`{"kind":"List","life":{"next":"18446744073709551615"}}`:                                                                                        "state: its revision is too large",
		`{"kind":"List","items":[{"kind":"Nope","apiVersion":"v1","metadata":{"name":"a"}}]}`:                                                           `item 1: the server has no kind "Nope" in "v1": its CustomResourceDefinition is missing`,
		`{"kind":"List","items":[{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","labels":7}}]}`:                                              "item 1: its metadata cannot be read",
		`{"kind":"List","items":[{"kind":"Secret","apiVersion":"v1","metadata":{}}]}`:                                                                   "item 1: it has no name",
		`{"kind":"List","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}},{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}]}`: "item 2: nodes a is there twice",
		`{"kind":"List","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"18446744073709551615"}}]}`:                  "state: its revision is too large",
	} {
		srv, err := apitest.Start(apitest.Options{InMemory: true, State: []byte(state)})
		if err == nil {
			srv.Close()
		}
		if wrong := (*apitest.StateError)(nil); !errors.As(err, &wrong) || wrong.Error() != want {
			t.Errorf("%s: %v, want %q", state, err, want)
		}
	}
}

// TestStateWithShortItemsTakesNoMemory: items that are refused do not take memory first,
// however many there are.
func TestStateWithShortItemsTakesNoMemory(t *testing.T) {
	const size = 4 << 20
	for _, test := range []struct{ name, item, want string }{
		{"empty items", `{},`, `item 1: it has no kind`},
		{"no name", `{"kind":"Secret","apiVersion":"v1"},`, "item 1: it has no name"},
		{"nothing else", `0,`, "item 1: its metadata cannot be read"},
	} {
		state := []byte(`{"kind":"List","items":[` + strings.Repeat(test.item, size/len(test.item)) + `{}]}`)
		var err error
		took := allocatedBy(func() { _, err = apitest.Start(apitest.Options{InMemory: true, State: state}) })
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		if took > 2*size {
			t.Errorf("%s: %d bytes of items took %d", test.name, size, took)
		}
	}
}

// allocatedBy returns how many bytes f allocates.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
