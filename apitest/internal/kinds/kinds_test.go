package kinds

import (
	stdcmp "cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// defaultsCase is an object and what a real kube-apiserver made of it: TestDefaults
// in e2e wrote it down, and checks that it is still so.
type defaultsCase struct {
	Name, Path        string
	Object, Put       json.RawMessage
	Stored, PutStored map[string]any
}

// The real server does this too, and Assign does not: see its doc.
func withoutControllersMarks(o map[string]any) map[string]any {
	meta := rules.ObjectAt(o, "metadata")
	if list := rules.ListAt(meta, "finalizers"); len(list) == 1 && strings.HasSuffix(list[0].(string), "-protection") {
		delete(meta, "finalizers")
	}
	if o["kind"] == "Node" {
		delete(rules.ObjectAt(o, "spec"), "taints")
		delete(o, "status") // nobody defaults it beyond allocatable
	}
	if o["kind"] == "DaemonSet" {
		delete(meta, "annotations") // deprecated.daemonset.template.generation
	}
	return o
}

func TestSetDefaultsDoesWhatTheRealServerDoes(t *testing.T) {
	files, err := filepath.Glob("testdata/defaults/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		var cases []defaultsCase
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(c.Name, func(t *testing.T) {
				created := written(t, c, c.Object, nil)
				compareStored(t, c.Stored, created)
				if causes := Validate(resourceAt(t, c.Path), created, nil); len(causes) > 0 {
					t.Errorf("it would be refused: %v", causes)
				}
				if c.Put != nil {
					compareStored(t, c.PutStored, written(t, c, c.Put, created))
				}
			})
		}
	}
}

// written returns what a write of body makes, in the order of a server.
func written(t *testing.T, c defaultsCase, body []byte, old map[string]any) map[string]any {
	t.Helper()
	res := resourceAt(t, c.Path)
	typ, err := object.Types().Type(res)
	if err != nil {
		t.Fatal(err)
	}
	o, strict, err := typ.Read(body)
	if err != nil || len(strict) > 0 {
		t.Fatalf("%v, unknown fields: %q", err, strict)
	}
	o["kind"], o["apiVersion"] = res.Kind, res.APIVersion()
	meta := rules.ObjectAt(o, "metadata")
	if res.Namespaced {
		meta["namespace"] = strings.Split(c.Path[strings.Index(c.Path, "/namespaces/"):], "/")[2]
	}
	SetDefaults(res, o)
	if old == nil {
		if status := NewStatus(res, o); status != nil {
			o["status"] = status
		}
	} else {
		if s, ok := old["status"]; ok {
			o["status"] = s
		}
		if res == kube.Namespaces { // only the subresource finalize changes it
			o["spec"] = schema.Copy(old["spec"])
		}
	}
	meta = rules.ObjectAt(o, "metadata")
	meta["uid"] = "UID"
	Assign(res, o, old, func(any) bool { return false })
	delete(meta, "uid")
	again := schema.Copy(o)
	none := func(any) bool { return false }
	if SetDefaults(res, again) || Assign(res, again, schema.Copy(o), none) {
		t.Errorf("a second call changes something (-first +second):\n%s", cmp.Diff(o, again))
	}
	return o
}

func resourceAt(t *testing.T, path string) kube.Resource {
	t.Helper()
	parts := strings.Split(path, "/")
	group := ""
	if parts[1] == "apis" {
		group = parts[2]
	}
	for _, info := range All() {
		if info.Group == group && info.Plural == parts[len(parts)-1] {
			return info.Resource
		}
	}
	t.Fatalf("no built-in resource at %s", path)
	return kube.Resource{}
}

func compareStored(t *testing.T, want, got map[string]any) {
	t.Helper()
	b, err := schema.Encode(got)
	if err != nil {
		t.Fatal(err)
	}
	var same map[string]any // with numbers as want has them
	if err := json.Unmarshal(b, &same); err != nil {
		t.Fatal(err)
	}
	delete(rules.ObjectAt(want, "metadata"), "generation")
	if want["kind"] == "CustomResourceDefinition" {
		delete(want, "status") // the store makes it
	}
	if diff := cmp.Diff(withoutControllersMarks(want), withoutControllersMarks(maskPool(same, "").(map[string]any))); diff != "" {
		t.Errorf("the real server stores something else (-real +got):\n%s", diff)
	}
}

// maskPool hides addresses, ports and times, as the fixtures do.
func maskPool(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = maskPool(e, k)
		}
	case []any:
		for i, e := range v {
			v[i] = maskPool(e, name)
		}
	case string:
		if strings.HasPrefix(v, "10.0.0.") && v != "10.0.0.12" {
			return "IP"
		}
		if strings.HasSuffix(name, "TransitionTime") {
			return "TIME"
		}
	case float64:
		if (name == "nodePort" || name == "healthCheckNodePort") && v != 30099 {
			return "PORT"
		}
	}
	return v
}

