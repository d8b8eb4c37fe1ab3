package client_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// writesOf records the field manager of each write.
type writesOf struct {
	http.RoundTripper
	to *[]string
}

func (w writesOf) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		*w.to = append(*w.to, r.Method+" "+r.URL.Query().Get("fieldManager"))
	}
	return w.RoundTripper.RoundTrip(r)
}

// Config.FieldManager is the owner of what all collections of a client write, unless they
// have their own.
func TestFieldManagerOfClient(t *testing.T) {
	srv := apitest.NewInMemory(t)
	var got []string
	c := newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial, FieldManager: "op",
		Wrap: func(rt http.RoundTripper) http.RoundTripper { return writesOf{rt, &got} }})
	ctx, key := t.Context(), kube.Key{Namespace: "a", Name: "web"}
	maps := client.Of[configMap](c, kube.ConfigMaps)
	set := func(o *configMap) error {
		if o.Data == nil {
			o.Data = map[string]string{}
		}
		o.Data["n"] += "x"
		return nil
	}
	o, err := maps.Create(ctx, configMapOf("a", "web", nil))
	check := func(_ any, e error) {
		t.Helper()
		if e != nil {
			t.Error(e)
		}
	}
	check(o, err)
	changed := o
	changed.Data = map[string]string{"a": "b"}
	check(maps.PatchFrom(ctx, o, changed, client.PatchOptions{}))
	check(maps.Edit(ctx, key, set))
	_, _, err = maps.CreateOrPatch(ctx, key, set)
	check(nil, err)
	check(maps.Patch(ctx, key, client.MergePatch, `{"data":{"b":"c"}}`))
	check(maps.Apply(ctx, key, `{"data":{"c":"d"}}`, client.ApplyOptions{}))
	check(maps.With(client.WriteOptions{FieldManager: "own"}).Patch(ctx, key, client.MergePatch, `{}`))
	check(client.Of[configMap](c.Isolated(), kube.ConfigMaps).Patch(ctx, key, client.MergePatch, `{}`))
	want := []string{"POST op", "PATCH op", "PUT op", "PATCH op", "PATCH op", "PATCH op", "PATCH own", "PATCH op"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if stored := string(srv.Get(kube.ConfigMaps, key)); !strings.Contains(stored, `"manager":"op","operation":"Apply"`) {
		t.Errorf("managedFields: %s", stored)
	}
}

func TestFieldManagerIsLimited(t *testing.T) {
	for manager, want := range map[string]string{
		strings.Repeat("ä", 65): "client: Config.FieldManager of 130 bytes: the API allows 128, of printable characters",
		"a\nb":                  "client: Config.FieldManager of 3 bytes: the API allows 128, of printable characters",
		strings.Repeat("ä", 64): "<nil>",
	} {
		if _, err := client.New(client.Config{Server: "https://h", FieldManager: manager}); fmt.Sprint(err) != want {
			t.Errorf("%q: %v", manager, err)
		}
	}
}

// An operator applies what it wants of an object, as the owner of that.
func ExampleCollection_Apply() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial, FieldManager: "web-operator"})
	if err != nil {
		fmt.Println(err)
		return
	}
	maps := client.Of[configMap](c, kube.ConfigMaps)
	key := kube.Key{Namespace: "a", Name: "web"}
	for _, wanted := range []string{`{"data":{"color":"red","size":"1"}}`, `{"data":{"color":"green"}}`} {
		m, err := maps.Apply(context.Background(), key, wanted, client.ApplyOptions{Force: true})
		fmt.Println(m.Data, err)
	}
	// Output:
	// map[color:red size:1] <nil>
	// map[color:green] <nil>
}
