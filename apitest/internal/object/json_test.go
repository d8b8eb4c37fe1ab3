package object

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Metadata is written as json.Marshal writes it, or sorted.
func TestMetadataIsWrittenAsJSONIs(t *testing.T) {
	for _, m := range []Meta{
		{},
		{Name: "a", Namespace: "b", UID: "c", ResourceVersion: "7", CreationTimestamp: "t"},
		{GenerateName: "g-", Generation: 3, DeletionTimestamp: "d", DeletionGracePeriodSeconds: new(int64(0)), Labels: map[string]string{"z": "1", "a": "<&>\u2028\"\\é"},
			Annotations: map[string]string{"": "\x00\n"}, Finalizers: []string{"b", "a"}, OwnerReferences: json.RawMessage(`[{"uid": "u",  "name":"<"}]`),
			ManagedFields: json.RawMessage(`[{"time":"t","manager":"m"}]`)},
	} {
		if diff := cmp.Diff(string(Marshal(m)), string(m.append(nil))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(string(sortedJSON(Marshal(m))), string(m.appendSorted(nil))); diff != "" {
			t.Errorf("sorted (-want +got):\n%s", diff)
		}
	}
}

// FuzzMembers: an object falls into its members, with the values that encoding/json
// finds, and what is canonical stays as it is.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : [1, {"b":"]}\""}] , "a":2,"\u0063":null}`, `{"a":1}x`, `[]`, `1`, ``, `{"a`, `{"\ud800":true,"b":-1.5e3 }`, "{\"\xff\":0}", `{"a":"<\u2028 ` + "\u2028" + `"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want map[string]json.RawMessage
		err := json.Unmarshal([]byte(s), &want)
		ms, got := Members([]byte(s))
		if (err == nil && want != nil) != (got == nil) {
			t.Fatalf("%q: %v, not %v", s, got, err)
		}
		have := map[string]json.RawMessage{}
		for _, m := range ms {
			have[m.Name] = m.Value
			if isCanonical(m.Value) {
				if again := Marshal(m.Value); string(again) != string(m.Value) {
					t.Errorf("%q is not canonical: %q", m.Value, again)
				}
			}
		}
		if got == nil {
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%q: %s", s, diff)
			}
		}
	})
}
