package schema_test

import (
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// deployment returns the type, and the last state and the first request of the
// Deployment in strategic.json.
func deployment(b *testing.B) (*schema.Type, map[string]any, []byte) {
	var catalog schema.Catalog
	t, err := catalog.Type(kube.Deployments)
	if err != nil {
		b.Fatal(err)
	}
	s := stories(b, "strategic.json")[0]
	live, err := schema.DecodeObject(s.Steps[0].Answer)
	if err != nil {
		b.Fatal(err)
	}
	return t, live, s.Steps[0].Answer
}

func BenchmarkRead(b *testing.B) {
	t, _, body := deployment(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := t.Read(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrune(b *testing.B) {
	t, live, _ := deployment(b)
	b.ReportAllocs()
	for b.Loop() {
		t.Prune(live)
	}
}

func BenchmarkUpdate(b *testing.B) {
	t, live, _ := deployment(b)
	next := schema.Copy(live)
	next["spec"].(map[string]any)["replicas"] = int64(2)
	t.Typed()
	b.ReportAllocs()
	for b.Loop() {
		t.Update(live, next, schema.Write{Manager: "other", Now: now, HasStatus: true})
	}
}

func BenchmarkApply(b *testing.B) {
	t, live, _ := deployment(b)
	config, err := schema.DecodeObject([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"smp-a"},
		"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"one","image":"i:9"}]}}}}`))
	if err != nil {
		b.Fatal(err)
	}
	t.Typed()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Apply(live, config, schema.Write{Manager: "app", Force: true, Now: now, HasStatus: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstType is what a server pays for its first write.
func BenchmarkFirstType(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var catalog schema.Catalog
		t, err := catalog.Type(kube.Pods)
		if err != nil {
			b.Fatal(err)
		}
		t.Typed()
	}
}
