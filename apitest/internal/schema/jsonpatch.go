package schema

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

const (
	// operationLimit limits the operations of a JSON patch.
	operationLimit = 10_000
	// copyLimit limits the bytes that the copies of one JSON patch add.
	copyLimit = 3 << 20
	// shiftLimit limits the list elements that one JSON patch moves.
	shiftLimit = 50_000_000
)

// JSONPatch applies a JSON patch (RFC 6902) to original and returns the result, which
// shares nothing with it. It deviates from the RFC like kube-apiserver: replace adds a
// missing member, a negative index counts from the end, and the whole object can only
// be tested and replaced. The error is a *kube.Status.
func JSONPatch(original map[string]any, patch []byte) (map[string]any, error) {
	v, err := Decode(patch)
	if err != nil {
		return nil, badRequest("invalid JSON patch")
	}
	list, ok := v.([]any)
	if !ok {
		return nil, badRequest("error decoding patch: json: cannot unmarshal %s into Go value of type []handlers.jsonPatchOp", wordOf(v))
	}
	for _, e := range list {
		if _, ok := e.(map[string]any); !ok {
			return nil, badRequest("error decoding patch: json: cannot unmarshal %s into Go value of type handlers.jsonPatchOp", wordOf(e))
		}
	}
	if len(list) > operationLimit {
		return nil, &kube.Status{Code: http.StatusRequestEntityTooLarge, Reason: "RequestEntityTooLarge", Details: &kube.StatusDetails{},
			Message: fmt.Sprintf("Request entity too large: The allowed maximum operations in a JSON patch is %d, got %d", operationLimit, len(list))}
	}
	p := patcher{root: any(Copy(original))}
	for _, e := range list {
		if !p.apply(e.(map[string]any)) {
			return nil, rejected()
		}
	}
	patched, ok := p.root.(map[string]any)
	if !ok || deeper(patched, depthLimit) {
		return nil, rejected()
	}
	return patched, nil
}

// deeper reports whether v is nested deeper than limit.
func deeper(v any, limit int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if limit == 0 || deeper(e, limit-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if limit == 0 || deeper(e, limit-1) {
				return true
			}
		}
	}
	return false
}

type patcher struct {
	root    any
	copied  int // bytes
	shifted int // elements
}

// apply applies one operation and reports whether that succeeded.
func (p *patcher) apply(op map[string]any) bool {
	kind, _ := op["op"].(string)
	path, ok := op["path"].(string)
	if !ok {
		return false
	}
	switch kind {
	case "add":
		return p.set(path, op["value"], true)
	case "replace":
		if o, ok := op["value"].(map[string]any); ok && path == "" {
			p.root = any(Copy(o))
			return true
		}
		return p.set(path, op["value"], false)
	case "remove":
		return p.remove(path)
	case "test":
		if path == "" {
			return reflect.DeepEqual(p.root, op["value"])
		}
		at := p.find(path)
		if at == nil {
			return false
		}
		v, _ := at.get()
		return same(v, op["value"])
	case "move", "copy":
		from, ok := op["from"].(string)
		if !ok {
			return false
		}
		at := p.find(from)
		if at == nil {
			return false
		}
		v, ok := at.get()
		if !ok {
			return false
		}
		if kind == "move" {
			return p.remove(from) && p.set(path, v, true)
		}
		b, err := Encode(v)
		if p.copied += len(b); err != nil || p.copied > copyLimit {
			return false
		}
		return p.set(path, Copy(v), true)
	}
	return false
}

// same compares values; 1 and 1.0 are the same number.
func same(a, b any) bool {
	if x, ok := a.(int64); ok {
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	}
	if x, ok := a.(float64); ok {
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
	}
	return reflect.DeepEqual(a, b)
}

// place is a member of an object or an element of a list.
type place struct {
	object map[string]any
	list   []any
	assign func(list []any) // puts a list that changed its length where it was
	name   string
}

// find returns the place of a JSON pointer, nil if its parent does not exist.
func (p *patcher) find(pointer string) *place {
	parts := strings.Split(pointer, "/")
	if len(parts) < 2 || parts[0] != "" || len(parts) > depthLimit {
		return nil
	}
	for i, s := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	at := p.place(p.root, parts[1], func([]any) {})
	for _, name := range parts[2:] {
		if at == nil {
			return nil
		}
		v, ok := at.get()
		if !ok {
			return nil
		}
		parent := *at
		at = p.place(v, name, func(list []any) { parent.put(list) })
	}
	return at
}

func (p *patcher) place(holder any, name string, assign func([]any)) *place {
	switch h := holder.(type) {
	case map[string]any:
		return &place{object: h, name: name}
	case []any:
		return &place{list: h, assign: assign, name: name}
	}
	return nil
}

// index returns the element that the name stands for, of a list of n.
func (at *place) index(n int) (int, bool) {
	i, err := strconv.Atoi(at.name)
	if i < 0 {
		i += n
	}
	return i, err == nil && i >= 0 && i < n
}

func (at *place) get() (v any, ok bool) {
	if at.object != nil {
		return at.object[at.name], true // nil where it is missing
	}
	i, ok := at.index(len(at.list))
	if !ok {
		return nil, false
	}
	return at.list[i], true
}

// put replaces the value.
func (at *place) put(v any) bool {
	if at.object != nil {
		at.object[at.name] = v
		return true
	}
	i, ok := at.index(len(at.list))
	if ok {
		at.list[i] = v
	}
	return ok
}

// set adds v, or replaces the value.
func (p *patcher) set(pointer string, v any, add bool) bool {
	at := p.find(pointer)
	if at == nil {
		return false
	}
	if at.object != nil || !add {
		return at.put(v)
	}
	if at.name == "-" {
		at.assign(append(at.list, v))
		return true
	}
	i, ok := at.index(len(at.list) + 1)
	if p.shifted += len(at.list); !ok || p.shifted > shiftLimit {
		return false
	}
	at.assign(slices.Insert(at.list, i, v))
	return true
}

func (p *patcher) remove(pointer string) bool {
	at := p.find(pointer)
	if at == nil {
		return false
	}
	if at.object != nil {
		_, ok := at.object[at.name]
		delete(at.object, at.name)
		return ok
	}
	i, ok := at.index(len(at.list))
	if p.shifted += len(at.list); !ok || p.shifted > shiftLimit {
		return false
	}
	at.assign(slices.Delete(at.list, i, i+1))
	return true
}
