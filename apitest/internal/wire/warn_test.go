package wire_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// TestWarn: each text once; beyond 4,096 characters the first ones, of 256 characters each.
func TestWarn(t *testing.T) {
	numbers := func(n int, tail string) (texts []string) {
		for i := range n {
			texts = append(texts, fmt.Sprintf("%06d%s", i, tail))
		}
		return append(texts, texts...)
	}
	for _, c := range []struct {
		what            string
		texts           []string
		want, each, all int
	}{
		{"none", []string{"", "\x00", "\xff"}, 0, 0, 0},
		{"some, twice", numbers(3, ""), 3, 6, 18},
		{"one as long as all may be", []string{strings.Repeat("é", 4096)}, 1, 4096, 4096},
		{"one that is longer", []string{strings.Repeat("é", 4097)}, 1, 256, 256},
		{"many", numbers(200_000, ""), 683, 6, 4098},
		{"many that are long", numbers(10_000, strings.Repeat("é", 1000)), 16, 256, 4096},
	} {
		h := http.Header{}
		wire.Warn(h, c.texts...)
		each, all := 0, 0
		for _, value := range h["Warning"] {
			n := utf8.RuneCountInString(value) - len(`299 - ""`)
			each, all = max(each, n), all+n
		}
		if n := len(h["Warning"]); n != c.want || each != c.each || all != c.all {
			t.Errorf("%s: %d warnings of up to %d and in all %d characters, want %d, %d and %d", c.what, n, each, all, c.want, c.each, c.all)
		}
	}
}

// TestWithin: a large Status without a place is cut, and the given one is not changed.
func TestWithin(t *testing.T) {
	var wrong []kube.StatusCause
	for i := range 1000 {
		wrong = append(wrong, kube.StatusCause{Reason: "FieldValueInvalid", Field: fmt.Sprint("f", i), Message: "m"})
	}
	asked := int64(0)
	place := func(yes bool) func(int64) bool { return func(n int64) bool { asked = n; return yes } }
	if st := wire.BadRequest("a"); wire.Within(st, place(false)) != st || asked != 0 {
		t.Error("a brief Status was cut, or needed a place")
	}
	large := wire.Invalid("", "K", "n", wrong...)
	if wire.Within(large, place(true)) != large || asked < 20_000 {
		t.Errorf("a large Status with a place of %d bytes was cut", asked)
	}
	short := wire.Within(large, place(false))
	if b := wire.EncodeStatus(short); len(b) > 4<<10 || short.Code != http.StatusUnprocessableEntity || short.Reason != "Invalid" || !strings.HasPrefix(short.Message, `K "n" is invalid: [f0: m, f1`) {
		t.Errorf("a large Status without a place is %s", b)
	}
	if len(large.Details.Causes) != 1000 {
		t.Error("the given Status was changed")
	}
	long := strings.Repeat("<", 1<<20)
	st := &kube.Status{Code: 403, Message: long, Reason: long, Details: &kube.StatusDetails{Name: long, Group: long, Kind: long, UID: long}}
	if b := wire.EncodeStatus(wire.Within(st, place(false))); len(b) > 32<<10 {
		t.Errorf("a Status of long texts is still %d bytes", len(b))
	}
}