func TestSetDefaultsHardlyAllocatesForWhatNeedsNothing(t *testing.T) {
	leases := map[string]any{"spec": map[string]any{"holderIdentity": "a"}}
	for _, c := range []struct {
		res  kube.Resource
		o    map[string]any
		most float64 // one is the byte that notes a change
	}{
		{kube.ConfigMaps, map[string]any{"data": map[string]any{"a": "1"}}, 0},
		{kube.Leases, leases, 1},
		{kube.ServiceAccounts, map[string]any{}, 1},
	} {
		if n := testing.AllocsPerRun(100, func() { SetDefaults(c.res, c.o) }); n > c.most {
			t.Errorf("%s: %v allocations", c.res, n)
		}
	}
}

func TestSetDefaultsTakesAnyShape(t *testing.T) {
	for _, info := range All() {
		for _, o := range []map[string]any{
			{}, {"spec": nil}, {"spec": "text"}, {"spec": []any{"a"}, "metadata": 1.5, "data": []any{}, "type": []any{}, "webhooks": "x"},
			{"spec": map[string]any{"template": []any{}, "type": "NodePort", "ports": []any{nil, "a", map[string]any{"port": "x"}, map[string]any{"port": []any{}, "nodePort": map[string]any{}, "targetPort": []any{}}}, "containers": []any{int64(1), map[string]any{"image": int64(3)}}, "volumes": map[string]any{}, "hard": map[string]any{"cpu": []any{}}}},
		} {
			SetDefaults(info.Resource, o)
			Assign(info.Resource, schema.Copy(o), o, func(any) bool { return false })
			NewStatus(info.Resource, o)
			Assign(info.Resource, o, nil, func(any) bool { return true })
			Validate(info.Resource, o, nil)
			Validate(info.Resource, o, o)
		}
	}
}

func TestQuantitiesHaveOneWriting(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "1.5": "1500m", "0.1": "100m", "1000m": "1", "1000": "1k", "1500": "1500", "100k": "100k", "1024": "1024",
		"1024Mi": "1Gi", "0.5Gi": "512Mi", "1Ki": "1Ki", "0.5Ki": "512", "1e3": "1e3", "12e4": "120e3", "1E": "1E", "1e0": "1e0", "1.250": "1.250", "1.25": "1250m", "1.0001": "1001m", "0.3Ki": "307200m", "2000": "2k", "1.3Ki": "1331200m", "0": "0", "0Gi": "0", "0.0001": "1m",
		"-1.5": "-1500m", "1G": "1G", "1000000Ki": "1000000Ki", ".5": "500m", "5.": "5.", "100M": "100M", "1536Mi": "1536Mi", "1e-3": "1e-3",
		"": "", "x": "x", "1x": "1x", "1e99999": "1e99999", "--1": "--1", "1.2.3": "1.2.3",
	} {
		if got := rules.CanonicalQuantity(in, rules.Milli); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAssignProbesForFreeAddressesAndPorts(t *testing.T) {
	service := func() map[string]any {
		o := map[string]any{"metadata": map[string]any{"namespace": "a", "name": "b"}, "spec": map[string]any{
			"type": "NodePort", "ports": []any{map[string]any{"port": int64(1)}, map[string]any{"port": int64(2)}}}}
		SetDefaults(kube.Services, o)
		return o
	}
	given := func(taken map[any]bool) []any {
		o := service()
		Assign(kube.Services, o, nil, func(v any) bool { return taken[v] })
		spec := rules.ObjectAt(o, "spec")
		return []any{spec["clusterIP"], rules.ObjectAt(list1ToMap(spec), "0")["nodePort"], rules.ObjectAt(list1ToMap(spec), "1")["nodePort"]}
	}
	first := given(nil)
	if diff := cmp.Diff(first, given(nil)); diff != "" {
		t.Errorf("not the same each time:\n%s", diff)
	}
	taken := map[any]bool{first[0]: true, first[1]: true, first[2]: true}
	for _, v := range append(given(taken), first[1]) {
		if taken[v] && v != first[1] || v == nil {
			t.Errorf("%v is taken", v)
		}
	}
	if first[1] == first[2] {
		t.Errorf("two ports have the node port %v", first[1])
	}
}

func list1ToMap(spec map[string]any) map[string]any {
	ports := rules.ListAt(spec, "ports")
	return map[string]any{"0": ports[0], "1": ports[1]}
}

func TestValidateBuiltInSaysWhatTheRealServerSays(t *testing.T) {
	b, err := os.ReadFile("testdata/refused/builtin.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		defaultsCase
		Causes []kube.StatusCause
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			res := resourceAt(t, c.Path)
			o, old := written(t, c.defaultsCase, c.Object, nil), map[string]any(nil)
			if c.Put != nil {
				if causes := Validate(res, o, nil); len(causes) > 0 {
					t.Fatalf("the first write is refused: %v", causes)
				}
				o, old = written(t, c.defaultsCase, c.Put, o), o
			}
			got := Validate(res, o, old)
			if old == nil {
				meta := object.Meta{Name: rules.TextAt(rules.ObjectAt(o, "metadata"), "name")}
				got = append(got, NameCauses((&object.Info{Resource: res, BuiltIn: true}), &meta)...)
			}
			slices.SortFunc(got, func(a, b kube.StatusCause) int {
				return stdcmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
			})
			if diff := cmp.Diff(c.Causes, got); diff != "" {
				t.Errorf("the real server says something else (-real +got):\n%s", diff)
			}
		})
	}
}
