package recording

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

const recordedPod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","creationTimestamp":"2026-01-02T03:03:00Z"},"status":{"phase":"Running"}}`

// TestRowsHaveTheAgesOfTheirTime, and the columns once for each stream.
func TestRowsHaveTheAgesOfTheirTime(t *testing.T) {
	r, err := NewRows(&replay.Recording{Header: replay.Header{TimeBase: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pod, err := codec.ParseRaw([]byte(recordedPod))
	if err != nil {
		t.Fatal(err)
	}
	type table struct {
		ColumnDefinitions []struct{ Name string }
		Rows              []struct{ Cells []any }
	}
	for i, want := range []struct {
		stream  int
		at      time.Duration
		columns int
		age     string
	}{{0, time.Second, 9, "61s"}, {0, time.Hour, 0, "61m"}, {1, 0, 9, "60s"}} {
		var got table
		row := r.Of(want.stream, kube.Pods, pod, want.at)
		if err := json.Unmarshal([]byte(row.JSON()), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{"a", "0/0", "Running", "0", want.age}, got.Rows[0].Cells[:5]); diff != "" || len(got.ColumnDefinitions) != want.columns {
			t.Errorf("row %d, %d columns (-want +got):\n%s", i, len(got.ColumnDefinitions), diff)
		}
		if row.GetName() != "a" || row.GetNamespace() != "shop" {
			t.Errorf("row %d is of %s/%s", i, row.GetNamespace(), row.GetName())
		}
	}
}

// FuzzRows: no recorded object or definition makes the program panic, and each object keeps
// its name.
func FuzzRows(f *testing.F) {
	f.Add([]byte(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,"additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"}]}]}}`),
		[]byte(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":{"size":3}}`), "example.com", "v1", "widgets", "Widget")
	f.Add([]byte(`{"metadata":{"name":"pods."},"spec":{"group":"","names":{"plural":"pods"}}}`), []byte(recordedPod), "", "v1", "pods", "Pod")
	f.Add([]byte(`{"metadata":{"name":"a.apps"},"spec":{"versions":7}}`), []byte(`{"kind":"Table","rows":[{}]}`), "apps", "v1", "deployments", "")
	r, err := NewRows(&replay.Recording{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(r.Close)
	f.Fuzz(func(t *testing.T, definition, object []byte, group, version, plural, kind string) {
		r.define(definition)
		for _, res := range []kube.Resource{kube.CustomResourceDefinitions, {Group: group, Version: version, Plural: plural, Kind: kind, Namespaced: true}, kube.CustomResourceDefinitions} {
			for _, b := range [][]byte{definition, object} {
				o, err := codec.ParseRawFull(b)
				if err != nil {
					continue
				}
				if row := r.Of(0, res, o.Raw, time.Second); row.GetName() != o.GetName() {
					t.Errorf("%q is printed as %q: %s", o.GetName(), row.GetName(), row.JSON())
				}
			}
		}
	})
}
