package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/protojson"
)

// TestTableIsCurrent: the file in the tree is that of the versions in go.mod.
func TestTableIsCurrent(t *testing.T) {
	want, _, err := table()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../internal/protojson/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("it is not; go run .")
	}
}

// TestRandomObjects: objects of every kind, full, half full and nearly empty, come
// out as the Go types would have written them.
func TestRandomObjects(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.version.String()+" "+k.name, func(t *testing.T) {
			for seed := range uint64(30) {
				f := filler{rand: rand.New(rand.NewPCG(seed, 0)), share: []float64{1, 0.5, 0.1}[seed%3], depth: 20}
				if k.name == "CustomResourceDefinition" {
					f.share, f.depth = []float64{0.6, 0.3, 0.1}[seed%3], 8
				}
				o := reflect.New(k.typ)
				f.fill(o.Elem(), 0)
				sent, text, err := k.encode(o)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, fmt.Sprintf("seed %d", seed), sent, text)
				again, err := protojson.Encode(text, "", "")
				if err != nil {
					t.Fatal(err)
				}
				e, err := protojson.Open(again)
				if err != nil {
					t.Fatal(err)
				}
				if read, err := k.json(e.Raw); err != nil {
					t.Errorf("seed %d, encoded again: %v", seed, err)
				} else if compareJSON(t, text, read) != "" {
					t.Errorf("seed %d, encoded again, as Kubernetes reads it (-want +got):\n%s", seed, compareJSON(t, text, read))
				}
			}
		})
	}
}

// TestDamagedObjects: what was damaged on the way is refused, or read as the Go
// types read it. They look less closely at the entries of maps, the table does not
// look at quantities and the like.
func TestDamagedObjects(t *testing.T) {
	both, table, types := 0, 0, 0
	for _, k := range kinds() {
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 1))
			f := filler{rand: r, share: 0.3, depth: 8}
			o := reflect.New(k.typ)
			f.fill(o.Elem(), 0)
			raw, err := o.Interface().(wire).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + r.IntN(3) {
				if len(raw) > 0 {
					raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
				}
			}
			sent, err := k.envelope(raw)
			if err != nil {
				t.Fatal(err)
			}
			text, err := k.json(raw)
			_, _, _, refused := protojson.Decode(sent, 3<<20)
			switch {
			case err == nil && refused == nil:
				both++
				compare(t, fmt.Sprintf("%s %s, seed %d", k.version, k.name, seed), sent, text)
			case refused == nil:
				table++
			case err == nil:
				types++
			}
		}
	}
	t.Logf("readable for both %d, for the table alone %d, for the types alone %d", both, table, types)
}

func compare(t *testing.T, what string, sent, text []byte) {
	t.Helper()
	b, _, _, err := protojson.Decode(sent, 3<<20)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	var want, got any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func compareJSON(t *testing.T, a, b []byte) string {
	t.Helper()
	var want, got any
	if json.Unmarshal(a, &want) != nil || json.Unmarshal(b, &got) != nil {
		t.Fatal("no JSON")
	}
	return cmp.Diff(withoutNulls(want), withoutNulls(got))
}

// withoutNulls leaves out of v what JSON has for a pointer to what is empty: nothing
// on the wire.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, v any) bool { return v == nil })
		for k := range v {
			v[k] = withoutNulls(v[k])
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
