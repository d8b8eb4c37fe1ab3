package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

func TestCatalogHasWhatTheServerServes(t *testing.T) {
	var catalog schema.Catalog
	for _, r := range []kube.Resource{
		kube.ConfigMaps, kube.Endpoints, kube.Events, kube.Namespaces, kube.Nodes, kube.PersistentVolumeClaims,
		kube.PersistentVolumes, kube.Pods, kube.Secrets, kube.ServiceAccounts, kube.Services, kube.DaemonSets,
		kube.Deployments, kube.ReplicaSets, kube.StatefulSets, kube.CronJobs, kube.Jobs, kube.Leases,
		kube.EndpointSlices, kube.Ingresses, kube.CustomResourceDefinitions,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectAccessReview"},
		{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenReview"},
	} {
		typ, err := catalog.Type(r)
		if err != nil {
			t.Error(err)
			continue
		}
		if p := typ.Typed(); !p.IsValid() {
			t.Errorf("%s: structured-merge-diff cannot resolve it", r)
		}
		o := map[string]any{"apiVersion": r.APIVersion(), "kind": r.Kind, "metadata": map[string]any{"name": "a", "labels": map[string]any{"l": "1"}}}
		typ.Update(nil, o, schema.Write{Manager: "m", Now: now})
		if o["metadata"].(map[string]any)["managedFields"] == nil {
			t.Errorf("%s: no managedFields", r)
		}
	}
	if _, err := catalog.Type(kube.Resource{Version: "v1", Kind: "Nonsense"}); !errors.Is(err, schema.ErrUnknown) {
		t.Errorf("an unknown type: %v", err)
	}
	if got := schema.Origin(); !strings.HasPrefix(got, "kube-apiserver v1.") {
		t.Errorf("Origin is %q", got)
	}
}

func TestCatalogServesManyAtOnce(t *testing.T) {
	var catalog schema.Catalog
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := []kube.Resource{kube.Pods, kube.Deployments, kube.Services, kube.Jobs}[i%4]
			typ, err := catalog.Type(r)
			if err != nil {
				t.Error(err)
				return
			}
			o := map[string]any{"metadata": map[string]any{"labels": map[string]any{"l": "1"}}}
			typ.Update(nil, o, schema.Write{Now: now})
			typ.Prune(o)
		})
	}
	wg.Wait()
}

func TestDecode(t *testing.T) {
	got, err := schema.Decode([]byte(` {"i":9223372036854775807,"n":-1,"big":9223372036854775808,"f":1.5,"e":1e2,"s":"a\u00e9\n","t":true,"f2":false,"z":null,"l":[[],{}],"i":7} `))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"n": int64(-1), "big": float64(9223372036854775808), "f": 1.5, "e": 100.0, "s": "aé\n",
		"t": true, "f2": false, "z": nil, "l": []any{[]any{}, map[string]any{}}, "i": int64(7)}
	if diff := gocmp.Diff(any(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "{", `{"a":1}x`, "[1e999]", strings.Repeat("[", 600) + strings.Repeat("]", 600), strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600)} {
		if v, err := schema.Decode([]byte(text)); err == nil {
			t.Errorf("%.20q: decoded as %v", text, v)
		}
	}
}

func TestStrictReportsAtMostAHundredFields(t *testing.T) {
	var catalog schema.Catalog
	typ, err := catalog.Type(kube.ConfigMaps)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString(`{"kind":"ConfigMap"`)
	for i := range 1000 {
		fmt.Fprintf(&b, `,"x%d":1`, i)
	}
	b.WriteString("}")
	o, strict, err := typ.Read(b.Bytes())
	if err != nil || len(strict) != 100 || len(o) != 1 {
		t.Errorf("got %d members, %d complaints, %v", len(o), len(strict), err)
	}
}

func TestJSONPatchHasLimits(t *testing.T) {
	operation := `{"op":"add","path":"/a","value":1}`
	many := func(n int, op string) []byte { return []byte("[" + strings.Repeat(op+",", n-1) + op + "]") }
	if _, err := schema.JSONPatch(map[string]any{}, many(10_000, operation)); err != nil {
		t.Errorf("10,000 operations: %v", err)
	}
	var st *kube.Status
	_, err := schema.JSONPatch(map[string]any{}, many(10_001, operation))
	if !errors.As(err, &st) || st.Code != 413 ||
		st.Message != "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001" {
		t.Errorf("10,001 operations: %v", err)
	}
	// Each copy doubles it.
	grow := many(64, `{"op":"copy","from":"/a","path":"/a/-"}`)
	if _, err := schema.JSONPatch(map[string]any{"a": []any{"x"}}, grow); !errors.As(err, &st) || st.Code != 422 {
		t.Errorf("copies without end: %v", err)
	}
	// Each move nests it deeper.
	nest := []byte("[" + strings.Repeat(`{"op":"add","path":"/b","value":{}},{"op":"move","from":"/a","path":"/b/a"},{"op":"move","from":"/b","path":"/a"},`, 600) + operation + "]")
	if _, err := schema.JSONPatch(map[string]any{"a": map[string]any{}}, nest[:len(nest)-len(operation)-2]); err == nil {
		t.Error("cut JSON was taken")
	}
	nest = bytes.Replace(nest, []byte(","+operation), nil, 1)
	if _, err := schema.JSONPatch(map[string]any{"a": map[string]any{}}, nest); !errors.As(err, &st) || st.Code != 422 {
		t.Errorf("nesting without end: %v", err)
	}
}

