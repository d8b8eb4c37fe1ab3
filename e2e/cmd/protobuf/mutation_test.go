package main

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/listwatch/listwatch/internal/protojson"
)

// TestEveryWrongNumberIsSeen: with another number for any one field, the table would make
// other JSON of some random object than Kubernetes does. It is the object that is changed
// here: its field has a number that the table has not, which is the same for the reader.
func TestEveryWrongNumberIsSeen(t *testing.T) {
	left := map[*protojson.Field]string{}
	for _, k := range kinds() {
		reach(protojson.Lookup(k.version.String(), k.name), k.name, left)
	}
	all := len(left)
	for _, k := range kinds() {
		m := protojson.Lookup(k.version.String(), k.name)
		for seed := range uint64(400) {
			mine := map[*protojson.Field]string{}
			if reach(m, "", mine); !slices.ContainsFunc(slices.Collect(maps.Keys(mine)), func(f *protojson.Field) bool { return left[f] != "" }) {
				break
			}
			f := filler{rand: rand.New(rand.NewPCG(seed, 4)), share: []float64{0.6, 0.3, 0.1}[seed%3], depth: 8}
			o := reflect.New(k.typ)
			f.fill(o.Elem(), 0)
			raw, err := o.Interface().(wire).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			text, err := k.json(raw)
			if err != nil {
				t.Fatal(err)
			}
			if differs(t, k, text, raw) {
				t.Fatalf("%s %s, seed %d: it differs as it is", k.version, k.name, seed)
			}
			present := map[*protojson.Field]bool{}
			renumber(t, m, raw, nil, present)
			for field := range present {
				if left[field] != "" && differs(t, k, text, renumber(t, m, raw, field, nil)) {
					delete(left, field)
				}
			}
		}
	}
	if all < 1500 || len(left) > 0 {
		t.Errorf("%d of %d fields may have a wrong number: %q", len(left), all, slices.Sorted(maps.Values(left)))
	}
}

// reach adds the fields of m, and of the messages in it, with their names.
func reach(m *protojson.Message, name string, fields map[*protojson.Field]string) {
	for i := range m.Fields {
		f := &m.Fields[i]
		if _, known := fields[f]; known {
			return
		}
		if fields[f] = name + "." + f.Name; f.Type == protojson.IsMessage {
			reach(f.Message(), fields[f], fields)
		}
	}
}

// renumber returns b, of message m, with another number for a field, and notes the fields
// that it has.
func renumber(t *testing.T, m *protojson.Message, b []byte, other *protojson.Field, present map[*protojson.Field]bool) (out []byte) {
	t.Helper()
	for w := protojson.Wire(b); len(w) > 0; {
		number, typ, err := w.Tag()
		value := w
		if err == nil {
			err = w.Skip(typ)
		}
		i := slices.IndexFunc(m.Fields, func(f protojson.Field) bool { return f.Number == number })
		if err != nil || i < 0 {
			t.Fatalf("field %d: %v", number, err)
		}
		f, all := &m.Fields[i], value[:len(value)-len(w)]
		if present != nil {
			present[f] = true
		}
		if f.Type == protojson.IsMessage {
			in := f.Message()
			if f.Map {
				in = &protojson.Message{Fields: []protojson.Field{{Number: 1}, *f}}
				in.Fields[1].Number, in.Fields[1].Map = 2, false
			}
			body, err := value.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			body = renumber(t, in, body, other, present)
			all = append(binary.AppendUvarint(nil, uint64(len(body))), body...)
		}
		if f == other {
			number = 9999
		}
		out = append(binary.AppendUvarint(out, number<<3|uint64(typ)), all...)
	}
	return out
}

// differs reports whether the table makes something else than text of an object.
func differs(t *testing.T, k kind, text, raw []byte) bool {
	t.Helper()
	sent, err := k.envelope(raw)
	if err != nil {
		t.Fatal(err)
	}
	b, _, _, err := protojson.Decode(sent, 64<<20)
	if err != nil {
		return true
	}
	var want, got any
	if json.Unmarshal(text, &want) != nil || json.Unmarshal(b, &got) != nil {
		t.Fatal("no JSON")
	}
	return !reflect.DeepEqual(want, got)
}
