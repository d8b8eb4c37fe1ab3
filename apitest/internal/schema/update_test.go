package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/listwatch/listwatch/kube"
)

// allTypes returns every built-in type, and the custom ones of the stories.
func allTypes(t *testing.T) []*Type {
	t.Helper()
	var catalog Catalog
	if _, err := catalog.Type(kube.Pods); err != nil {
		t.Fatal(err)
	}
	var ids []gvk
	for id := range catalog.kinds {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b gvk) int { return strings.Compare(a.String(), b.String()) })
	var list []*Type
	for _, id := range ids {
		typ, err := catalog.Type(kube.Resource{Group: id.group, Version: id.version, Kind: id.kind})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, typ)
	}
	for _, file := range []string{"apply.json", "strict.json", "custom.json"} {
		b, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var stories []struct{ CRD json.RawMessage }
		if err := json.Unmarshal(b, &stories); err != nil {
			t.Fatal(err)
		}
		for i, s := range stories {
			if s.CRD == nil {
				continue
			}
			typ, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: fmt.Sprintf("K%d", i)}, s.CRD)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, typ)
		}
	}
	return list
}

// maker makes values of a schema at random, few of them wrong.
type maker struct {
	*rand.Rand
	wild bool // values of other types, too
}

func (m maker) value(n *node, depth int) any {
	n = n.target()
	switch dice := m.IntN(100); {
	case dice < 2:
		return nil
	case m.wild && dice < 4:
		return m.any(depth)
	case n == nil || len(n.types) == 0:
		return m.any(depth)
	}
	switch n.types[m.IntN(len(n.types))] {
	case "string":
		if n.format == "int-or-string" && m.IntN(2) == 0 {
			return int64(m.IntN(3))
		}
		return string(rune('a' + m.IntN(4)))
	case "integer", "number":
		if m.wild && m.IntN(4) == 0 {
			return float64(m.IntN(6)) / 2
		}
		return int64(m.IntN(4))
	case "boolean":
		return m.IntN(2) == 0
	case "array":
		list := []any{}
		for range m.IntN(4) {
			list = append(list, m.value(n.items, depth+1))
		}
		return list
	}
	o := map[string]any{}
	for _, name := range n.names {
		if name != "managedFields" && (depth == 0 || m.IntN(2+depth) == 0) {
			o[name] = m.value(n.props[name], depth+1)
		}
	}
	if n.extra != nil || n.extraAny || n.preserve {
		for range m.IntN(3) {
			o[string(rune('a'+m.IntN(4)))] = m.value(n.extra, depth+1)
		}
	}
	return o
}

func (m maker) any(depth int) any {
	switch m.IntN(7 + depth) {
	case 0:
		return map[string]any{"a": m.any(depth + 1), string(rune('b' + m.IntN(3))): m.any(depth + 1)}
	case 1:
		return []any{m.any(depth + 1)}
	case 2:
		return int64(m.IntN(3))
	case 3:
		return m.IntN(2) == 0
	case 4:
		return float64(m.IntN(4)) / 2
	case 5:
		return map[string]any{}
	}
	return string(rune('a' + m.IntN(4)))
}