func TestUpdateKeepsAtMostTenUpdaters(t *testing.T) {
	var catalog schema.Catalog
	typ, err := catalog.Type(kube.ConfigMaps)
	if err != nil {
		t.Fatal(err)
	}
	var live map[string]any
	for i := range 15 {
		next := schema.Copy(live)
		if next == nil {
			next = map[string]any{"metadata": map[string]any{"name": "a"}, "data": map[string]any{}}
		}
		next["data"].(map[string]any)[fmt.Sprintf("k%02d", i)] = "v"
		typ.Update(live, next, schema.Write{Manager: fmt.Sprintf("m%02d", i), Now: now.Add(time.Duration(i) * time.Minute)})
		live = next
	}
	var names []string
	for _, e := range live["metadata"].(map[string]any)["managedFields"].([]any) {
		names = append(names, e.(map[string]any)["manager"].(string))
	}
	want := []string{"ancient-changes", "m06", "m07", "m08", "m09", "m10", "m11", "m12", "m13", "m14"}
	if diff := gocmp.Diff(want, names); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
}

func TestUpdateIgnoresManagedFieldsThatMakeNoSense(t *testing.T) {
	var catalog schema.Catalog
	typ, err := catalog.Type(kube.ConfigMaps)
	if err != nil {
		t.Fatal(err)
	}
	live := map[string]any{"metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "v"}}
	typ.Update(nil, live, schema.Write{Manager: "maker", Now: now})
	for _, nonsense := range []any{"text", []any{int64(1)}, []any{map[string]any{"operation": "Odd"}}, []any{map[string]any{"operation": "Update", "apiVersion": "v1",
		"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"k:{": map[string]any{}}}}} {
		next := schema.Copy(live)
		next["metadata"].(map[string]any)["managedFields"] = nonsense
		typ.Update(live, next, schema.Write{Manager: "other", Now: now})
		if diff := gocmp.Diff(live, next); diff != "" {
			t.Errorf("%v (-want +got):\n%s", nonsense, diff)
		}
	}
}

func TestValidateLeavesAloneWhatHasNotChanged(t *testing.T) {
	var catalog schema.Catalog
	typ, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: "K"}, []byte(`{"type":"object","properties":{
		"a":{"type":"string","maxLength":1},"b":{"type":"string","maxLength":1},
		"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],"items":{"type":"object","properties":{"n":{"type":"string"},"v":{"type":"string","maxLength":1}}}},
		"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	element := func(n, v string) any { return map[string]any{"n": n, "v": v} }
	old := map[string]any{"a": "long", "b": "x", "l": []any{element("1", "long"), element("2", "long")}, "s": []any{"x", "x"}}
	next := map[string]any{"a": "long", "b": "long", "l": []any{element("2", "long"), element("1", "longer")}, "s": []any{"y", "y"}}
	tooLong := func(field string) kube.StatusCause {
		return kube.StatusCause{Reason: "FieldValueTooLong", Message: "Too long: may not be more than 1 byte", Field: field}
	}
	want := []kube.StatusCause{tooLong("b"), tooLong("l[1].v")}
	if diff := gocmp.Diff(want, typ.Validate(next, old)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if got := typ.Validate(next, nil); len(got) != 5 {
		t.Errorf("a create with the same has %d causes, want 5: %v", len(got), got)
	}
}

// TestNullIsInNoEnum: kube-apiserver finds it in none, also if the enum has it.
func TestNullIsInNoEnum(t *testing.T) {
	var catalog schema.Catalog
	typ, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: "K"}, []byte(`{"type":"object","properties":{"a":{"type":"string","nullable":true,"enum":["x",null]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []kube.StatusCause{{Reason: "FieldValueNotSupported", Message: `Unsupported value: null: supported values: "x", "null"`, Field: "a"}}
	if diff := gocmp.Diff(want, typ.Validate(map[string]any{"a": nil}, nil)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

func TestCustomRefusesWhatIsNoSchema(t *testing.T) {
	var catalog schema.Catalog
	for _, text := range []string{"{", "1", `{"properties":{"a":1}}`, `{"type":7}`, `{"pattern":"("}`, `{"$ref":"#/a"}`, `{"items":{"type":["a"]}}`,
		strings.Repeat(`{"items":`, 400) + "{}" + strings.Repeat("}", 401)} {
		if _, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: "K"}, []byte(text)); err == nil {
			t.Errorf("%.40s: no error", text)
		}
	}
}

func TestDocuments(t *testing.T) {
	var catalog schema.Catalog
	custom, err := catalog.Custom(kube.Resource{Group: "x.example.com", Version: "v1", Kind: "Foo", Plural: "foos", Namespaced: true},
		[]byte(`{"type":"object","properties":{"spec":{"type":"object"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := catalog.Index(custom)
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	type operation struct {
		Kind       map[string]string `json:"x-kubernetes-group-version-kind"`
		Parameters []struct{ Name string }
	}
	for name, path := range map[string]string{"api/v1": "/api/v1/namespaces/{namespace}/pods/{name}",
		"apis/apps/v1": "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "apis/x.example.com/v1": "/apis/x.example.com/v1/namespaces/{namespace}/foos/{name}"} {
		if url := index.Paths[name].ServerRelativeURL; !strings.HasPrefix(url, "/openapi/v3/"+name+"?hash=") {
			t.Errorf("%s is at %q", name, url)
		}
		b, err := catalog.Document(name, custom)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Paths      map[string]map[string]operation
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		patch := doc.Paths[path]["patch"]
		if patch.Kind["kind"] == "" || fmt.Sprint(patch.Parameters) != "[{dryRun} {fieldManager} {fieldValidation} {force}]" {
			t.Errorf("patch of %s: %+v", path, patch)
		}
		for _, ref := range references(doc.Components.Schemas) {
			if doc.Components.Schemas[ref] == nil {
				t.Errorf("%s refers to %s, which it has not", name, ref)
			}
		}
	}
	if _, err := catalog.Document("apis/none/v1", custom); !errors.Is(err, schema.ErrUnknown) {
		t.Errorf("an unknown document: %v", err)
	}
}

// references returns the names in all $ref below v.
func references(v any) []string {
	var names []string
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if ref, ok := e.(string); ok && name == "$ref" {
				names = append(names, strings.TrimPrefix(ref, "#/components/schemas/"))
			}
			names = append(names, references(e)...)
		}
	case []any:
		for _, e := range v {
			names = append(names, references(e)...)
		}
	}
	return names
}

// TestHostileSizes is about what takes quadratic time when done carelessly: with
// that it would run for minutes.
func TestHostileSizes(t *testing.T) {
	const many = 10_000
	var catalog schema.Catalog
	typ, err := catalog.Type(kube.Services)
	if err != nil {
		t.Fatal(err)
	}
	list := func(element func(i int) any) []any {
		l := make([]any, many)
		for i := range l {
			l[i] = element(i)
		}
		return l
	}
	object := func(ports, finalizers []any) map[string]any {
		return map[string]any{"metadata": map[string]any{"finalizers": finalizers}, "spec": map[string]any{"ports": ports}}
	}
	port := func(i int) any { return map[string]any{"port": int64(i % 60000), "name": fmt.Sprint("p", i)} }
	live := object(list(port), list(func(i int) any { return fmt.Sprint("f", i) }))
	patch := object(list(func(i int) any { return port(many - i) }), list(func(i int) any { return fmt.Sprint("f", many-i) }))
	merged, err := typ.StrategicMerge(live, patch)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(merged["spec"].(map[string]any)["ports"].([]any)); n != many+1 {
		t.Errorf("%d ports, want %d", n, many+1)
	}
	fields := make(map[string]any, many)
	for i := range many {
		fields[fmt.Sprint("f:x", i)] = map[string]any{}
	}
	next := map[string]any{"metadata": map[string]any{"managedFields": []any{map[string]any{"manager": "m", "operation": "Update", "apiVersion": "v1",
		"fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z", "fieldsV1": map[string]any{"f:spec": fields}}}}}
	typ.Update(map[string]any{"metadata": map[string]any{}}, next, schema.Write{Manager: "m", Now: now})

	custom, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: "K"}, []byte(`{"type":"object","properties":{
		"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","properties":{"name":{"type":"string"},"port":{"type":"integer"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	old := map[string]any{"l": list(port)}
	if causes := custom.Validate(map[string]any{"l": list(func(i int) any { return port(i + 1) })}, old); causes != nil {
		t.Errorf("%d causes, the first %v", len(causes), causes[0])
	}
	if causes := custom.Validate(map[string]any{"l": list(func(i int) any { return map[string]any{"name": "a", "port": "x"} })}, nil); len(causes) != 1000 {
		t.Errorf("%d causes, want the limit of 1000", len(causes))
	}
}

// TestMergePatchDropsNullsInLists: the responses of kube-apiserver.
func TestMergePatchDropsNullsInLists(t *testing.T) {
	for _, c := range []struct{ patch, want string }{
		{`{"l":[{"a":null,"b":1}]}`, `{"l":[{"b":1}],"o":{"x":1}}`},
		{`{"new":[null,[null,{"a":{"b":null}}]]}`, `{"l":[1],"new":[null,[null,{"a":{}}]],"o":{"x":1}}`},
		{`{"o":{"y":[{"a":null}]}}`, `{"l":[1],"o":{"x":1,"y":[{}]}}`},
		{`{"o":[{"a":null}]}`, `{"l":[1],"o":[{"a":null}]}`},
	} {
		merged, err := schema.MergePatch(map[string]any{"l": []any{1}, "o": map[string]any{"x": 1}}, []byte(c.patch))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(merged); err != nil || string(b) != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.patch, b, c.want, err)
		}
	}
}
