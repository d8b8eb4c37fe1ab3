package manifest_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
)

// FuzzParse: the objects of a text have a name and are valid JSON. A file of each is read
// as the same object, and a file of all as the same objects.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n# nothing\n---\nkind: List\napiVersion: v1\nitems: [{kind: Pod, apiVersion: v1, metadata: {generateName: b}}]",
		`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"kind":null,"metadata":{"name":"b"}}]} {"kind":"A","apiVersion":"v1","metadata":{"name":"\u0000\""}}`,
		"a: &a [x]\nkind: Pod\napiVersion: v1\nmetadata: {name: *a}", `{"kind":"List","items":[{"kind":"XList","apiVersion":"v1","items":{},"metadata":{"name":"a"}}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := (&manifest.Reader{}).Parse("file", text)
		if err != nil {
			return
		}
		var file []byte
		for _, o := range all {
			if !json.Valid(o.JSON()) || o.Head.Kind == "" || o.Head.APIVersion == "" || o.Head.Metadata.Name+o.Head.Metadata.GenerateName == "" {
				t.Fatalf("%+v: %s", o.Head, o.JSON())
			}
			again, err := (&manifest.Reader{}).Parse("file", o.JSON())
			if err != nil || len(again) != 1 || again[0].Head != o.Head || !bytes.Equal(again[0].JSON(), o.JSON()) {
				t.Fatalf("%s is read as %v, %v", o.JSON(), again, err)
			}
			file = append(append(file, o.JSON()...), '\n')
		}
		again, err := (&manifest.Reader{}).Parse("file", file)
		if err != nil || len(again) != len(all) {
			t.Fatalf("%s: %d objects, want %d: %v", file, len(again), len(all), err)
		}
		for i, o := range all {
			if diff := cmp.Diff(string(bytes.TrimSpace(o.JSON())), string(bytes.TrimSpace(again[i].JSON()))); diff != "" {
				t.Fatalf("object %d (-want +got):\n%s", i, diff)
			}
		}
	})
}