// edit returns v, of n, with some of it changed.
func (m maker) edit(n *node, v any, depth int) any {
	if depth > 0 && m.IntN(12) == 0 {
		return m.value(n, depth)
	}
	n = n.target()
	switch v := v.(type) {
	case map[string]any:
		o := map[string]any{}
		for _, name := range sortedKeys(v) {
			child, _ := n.member(name)
			switch m.IntN(8) {
			case 0:
			case 1, 2:
				o[name] = m.edit(child, v[name], depth+1)
			default:
				o[name] = v[name]
			}
		}
		if n != nil && len(n.names) > 0 && m.IntN(3) == 0 {
			if name := n.names[m.IntN(len(n.names))]; name != "managedFields" {
				o[name] = m.value(n.props[name], depth+1)
			}
		}
		return o
	case []any:
		var items *node
		if n != nil {
			items = n.items
		}
		list := []any{}
		for _, e := range v {
			switch m.IntN(6) {
			case 0:
			case 1:
				list = append(list, m.edit(items, e, depth+1))
			default:
				list = append(list, e)
			}
		}
		if m.IntN(4) == 0 {
			list = append(list, m.value(items, depth+1))
		}
		if m.IntN(4) == 0 {
			m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		return list
	}
	return v
}

// object makes one of t; where that has no metadata of its own it is empty.
func (m maker) object(t *Type) map[string]any {
	o, ok := m.value(t.root, 0).(map[string]any)
	if !ok {
		o = map[string]any{}
	}
	o["apiVersion"], o["kind"] = t.id.apiVersion(), t.id.kind
	meta := map[string]any{"name": "n"}
	if m.IntN(2) == 0 {
		meta["labels"] = map[string]any{"a": "b"}
	}
	o["metadata"] = meta
	return o
}

// writes are all that Write can say besides.
func (m maker) write() Write {
	return Write{Manager: string(rune('a' + m.IntN(3))), Subresource: []string{"", "", "status", "scale"}[m.IntN(4)],
		HasStatus: m.IntN(2) == 0, Now: time.Unix(int64(m.IntN(5)), 0)}
}

// byLibrary is UpdateManaged as structured-merge-diff does it.
func byLibrary(t *Type, live, next map[string]any, before []byte, w Write) (*managed, error) {
	m, err := parseManaged(before, false)
	if err != nil {
		return nil, err
	}
	was, err := t.typed(live, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	is, err := t.typed(next, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	const self = "current-operation"
	u := merge.UpdaterBuilder{Converter: sameVersion{t.id}}
	version := fieldpath.APIVersion(t.id.apiVersion())
	if reset := t.resets(w); reset != nil {
		u.IgnoreFilter = map[fieldpath.APIVersion]fieldpath.Filter{version: fieldpath.NewExcludeSetFilter(reset)}
	}
	if _, m.fields, err = u.BuildUpdater().Update(was, is, version, m.fields, self); err != nil {
		return nil, err
	}
	strip(m, self)
	if set, ok := m.fields[self]; ok {
		delete(m.fields, self)
		id := w.id(t, opUpdate)
		if before, ok := m.fields[id]; ok {
			set = fieldpath.NewVersionedSet(set.Set().Union(before.Set()), set.APIVersion(), set.Applied())
		}
		if m.fields[id] = set; w.Subresource != "scale" {
			m.times[id] = w.now()
		}
	}
	m.cap()
	return m, nil
}

// TestUpdateIsTheLibrarys: who owns what is as structured-merge-diff says, whatever
// is written, for every type there is.
func TestUpdateIsTheLibrarys(t *testing.T) {
	const seed, rounds = 7, 4
	quick, all := 0, 0
	for i, typ := range allTypes(t) {
		m := maker{rand.New(rand.NewPCG(seed, uint64(i))), false}
		for round := range rounds {
			m.wild = round == rounds-1
			var live map[string]any
			var before []byte
			known := false
			next := m.object(typ)
			for step := range 6 {
				w := m.write()
				where := fmt.Sprintf("%s, round %d, step %d", typ.id, round, step)
				want, err := byLibrary(typ, live, next, before, w)
				if known || live == nil {
					c, ok := typ.compare(live, next)
					if all++; ok {
						quick++
						lib, err := typ.compareTyped(live, next)
						if err != nil {
							t.Fatalf("%s: the library refuses it: %v", where, err)
						}
						if diff := gocmp.Diff(lib.String(), c.String()); diff != "" {
							t.Fatalf("%s (-library +got):\n%s", where, diff)
						}
					}
				}
				got, fits := typ.UpdateManaged(live, next, Managed{Live: before, Known: known}, w)
				switch {
				case live != nil && before == nil: // nobody has begun
				case err != nil:
					if fits || string(got) != string(before) {
						t.Fatalf("%s: got %s, known %t, want %s as the library says: %v", where, got, fits, before, err)
					}
				default:
					b, err := want.json(typ.builtIn)
					if err != nil {
						t.Fatal(err)
					}
					if diff := gocmp.Diff(string(b), string(got)); diff != "" || !fits {
						t.Fatalf("%s: known %t (-library +got):\n%s", where, fits, diff)
					}
				}
				if fits {
					checkKnown(t, where, typ, next, got)
				}
				live, before, known = next, got, fits
				next, _ = m.edit(typ.root, live, 0).(map[string]any)
				next["apiVersion"], next["kind"] = live["apiVersion"], live["kind"]
			}
		}
	}
	if quick*10 < all*6 {
		t.Errorf("the library was spared in %d of %d comparisons only", quick, all)
	}
	t.Logf("%d of %d comparisons without the library", quick, all)
}

// checkKnown: what is known need not be looked at again.
func checkKnown(t *testing.T, where string, typ *Type, o map[string]any, managed []byte) {
	t.Helper()
	if _, err := typ.typed(o, typed.AllowDuplicates); err != nil {
		t.Fatalf("%s: what is known not to fit does: %v", where, err)
	}
	m, err := parseManaged(managed, true)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	nothing, err := typ.typed(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Decode(append([]byte(nil), managed...))
	if len(managed) == 0 {
		v, err = nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	slow, err := decodeManaged(v)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if !m.fields.Equals(slow.fields) {
		t.Fatalf("%s: read from JSON as %v, from an object as %v", where, m.fields, slow.fields)
	}
	for id, set := range m.fields {
		if fitting, err := typed.ReconcileFieldSetWithSchema(set.Set(), nothing); fitting != nil || err != nil {
			t.Fatalf("%s: the fields of %s do not fit: %v %v", where, id, fitting, err)
		}
	}
}
