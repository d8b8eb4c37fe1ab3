package kube

import (
	"encoding/json"
	"testing"
)

// FuzzQuantity: the text of a quantity is read as the same one, which has the same text,
// also in JSON; sums and differences agree.
func FuzzQuantity(f *testing.F) {
	for _, s := range []string{"100m", "1.5Gi", "2e3", "-0.0000000001", "+9223372036854775808Ei", "1e-1000", "1E1000", "100E1000", "1.250", "1000k", "0.5Ki", "3E", "0", "-.5"} {
		f.Add(s, "1Gi")
	}
	f.Fuzz(func(t *testing.T, text, more string) {
		q, err := ParseQuantity(text)
		if err != nil {
			return
		}
		b, err := json.Marshal(q)
		if err != nil || len(b) > 2<<10 {
			t.Fatalf("%q is %s, %v", text, b, err)
		}
		var again Quantity
		if err := json.Unmarshal(b, &again); err != nil && len(b) <= maxQuantity {
			t.Fatalf("%q is %s: %v", text, b, err)
		} else if err == nil && (!again.Equal(q) || again.String() != q.String()) {
			t.Fatalf("%q is %s, which is %s", text, b, again)
		}
		other, err := ParseQuantity(more)
		if err != nil {
			return
		}
		if sum := q.Add(other); !sum.Sub(other).Equal(q) || sum.Cmp(q) != other.Sign() {
			t.Fatalf("%s + %s is %s", q, other, sum)
		}
	})
}
