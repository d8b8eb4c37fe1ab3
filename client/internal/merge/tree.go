package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

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

// Parse decodes an object. Numbers keep all their digits.
func Parse(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil || tree == nil {
		return nil, fmt.Errorf("%d bytes that are not a JSON object", len(b)) // the decoder's errors quote them
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%d bytes that are more than a JSON object", len(b))
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
