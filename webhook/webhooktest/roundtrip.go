package webhooktest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/compare"
	"github.com/listwatch/listwatch/kube"
)

// TB is the part of testing.TB that the functions of this package use.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Options set which objects RoundTrip converts. The zero value is the recommended setting.
type Options[Hub, Spoke kube.Object] struct {
	Objects int    // of each version; default 1000
	Seed    uint64 // of the objects; 0 is a valid seed

	// Hub and Spoke change a random object to one that the API server can store, such as
	// one with a value of an enum. They must take their decisions from r.
	Hub   func(o *Hub, r *rand.Rand)
	Spoke func(o *Spoke, r *rand.Rand)
}

// RoundTrip converts random objects from the hub to the spoke and back, and from the
// spoke to the hub and back, and reports the members that are not the same afterwards, and
// errors: a conversion of package webhook must keep everything. It ends after the first
// object that differs.
func RoundTrip[Hub, Spoke kube.Object](t TB, up func(Spoke) (Hub, error), down func(Hub) (Spoke, error), o Options[Hub, Spoke]) {
	t.Helper()
	if o.Objects <= 0 {
		o.Objects = 1000
	}
	r := rand.New(rand.NewPCG(o.Seed, 1))
	for n := range o.Objects {
		if err := thereAndBack(r, o.Hub, down, up); err != nil {
			t.Errorf("from the hub to the spoke and back, object %d of seed %d: %v", n, o.Seed, err)
			return
		}
		if err := thereAndBack(r, o.Spoke, up, down); err != nil {
			t.Errorf("from the spoke to the hub and back, object %d of seed %d: %v", n, o.Seed, err)
			return
		}
	}
}

// thereAndBack converts one object.
func thereAndBack[A, B kube.Object](r *rand.Rand, adjust func(*A, *rand.Rand), there func(A) (B, error), back func(B) (A, error)) error {
	a := random[A](r)
	if adjust != nil {
		adjust(&a, r)
	}
	a, before, err := transmitted(a)
	if err != nil {
		return fmt.Errorf("encode a random object: %w", err)
	}
	b, err := there(a)
	if err != nil {
		return fmt.Errorf("the first conversion fails: %w", err)
	}
	if b, _, err = transmitted(b); err != nil {
		return fmt.Errorf("encode what the first conversion returns: %w", err)
	}
	again, err := back(b)
	if err != nil {
		return fmt.Errorf("the conversion back fails: %w", err)
	}
	_, after, err := transmitted(again)
	if err != nil {
		return fmt.Errorf("encode what the conversion back returns: %w", err)
	}
	var lines []string
	compare.Objects(before, after, 100, func(d compare.Difference) bool {
		lines = append(lines, describe(d))
		return len(lines) < 10
	})
	if len(lines) > 0 {
		return fmt.Errorf("members differ:\n\t%s", strings.Join(lines, "\n\t"))
	}
	return nil
}

// transmitted returns o as it is after it was sent, and its tree.
func transmitted[T kube.Object](o T) (T, map[string]any, error) {
	b, err := codec.Encode(o)
	if err != nil {
		return o, nil, err
	}
	tree, err := codec.Decode[map[string]any](b)
	if err != nil {
		return o, nil, err
	}
	o, err = codec.Decode[T](b)
	return o, tree, err
}

// describe returns a line such as "spec.ports[0].name: "a", then nothing".
func describe(d compare.Difference) string {
	var path strings.Builder
	for _, step := range d.Path.Steps() {
		switch {
		case step.Element != "":
			path.WriteString(step.Element)
		case path.Len() > 0:
			path.WriteString("." + step.Member)
		default:
			path.WriteString(step.Member)
		}
	}
	show := func(missing bool, v any) string {
		b, err := codec.Encode(v)
		if missing || err != nil {
			return "nothing"
		}
		return string(b[:min(len(b), 200)])
	}
	return fmt.Sprintf("%s: %s, then %s", path.String(), show(d.Added, d.Old), show(d.Removed, d.New))
}
