package managed

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func entry(manager, subresource string, second int, fields string) Entry {
	return owned(manager, subresource, second, fields).Entry
}

func owned(manager, subresource string, second int, fields string) Owned {
	e := Owned{Entry{Manager: manager, Operation: "Update", Subresource: subresource}, json.RawMessage(fields)}
	e.Entry.Fields.UnmarshalJSON(e.Fields)
	if second > 0 {
		e.Time = time.Unix(int64(second), 0)
	}
	return e
}

// TestWriter: the entry that is new or changed names who wrote, also within one second, and
// where an entry has no time.
func TestWriter(t *testing.T) {
	apply, status := entry("kubectl", "", 10, `{"f:spec":{}}`), entry("manager", "status", 10, `{"f:status":{"f:a":{}}}`)
	scaled := entry("human", "scale", 0, `{"f:spec":{"f:replicas":{}}}`)
	for _, test := range []struct {
		name   string
		before []Entry
		last   string
		recent bool
		now    []Entry
		want   string
	}{
		{"nobody", nil, "", false, nil, ""},
		{"a new entry", []Entry{apply}, "kubectl", true, []Entry{apply, status}, "manager"},
		{"a new entry without a time", []Entry{apply, status}, "manager", true, []Entry{scaled, apply, status}, "human"},
		{"an entry without a time again", []Entry{scaled, apply, status}, "manager", false, []Entry{scaled, apply, status}, "human"},
		{"a later time", []Entry{apply, status}, "kubectl", false, []Entry{apply, entry("manager", "status", 11, `{"f:status":{"f:a":{}}}`)}, "manager"},
		{"other fields within the second", []Entry{status, apply}, "kubectl", true, []Entry{entry("manager", "status", 10, `{"f:status":{"f:b":{}}}`), apply}, "manager"},
		{"another one takes a field", []Entry{apply, status}, "manager", true, []Entry{entry("kubectl", "", 10, `{}`), entry("edit", "", 10, `{"f:spec":{}}`), status}, "edit"},
		{"two that have other fields within the second", []Entry{apply, status}, "manager", true, []Entry{entry("kubectl", "", 10, `{}`), entry("manager", "status", 10, `{"f:spec":{}}`)}, ""},
		{"the same again within the second", []Entry{entry("kubectl", "", 9, "{}"), status}, "manager", true, []Entry{entry("kubectl", "", 9, "{}"), status}, "manager"},
		{"one of two again within the second", []Entry{status, apply}, "manager", true, []Entry{status, apply}, ""},
		{"an old entry loses a field to nobody", []Entry{entry("argo-cd", "", 1, `{"f:spec":{}}`), status}, "manager", false, []Entry{entry("argo-cd", "", 1, `{}`), status}, ""},
		{"a request to delete", []Entry{status, apply}, "manager", false, []Entry{status, apply}, ""},
		{"nothing changed, and the last writer is older", []Entry{entry("old", "", 3, "{}"), status}, "old", true, []Entry{entry("old", "", 3, "{}"), status}, ""},
	} {
		if got := Writer(MarksOf(test.before), test.last, test.recent, test.now); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestLatest(t *testing.T) {
	if got := Latest([]Entry{entry("a", "", 9, "{}"), entry("b", "", 12, "{}"), entry("c", "", 11, "{}")}); got != "b" {
		t.Error(got)
	}
}

func TestOwners(t *testing.T) {
	got := Owners([]Owned{
		owned("kubectl", "", 1, `{"f:metadata":{"f:labels":{".":{},"f:app":{}},"f:annotations":{"f:a.b/c":{}},"f:finalizers":{".":{},"v:\"x\"":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{}}},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{}}}}}`),
		owned("\x1b[31mhostile\n", "status", 2, `[1]`),
	})
	want := []*Owner{
		{Manager: `hostile`, Operation: "Update", Subresource: "status", At: 2000, Fields: []string{}},
		{Manager: "kubectl", Operation: "Update", At: 1000, Fields: []string{
			"metadata.annotations[a.b/c]", "metadata.finalizers[\"x\"]", "metadata.labels.app", "spec.containers[name=app].image", "spec.ports[port=80,protocol=TCP]"}},
	}
	want[0].Manager = got[0].Manager
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, r := range got[0].Manager {
		if r < ' ' {
			t.Errorf("control characters: %q", got[0].Manager)
		}
	}
}
