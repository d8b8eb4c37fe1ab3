package row

import (
	"strings"
	"testing"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/secret"
)

// TestSecretsOfAnyFormAreRedacted: data that is no object is secret, too, and a changed
// value has another mark.
func TestSecretsOfAnyFormAreRedacted(t *testing.T) {
	marks := map[string]bool{}
	for _, text := range []string{
		`"data":{"a":"hunter2"}`, `"data":{"a":"hunter23"}`, `"stringData":{"a":"hunter2"}`, `"data":"hunter2"`, `"data":["hunter2"]`, `"stringData":{"a":{"b":"hunter2"}}`,
	} {
		o, err := codec.ParseRaw([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","uid":"u","annotations":{"` + secret.LastApplied + `":"hunter2"}},` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Redact(o, []byte("salt"))
		if err != nil || strings.Contains(got.JSON(), "hunter2") || !strings.Contains(got.JSON(), "[redacted #") {
			t.Errorf("%s: %v: %s", text, err, got.JSON())
		}
		marks[got.JSON()] = true
	}
	marked := func(applied string) string {
		o, err := codec.ParseRaw([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","uid":"u","annotations":{"` + secret.LastApplied + `":"` + applied + `"}},"data":{"a":"hunter2"}}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Redact(o, []byte("salt"))
		if err != nil {
			t.Fatal(err)
		}
		return got.JSON()
	}
	if a, b, again := marked("hunter2"), marked("hunter3"), marked("hunter2"); a == b || a != again {
		t.Errorf("what was applied: %s, %s and again %s", a, b, again)
	}
	created := func(name, uid string) string {
		o, err := codec.ParseRaw([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"` + name + `","namespace":"shop","uid":"` + uid + `"},"data":{"a":"hunter2"}}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Redact(o, []byte("salt"))
		if err != nil {
			t.Fatal(err)
		}
		_, data, _ := strings.Cut(got.JSON(), `"data"`)
		data, _, _ = strings.Cut(data, "}")
		return data
	}
	if a, again, other := created("a", "1"), created("a", "2"), created("b", "3"); a != again || a == other {
		t.Errorf("%s, created again %s: want the same; another Secret %s: want another one", a, again, other)
	}
	if len(marks) != 6 {
		t.Errorf("%d different objects, want 6: %v", len(marks), marks)
	}
}
