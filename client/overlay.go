package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// overlay makes in all, an object, the change that turns before into after, which
// are views of it by a struct that knows only some of its members. What the struct
// does not know stays as it is.
func overlay(all, before, after any) any {
	if reflect.DeepEqual(before, after) {
		return all
	}
	switch after := after.(type) {
	case map[string]any:
		all, isMap := all.(map[string]any)
		before, was := before.(map[string]any)
		if isMap && was {
			return overlayMap(all, before, after)
		}
	case []any:
		all, isList := all.([]any)
		before, was := before.([]any)
		if isList && was && len(all) == len(before) {
			return overlayList(all, before, after)
		}
	}
	return after
}

func overlayMap(all, before, after map[string]any) map[string]any {
	result := maps.Clone(all)
	for name := range before {
		if _, ok := after[name]; !ok {
			delete(result, name)
		}
	}
	for name, now := range after {
		was, known := before[name]
		switch {
		case known && reflect.DeepEqual(was, now):
		case known:
			result[name] = overlay(all[name], was, now)
		default:
			result[name] = now
		}
	}
	return result
}

// overlayList pairs each element with the one it was before: an equal one, or else
// one of the same key, or else, where the list has as many elements as before, the
// one in its place.
func overlayList(all, before, after []any) []any {
	result := make([]any, len(after))
	from := make([]int, len(after)) // index in before, or -1
	used := make([]bool, len(before))
	pair := func(same func(i, j int) bool) {
		for j := range after {
			for d := 0; from[j] < 0 && d < len(before); d++ {
				i := (j + d) % len(before) // its own place first
				if !used[i] && same(i, j) {
					from[j], used[i] = i, true
				}
			}
		}
	}
	for j := range from {
		from[j] = -1
	}
	pair(func(i, j int) bool { return reflect.DeepEqual(before[i], after[j]) })
	pair(func(i, j int) bool { return sameElement(before[i], after[j]) })
	if len(before) == len(after) {
		pair(func(i, j int) bool { return i == j && keyOf(before[i]) == "" && keyOf(after[j]) == "" })
	}
	for j, now := range after {
		result[j] = now
		if i := from[j]; i >= 0 {
			result[j] = overlay(all[i], before[i], now)
		}
	}
	return result
}

// elementKeys are the members by which the API's own lists are keyed, and those
// that belong to the key besides. See x-kubernetes-list-map-keys in
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy.
var elementKeys = []string{"uid", "name", "type", "key", "containerPort", "port", "mountPath", "devicePath", "ip", "topologyKey"}

func keyOf(element any) string {
	members, _ := element.(map[string]any)
	for _, name := range elementKeys {
		if _, ok := members[name]; ok {
			return name
		}
	}
	return ""
}

func sameElement(a, b any) bool {
	name := keyOf(a)
	if name == "" || name != keyOf(b) {
		return false
	}
	return reflect.DeepEqual(a.(map[string]any)[name], b.(map[string]any)[name])
}

// treeOf returns the members that o encodes to.
func treeOf(o any) (map[string]any, error) {
	b, err := codec.Encode(o)
	if err != nil {
		return nil, err
	}
	return parseTree(b)
}

// parseTree reads an object. Numbers keep all their digits.
func parseTree(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil || tree == nil {
		return nil, fmt.Errorf("%d bytes that are not a JSON object", len(b)) // the decoder's own words quote them
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%d bytes that are more than a JSON object", len(b))
	}
	return tree, nil
}

func decodeTree[T kube.Object](tree map[string]any) (T, error) {
	b, err := codec.Encode(tree)
	if err != nil {
		return *new(T), err
	}
	return codec.Decode[T](b)
}
