package merge

import (
	_ "embed"
	"strings"
	"sync"
)

// listTypes are the keys by which the API identifies the elements of its lists. It is
// generated from the OpenAPI documents of kube-apiserver by
//
//	go test ./client/internal/merge -run TestListTypes -update
//
// Each line is a type: its name, and those of its members that are lists with keys or
// contain them. member>type is an object or a list without keys, and
// member=key,key>type a list with keys, where key:value has a default. The type of a
// kind is named apiVersion,kind.
//
//go:embed listtypes.txt
var listTypes string

// A listType is the type of a value: that of its members, or of its elements if it is a
// list, and their keys. The zero listType is unknown.
type listType struct {
	name string
	keys []listKey
}

// listKey is a member of the key of a list's elements. See
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy.
type listKey struct {
	name  string
	value any // its default; nil = none
}

// rootType returns the type of an object by its apiVersion and kind. For kinds that are
// not built in, only the metadata is known.
func rootType(object map[string]any) listType {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	name := apiVersion + "," + kind
	if _, ok := parsedListTypes()[name]; !ok {
		name = "*"
	}
	return listType{name: name}
}

// member returns the type of a member of an object of type t.
func (t listType) member(name string) listType { return parsedListTypes()[t.name][name] }

// element returns the type of an element of a list of type t.
func (t listType) element() listType { return listType{name: t.name} }

var parsedListTypes = sync.OnceValue(func() map[string]map[string]listType {
	types := make(map[string]map[string]listType)
	for line := range strings.Lines(listTypes) {
		fields := strings.Fields(line)
		members := make(map[string]listType, len(fields)-1)
		for _, field := range fields[1:] {
			member, of, _ := strings.Cut(field, ">")
			member, keys, keyed := strings.Cut(member, "=")
			t := listType{name: of}
			if keyed {
				for key := range strings.SplitSeq(keys, ",") {
					name, value, ok := strings.Cut(key, ":")
					k := listKey{name: name}
					if ok {
						k.value = value
					}
					t.keys = append(t.keys, k)
				}
			}
			members[member] = t
		}
		types[fields[0]] = members
	}
	return types
})
