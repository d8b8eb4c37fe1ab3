package compat_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/listwatch/listwatch/kube"
)

// TestQuantityIsThatOfApimachinery compares random texts, of which some are not valid:
// whether they are refused, what is printed and encoded, sums, differences, order and
// whole numbers.
func TestQuantityIsThatOfApimachinery(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	random := func() string {
		digits := func(most int) string {
			var b strings.Builder
			for range r.IntN(most + 1) {
				b.WriteByte(byte('0' + r.IntN(10)))
			}
			return b.String() + strings.Repeat("0", r.IntN(4)*r.IntN(2))
		}
		s := pick("", "", "", "-", "+") + digits(pick2(r, 3, 3, 9, 22))
		if r.IntN(3) == 0 {
			s += "." + digits(pick2(r, 3, 3, 12))
		}
		return s + pick("", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-3", "e2", "e+1", "e-9",
			"e", "K", "mi", " ", "ki", "-", "-5", "x", "i")
	}
	refused, compared := 0, 0
	var before resource.Quantity
	var ours kube.Quantity
	const rounds = 200_000
	for range rounds {
		s := random()
		want, wantErr := resource.ParseQuantity(s)
		got, err := kube.ParseQuantity(s)
		if empty.MatchString(s) {
			if err == nil {
				t.Fatalf("%q is %v", s, got)
			}
			continue // apimachinery takes most of them for 0
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: apimachinery %v, listwatch %v", s, wantErr, err)
		}
		if err != nil {
			refused++
			continue
		}
		if !sound(want) {
			continue
		}
		compared++
		wantJSON, _ := json.Marshal(want)
		gotJSON, err := json.Marshal(got)
		if string(gotJSON) != string(wantJSON) || err != nil || got.String() != want.String() {
			t.Fatalf("%q: %s, %q, %v; apimachinery %s, %q", s, gotJSON, got.String(), err, wantJSON, want.String())
		}
		sum, difference := before.DeepCopy(), before.DeepCopy()
		sum.Add(want)
		difference.Sub(want)
		what := fmt.Sprintf("%v and %v", &before, s)
		if g := ours.Add(got); sound(sum) && g.String() != sum.String() {
			t.Fatalf("%s: sum %v, apimachinery %v", what, g, &sum)
		}
		if g := ours.Sub(got); sound(difference) && g.String() != difference.String() {
			t.Fatalf("%s: difference %v, apimachinery %v", what, g, &difference)
		}
		if got.Cmp(ours) != want.Cmp(before) || got.Equal(ours) != want.Equal(before) || got.Sign() != want.Sign() || got.IsZero() != want.IsZero() {
			t.Fatalf("%s: they compare otherwise", what)
		}
		if limit := resource.MustParse("9e15"); want.Sign() >= 0 && want.Cmp(limit) < 0 && (got.Value() != want.Value() || got.MilliValue() != want.MilliValue()) {
			t.Fatalf("%q: value %d and %d, apimachinery %d and %d", s, got.Value(), got.MilliValue(), want.Value(), want.MilliValue())
		}
		var read kube.Quantity
		if err := json.Unmarshal(wantJSON, &read); err != nil || !read.Equal(got) {
			t.Fatalf("%s is read as %v: %v", wantJSON, read, err)
		}
		before, ours = want, got
	}
	if refused < rounds/10 || compared < rounds/10 {
		t.Errorf("%d were refused and %d compared of %d", refused, compared, rounds)
	}
}

// empty are texts with a number without a digit.
var empty = regexp.MustCompile(`^[+-]?\.?([^0-9.+-]|$)`)

// sound reports whether what apimachinery prints of q is q: it has no suffix above E, and
// prints 1000E as 1.
func sound(q resource.Quantity) bool {
	again, err := resource.ParseQuantity(q.String())
	return err == nil && again.Cmp(q) == 0
}

func pick2(r *rand.Rand, all ...int) int { return all[r.IntN(len(all))] }
