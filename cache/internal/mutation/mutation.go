// Package mutation finds where an object of a cache was changed.
package mutation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// maxPaths limits the paths of one object that are reported.
const maxPaths = 16

// Paths returns the places in which two encodings of an object differ, such as
// ".spec.replicas", at most 16; nil if they are equal. It is "." if one of them is no JSON
// object. Elements of lists are compared by their index: an order that changes is a
// difference too.
func Paths(was, now []byte) []string {
	if bytes.Equal(was, now) {
		return nil
	}
	before, ok := parse(was)
	after, valid := parse(now)
	if !ok || !valid {
		return []string{"."}
	}
	var d difference
	d.values("", before, after)
	return d.paths
}

func parse(object []byte) (tree map[string]any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber() // of more digits than a float64 has
	return tree, dec.Decode(&tree) == nil && tree != nil
}

// difference collects paths.
type difference struct{ paths []string }

func (d *difference) values(at string, was, now any) {
	if len(d.paths) == maxPaths || reflect.DeepEqual(was, now) {
		return
	}
	switch was := was.(type) {
	case map[string]any:
		if now, ok := now.(map[string]any); ok {
			d.objects(at, was, now)
			return
		}
	case []any:
		if now, ok := now.([]any); ok && len(was) == len(now) {
			for i := range was {
				d.values(fmt.Sprintf("%s[%d]", at, i), was[i], now[i])
			}
			return
		}
	}
	d.paths = append(d.paths, at)
}

func (d *difference) objects(at string, was, now map[string]any) {
	all := maps.Clone(was)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		before, had := was[name]
		after, has := now[name]
		member := at + "." + strings.ReplaceAll(name, ".", `\.`)
		switch {
		case had && has:
			d.values(member, before, after)
		case len(d.paths) < maxPaths:
			d.paths = append(d.paths, member)
		}
	}
}
