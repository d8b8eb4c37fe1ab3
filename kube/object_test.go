package kube_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

// foo is what a user of the engine writes.
type foo struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Size int `json:"size"`
	} `json:"spec"`
}

// Values and pointers of a struct that embeds Meta are objects.
var (
	_ kube.Object = foo{}
	_ kube.Object = (*foo)(nil)
	_ kube.Object = kube.Partial{}
	_ kube.Object = &kube.Partial{}
)

func TestParseKey(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want kube.Key
		ok   bool
	}{
		{"web", kube.Key{Name: "web"}, true},
		{"default/web", kube.Key{Namespace: "default", Name: "web"}, true},
		{"system:node/x", kube.Key{Namespace: "system:node", Name: "x"}, true},
		{"", kube.Key{}, false},
		{"/", kube.Key{}, false},
		{"/web", kube.Key{}, false},
		{"default/", kube.Key{}, false},
		{"a/b/c", kube.Key{}, false},
	} {
		got, err := kube.ParseKey(tt.in)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseKey(%q) = %#v, %v; want %#v, ok %t", tt.in, got, err, tt.want, tt.ok)
		}
		if tt.ok && got.String() != tt.in {
			t.Errorf("ParseKey(%q).String() = %q", tt.in, got)
		}
	}
}

func TestParseKeyErrorIsShort(t *testing.T) {
	_, err := kube.ParseKey(strings.Repeat("/", 1<<20))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestKeyCompareOrdersAsAList(t *testing.T) {
	sorted := []kube.Key{
		{},
		{Name: "a"},
		{Namespace: "a-b", Name: "a"}, // - is before the / that follows the namespace a
		{Namespace: "a", Name: "b"},
		{Namespace: "a", Name: "b-c"},
		{Namespace: "a", Name: "c"},
		{Namespace: "a0", Name: "a"},
		{Namespace: "b", Name: "a"},
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := a.Compare(b), sign(i-j); got != want {
				t.Errorf("%v.Compare(%v) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func sign(n int) int { return min(1, max(-1, n)) }

func TestMetaRoundTrip(t *testing.T) {
	const in = `{"metadata":{"name":"web","generateName":"we","namespace":"default","uid":"u-1","resourceVersion":"7","generation":3,` +
		`"creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"2026-01-02T03:04:06Z","deletionGracePeriodSeconds":30,` +
		`"labels":{"a":"b"},"annotations":{"c":"d"},` +
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"u-2","controller":true,"blockOwnerDeletion":true}],` +
		`"finalizers":["f"]},"spec":{"size":3}}`
	var f foo
	if err := json.Unmarshal([]byte(in), &f); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, string(out)); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
	got := []string{f.GetNamespace(), f.GetName(), f.GetResourceVersion(), f.GetUID(), kube.KeyOf(f).String(), kube.KeyOf(&f).String()}
	if diff := cmp.Diff([]string{"default", "web", "7", "u-1", "default/web", "default/web"}, got); diff != "" {
		t.Errorf("getters (-want +got):\n%s", diff)
	}
}

func TestMetaZeroIsEmpty(t *testing.T) {
	out, err := json.Marshal(kube.Partial{})
	if err != nil || string(out) != `{"metadata":{}}` {
		t.Errorf("Marshal(Partial{}) = %s, %v", out, err)
	}
}
