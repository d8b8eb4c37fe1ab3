package merge

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatch(t *testing.T) {
	got, lists := Patch(tree(t, `{"a":1,"b":{"c":1,"d":2},"e":[1],"g":1}`).(map[string]any), tree(t, `{"a":1,"b":{"c":2},"e":[1,2],"f":3}`).(map[string]any))
	if diff := cmp.Diff(tree(t, `{"b":{"c":2,"d":null},"e":[1,2],"f":3,"g":null}`), any(got)); diff != "" || !lists {
		t.Errorf("lists %v (-want +got):\n%s", lists, diff)
	}
	if _, lists := Patch(tree(t, `{"a":1,"e":[1]}`).(map[string]any), tree(t, `{"a":2,"e":[1]}`).(map[string]any)); lists {
		t.Error("an unchanged list counts")
	}
	if _, lists := Patch(tree(t, `{"a":{"e":[1]}}`).(map[string]any), tree(t, `{"a":{}}`).(map[string]any)); !lists {
		t.Error("a removed list does not count")
	}
}

func tree(t *testing.T, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
