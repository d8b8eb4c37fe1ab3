package schema_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// types are what the fuzz targets choose from.
func types(tb testing.TB) []*schema.Type {
	tb.Helper()
	var catalog schema.Catalog
	var list []*schema.Type
	for _, r := range []kube.Resource{kube.Deployments, kube.Services, kube.ConfigMaps, kube.CustomResourceDefinitions} {
		t, err := catalog.Type(r)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, t)
	}
	for _, s := range stories(tb, "apply.json", "strict.json", "custom.json") {
		if s.CRD == nil {
			continue
		}
		group, version, _ := strings.Cut(strings.Fields(s.Kind)[0], "/")
		t, err := catalog.Custom(kube.Resource{Group: group, Version: version, Kind: strings.Fields(s.Kind)[1]}, s.CRD)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, t)
	}
	return list
}

func stories(tb testing.TB, files ...string) []story {
	tb.Helper()
	var all []story
	for _, file := range files {
		b, err := os.ReadFile("testdata/" + file)
		if err != nil {
			tb.Fatal(err)
		}
		var list []story
		if err := json.Unmarshal(b, &list); err != nil {
			tb.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

// seed adds each request with what was there before it.
func seed(f *testing.F, do string, files ...string) {
	for _, s := range stories(f, files...) {
		live := `{}`
		for _, st := range s.Steps {
			if do == "" || st.Do == do {
				for i := range 3 {
					f.Add(uint8(i), live, string(st.Body))
				}
			}
			if st.Code < 400 {
				live = string(st.Answer)
			}
		}
	}
}

// FuzzStrategicMerge: whatever is merged, objects come out as JSON, the inputs
// stay as they are, and there is no panic.
func FuzzStrategicMerge(f *testing.F) {
	seed(f, "strategic", "strategic.json")
	list := types(f)
	f.Fuzz(func(t *testing.T, which uint8, original, patch string) {
		o, err := schema.DecodeObject([]byte(original))
		if err != nil {
			return
		}
		p, err := schema.DecodeObject([]byte(patch))
		if err != nil {
			return
		}
		before, asked := schema.Copy(o), schema.Copy(p)
		merged, err := list[int(which)%len(list)].StrategicMerge(o, p)
		unchanged(t, before, o)
		unchanged(t, asked, p)
		if err == nil {
			roundTrip(t, merged)
		}
	})
}

// FuzzRead: what is read is pruned, stays so, and is JSON; its defaults and errors
// come without a panic.
func FuzzRead(f *testing.F) {
	seed(f, "", "strict.json", "custom.json", "apply.json")
	list := types(f)
	f.Fuzz(func(t *testing.T, which uint8, old, body string) {
		typ := list[int(which)%len(list)]
		o, _, err := typ.Read([]byte(body))
		if err != nil {
			return
		}
		if dropped := typ.Prune(o); len(dropped) > 0 {
			t.Errorf("read, and not yet pruned: %q", dropped)
		}
		typ.Default(o)
		once := schema.Copy(o)
		typ.Default(o)
		unchanged(t, once, o)
		before, err := schema.DecodeObject([]byte(old))
		if err != nil {
			before = nil
		}
		typ.Validate(o, before)
		unchanged(t, once, o)
		roundTrip(t, o)
	})
}

// FuzzApply: an apply changes neither input, gives JSON or an error, and when it
// succeeds the same apply again changes nothing.
func FuzzApply(f *testing.F) {
	seed(f, "apply", "apply.json")
	list := types(f)
	f.Fuzz(func(t *testing.T, which uint8, live, config string) {
		typ := list[int(which)%len(list)]
		o, _, err := typ.Read([]byte(live))
		if err != nil {
			return
		}
		c, err := schema.DecodeObject([]byte(config))
		if err != nil {
			return
		}
		before, asked := schema.Copy(o), schema.Copy(c)
		w := schema.Write{Manager: "fuzz", Force: true, Now: now, HasStatus: true}
		merged, err := typ.Apply(o, c, w)
		unchanged(t, before, o)
		unchanged(t, asked, c)
		if err != nil {
			return
		}
		roundTrip(t, merged)
		again, err := typ.Apply(merged, c, w)
		if err != nil {
			t.Fatalf("the second time: %v", err)
		}
		roundTrip(t, again)
		next := schema.Copy(merged)
		typ.Update(o, next, schema.Write{Manager: "other", Now: now})
		roundTrip(t, next)
	})
}

// FuzzJSONPatch: JSON in, JSON out.
func FuzzJSONPatch(f *testing.F) {
	for _, s := range stories(f, "strict.json") {
		for _, st := range s.Steps {
			if st.Do == "json" || st.Do == "merge" {
				f.Add(`{"spec":{"a":1,"list":[{},{"b":"1"}],"null":null}}`, string(st.Body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, original, patch string) {
		o, err := schema.DecodeObject([]byte(original))
		if err != nil {
			return
		}
		before := schema.Copy(o)
		if patched, err := schema.JSONPatch(o, []byte(patch)); err == nil {
			roundTrip(t, patched)
		}
		if patched, err := schema.MergePatch(o, []byte(patch)); err == nil {
			roundTrip(t, patched)
		}
		unchanged(t, before, o)
	})
}

// FuzzCustom: a schema is refused or serves.
func FuzzCustom(f *testing.F) {
	for _, s := range stories(f, "apply.json", "strict.json", "custom.json") {
		if s.CRD != nil {
			f.Add(string(s.CRD), string(s.Steps[0].Body))
		}
	}
	f.Fuzz(func(t *testing.T, openAPI, body string) {
		var catalog schema.Catalog
		typ, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: "K", Plural: "ks"}, []byte(openAPI))
		if err != nil {
			return
		}
		o, _, err := typ.Read([]byte(body))
		if err != nil {
			return
		}
		typ.Default(o)
		typ.Validate(o, nil)
		typ.Update(nil, o, schema.Write{Now: now})
		roundTrip(t, o)
		if _, err := catalog.Document("apis/g/v1", typ); err != nil {
			t.Errorf("document: %v", err)
		}
	})
}

func unchanged(t *testing.T, before, after map[string]any) {
	t.Helper()
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Errorf("an input was changed (-before +after):\n%s", diff)
	}
}

func roundTrip(t *testing.T, o map[string]any) {
	t.Helper()
	b, err := schema.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.DecodeObject(b); err != nil {
		t.Fatalf("what came out is not readable: %v", err)
	}
}
