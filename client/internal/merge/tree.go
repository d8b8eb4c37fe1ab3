package merge

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/listwatch/listwatch/codec"
)

// Tree returns the members of the encoding of o.
func Tree(o any) (map[string]any, error) {
	b, err := codec.Encode(o)
	if err != nil {
		return nil, err
	}
	return Parse(b)
}

// Parse decodes an object, of up to codec.MaxDecoded. Numbers keep all their digits.
func Parse(b []byte) (map[string]any, error) {
	tree, err := codec.Decode[map[string]any](b)
	if limit := (*codec.LimitError)(nil); errors.As(err, &limit) {
		return nil, err
	}
	if err != nil || tree == nil {
		return nil, fmt.Errorf("%d bytes that are not a JSON object", len(b)) // the decoder's errors quote them
	}
	return tree, nil
}

// Patch returns the JSON merge patch (RFC 7396) from one object to another, and whether it
// changes or removes a list, which it can only do as a whole.
func Patch(from, to map[string]any) (patch map[string]any, lists bool) {
	patch = make(map[string]any)
	for name, was := range from {
		if _, ok := to[name]; !ok {
			patch[name], lists = nil, lists || hasList(was)
		}
	}
	for name, now := range to {
		was, ok := from[name]
		if ok && reflect.DeepEqual(was, now) {
			continue
		}
		a, isMap := was.(map[string]any)
		b, toMap := now.(map[string]any)
		if isMap && toMap {
			inner, list := Patch(a, b)
			patch[name], lists = inner, lists || list
			continue
		}
		patch[name], lists = now, lists || hasList(was) || hasList(now)
	}
	return patch, lists
}

// hasList reports whether v is or contains a list.
func hasList(v any) bool {
	members, _ := v.(map[string]any)
	for _, inner := range members {
		if hasList(inner) {
			return true
		}
	}
	_, list := v.([]any)
	return list
}

// Emptied adds to to, an encoding of a value of a Go type that was from before a change,
// the maps that are left out or null because they have become empty or nil, so that a
// patch removes their entries and not those of others. It reports whether a struct is left
// out by omitzero, which may have members that the type does not have. view returns the
// encoding of the value that is decoded from an object, nil if it cannot be decoded.
func Emptied(from, to map[string]any, view func(map[string]any) map[string]any) (structs bool) {
	return emptied(from, nil, from, to, view)
}

func emptied(tree map[string]any, path []any, from, to map[string]any, view func(map[string]any) map[string]any) (structs bool) {
	for name, was := range from {
		before, isMap := was.(map[string]any)
		if !isMap {
			continue
		}
		at := append(slices.Clip(path), name)
		now, ok := to[name]
		switch after, isMap := now.(map[string]any); {
		case isMap:
			structs = emptied(tree, at, before, after, view) || structs
		case ok && now != nil, isMapOf(tree, path, from, view): // an entry of a map is removed as a whole
		case isMapOf(tree, at, before, view):
			to[name] = map[string]any{}
		case !ok && omits(tree, at, map[string]any{}, view):
			structs = true
		}
	}
	return structs
}

// isMapOf reports whether the value of a T at path, which has members, is a map: it may
// have others, and is never a plain value, as an any may be.
func isMapOf(tree map[string]any, path []any, members map[string]any, view func(map[string]any) map[string]any) bool {
	name, value := "0", any(nil)
	for n, v := range members {
		if _, ok := members[n+"0"]; !ok { // a digit, for a map whose keys are numbers
			name, value = n+"0", v
			break
		}
	}
	more := maps.Clone(members)
	more[name] = value
	shown, _ := lookup(view(replaced(tree, path, more).(map[string]any)), path).(map[string]any)
	if _, ok := shown[name]; !ok || len(path) == 0 {
		return ok
	}
	return lookup(view(replaced(tree, path, true).(map[string]any)), path) != true
}

// omits reports whether the encoding of a T leaves out its member at path with the value v.
func omits(tree map[string]any, path []any, v any, view func(map[string]any) map[string]any) bool {
	shown := view(replaced(tree, path, v).(map[string]any))
	if shown == nil {
		return false
	}
	return lookup(shown, path) == nil
}

// HasElements reports whether v contains a list of anything but plain values: its
// elements may have members that a Go type does not have.
func HasElements(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			if HasElements(inner) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			switch e.(type) {
			case map[string]any, []any:
				return true
			}
		}
	}
	return false
}
