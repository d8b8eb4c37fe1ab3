package diff

import (
	"testing"
)

// FuzzTexts: differences are within the limits, there are none between equal objects, and
// as many in the other direction, with old and new exchanged.
func FuzzTexts(f *testing.F) {
	f.Add(`{"a":{"b":[1,2,{"name":"x","v":1}]},"metadata":{"resourceVersion":"1"}}`, `{"a":{"b":[1,{"name":"x","v":2}],"c":null},"metadata":{"resourceVersion":"2"}}`)
	f.Add(`{"a":[[[]]],"":{"":1}}`, `{"a":"x","":{"\u0000":1e400}}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		const limit = 20
		changes, more, err := Texts(a, b, limit)
		if err != nil {
			return
		}
		size := 0
		for _, c := range changes {
			size += len(c.Path)
			for _, v := range []*string{c.Old, c.New} {
				if v != nil {
					size += len(*v)
				}
			}
			if c.Old == nil && c.New == nil {
				t.Fatalf("%s has neither an old nor a new value", c.Path)
			}
		}
		if len(changes) > limit || size > 2*maxBytes {
			t.Fatalf("%d changes of %d bytes", len(changes), size)
		}
		back, moreBack, err := Texts(b, a, limit)
		if err != nil || len(back) != len(changes) || more != moreBack {
			t.Fatalf("%d changes and %d more, and back %d and %d: %v", len(changes), more, len(back), moreBack, err)
		}
		if same, _, _ := Texts(a, a, limit); len(same) > 0 {
			t.Fatalf("an object differs from itself in %s", same[0].Path)
		}
		_ = Summary(changes)
	})
}
