package schema

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

// TestCompareOfManyIsTheLibrarys: values with more parts than [many] are visited in
// another order.
func TestCompareOfManyIsTheLibrarys(t *testing.T) {
	typ := typeOfMany(t)
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 1))
		was, is := objectOfMany(dice, 100), objectOfMany(dice, 100)
		got, ok := typ.compare(was, is)
		if !ok {
			t.Fatal("left to the library")
		}
		want, err := typ.compareTyped(was, is)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want.String(), got.String()); diff != "" || got.Added.Size() < 100 {
			t.Fatalf("seed %d, %d added (-library +got):\n%s", seed, got.Added.Size(), diff)
		}
	}
}

// BenchmarkUpdateOfMany is of a body near the limit, in which nothing is in order.
func BenchmarkUpdateOfMany(b *testing.B) {
	typ := typeOfMany(b)
	dice := rand.New(rand.NewPCG(1, 1))
	live, next := objectOfMany(dice, 1), objectOfMany(dice, 50_000)
	managed, known := typ.UpdateManaged(nil, live, Managed{}, Write{Manager: "m"})
	for b.Loop() {
		typ.UpdateManaged(live, next, Managed{Live: managed, Known: known}, Write{Manager: "m"})
	}
}

func typeOfMany(tb testing.TB) *Type {
	tb.Helper()
	var catalog Catalog
	typ, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: "K"}, []byte(`{"type":"object","properties":{
		"map":{"type":"object","additionalProperties":{"type":"string"}},
		"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
		"list":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
			"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"port":{"type":"integer"}}}}}}`))
	if err != nil {
		tb.Fatal(err)
	}
	return typ
}

// objectOfMany returns an object of typeOfMany with n of twice as many parts.
func objectOfMany(dice *rand.Rand, n int) map[string]any {
	fields, set, list := map[string]any{}, []any{}, []any{}
	for _, i := range dice.Perm(2 * n)[:n] {
		name := fmt.Sprint(i)
		fields[name] = fmt.Sprint(dice.IntN(2))
		set = append(set, name)
		list = append(list, map[string]any{"name": name, "port": dice.Int64N(2)})
	}
	return map[string]any{"map": fields, "set": set, "list": list}
}
