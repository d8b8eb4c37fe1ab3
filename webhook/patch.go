package webhook

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/codec"
)

// operation is one of a JSON patch, RFC 6902.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"` // not of a removal
}

// removal is an operation without a value.
type removal struct {
	Op   string `json:"op"`
	Path string `json:"path"`
}

// patchOf returns the JSON patch from one object to another. The same objects give the
// same bytes.
func patchOf(from, to []byte) ([]byte, error) {
	a, err := codec.Decode[map[string]any](from)
	if err != nil {
		return nil, err
	}
	b, err := codec.Decode[map[string]any](to)
	if err != nil {
		return nil, err
	}
	return codec.Encode(differences(nil, "", a, b))
}

// differences adds the operations that make from equal to to.
func differences(ops []any, path string, from, to any) []any {
	if reflect.DeepEqual(from, to) {
		return ops
	}
	switch was := from.(type) {
	case map[string]any:
		if now, ok := to.(map[string]any); ok {
			return memberDifferences(ops, path, was, now)
		}
	case []any:
		if now, ok := to.([]any); ok {
			return elementDifferences(ops, path, was, now)
		}
	}
	return append(ops, operation{"replace", path, to})
}

func memberDifferences(ops []any, path string, was, now map[string]any) []any {
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := now[name]; !ok {
			ops = append(ops, removal{"remove", member(path, name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old, ok := was[name]; ok {
			ops = differences(ops, member(path, name), old, now[name])
			continue
		}
		ops = append(ops, operation{"add", member(path, name), now[name]})
	}
	return ops
}

// elementDifferences compares elements with the same index, and then adds or removes at
// the end.
func elementDifferences(ops []any, path string, was, now []any) []any {
	for i := range min(len(was), len(now)) {
		ops = differences(ops, path+"/"+strconv.Itoa(i), was[i], now[i])
	}
	for i := len(was) - 1; i >= len(now); i-- {
		ops = append(ops, removal{"remove", path + "/" + strconv.Itoa(i)})
	}
	for i := len(was); i < len(now); i++ {
		ops = append(ops, operation{"add", path + "/-", now[i]})
	}
	return ops
}

// member returns the pointer of a member, RFC 6901.
func member(path, name string) string {
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
