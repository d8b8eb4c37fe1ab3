package sink

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestWhatFollowsAValueIsDifferent: such a text is not JSON.
func TestWhatFollowsAValueIsDifferent(t *testing.T) {
	for _, text := range []string{`{"a":1}x`, `{"a":1}{"a":1}`, `{"a":1} ]`} {
		if sameObject(json.RawMessage(`{"a":1}`), json.RawMessage(text)) {
			t.Errorf("%s is equal to its beginning", text)
		}
	}
	if !sameObject(json.RawMessage(`{"a":1}`), json.RawMessage(" {\"a\": 1}\n")) {
		t.Error("white space is different")
	}
}

func sameObject(a, b json.RawMessage) bool { return digestOf(a) == digestOf(b) }

// TestSameObjectComparesNumbersByValue, however large they are and however they are written.
func TestSameObjectComparesNumbersByValue(t *testing.T) {
	zeros := strings.Repeat("0", 100_000)
	for _, pair := range []struct {
		a, b string
		same bool
	}{
		{"1e-7", "0.0000001", true},
		{"1.2345678901234568e+22", "12345678901234568000000", true},
		{"1e+130", "1" + strings.Repeat("0", 130), true},
		{"0.1", "0.10", true},
		{"1E2", "100", true},
		{"-12.50e-1", "-1.25", true},
		{"-0", "0", true},
		{"-0.00e-5", "0", true},
		{"0e999999999999999999999", "0", true},
		{"1e999999999", "10e999999998", true},
		{"1e-999999999", "0.1e-999999998", true},
		{"1e+00000000000000000000000000001", "10", true},
		{"1" + zeros, "1e100000", true},
		{"0." + zeros + "1", "1e-100001", true},
		{"9007199254740993", "9007199254740992", false},
		{"0.1", "0.1000000000000000055511151231257827", false},
		{"1", "-1", false},
		{"1", "10", false},
		{"0", "1e-999999999", false},
		{"1e999999999", "1e999999998", false},
		{"1e9223372036854775807", "10e-9223372036854775808", false},
		{"1e99999999999999999999", "1e99999999999999999998", false},
		{"1", `"1"`, false},
		{"0", "null", false},
		{"0", "false", false},
	} {
		for _, form := range []string{"N", `{"a":N}`, `[[],N]`, `{"a":[{"b":N,"c":"N"}]}`} {
			a := json.RawMessage(strings.Replace(form, "N", pair.a, 1))
			b := json.RawMessage(" " + strings.Replace(form, "N", pair.b, 1))
			if sameObject(a, b) != pair.same || sameObject(b, a) != pair.same {
				t.Errorf("%.80s and %.80s: want %v", a, b, pair.same)
			}
		}
	}
}

// TestSameObjectComparesStructure: only numbers have several forms.
func TestSameObjectComparesStructure(t *testing.T) {
	all := []string{`{}`, `{"a":1}`, `{"b":1}`, `{"a":1,"b":1}`, `{"a":null}`, `{"a":{}}`, `{"a":[]}`, `[]`, `[1]`, `[1,2]`, `[2,1]`, `["1"]`, `"1"`, `null`, `true`, `false`}
	for i, a := range all {
		for j, b := range all {
			if same := sameObject(json.RawMessage(a), json.RawMessage(b+"\n")); same != (i == j) {
				t.Errorf("%s and %s: %v", a, b, same)
			}
		}
	}
}

// TestSameObjectAgreesWithMathBig on random numbers, half of which are the same in another form.
func TestSameObjectAgreesWithMathBig(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	digits := func(atMost int) string {
		var b strings.Builder
		for range 1 + dice.IntN(atMost) {
			b.WriteByte("0001259"[dice.IntN(7)])
		}
		return b.String()
	}
	number := func() string {
		n := strings.TrimLeft(digits(4), "0")
		if n == "" {
			n = "0"
		}
		if dice.IntN(2) == 0 {
			n += "." + digits(4)
		}
		if dice.IntN(2) == 0 {
			n += []string{"e", "E", "e+", "e-"}[dice.IntN(4)] + digits(2)
		}
		return []string{"", "-"}[dice.IntN(2)] + n
	}
	equal := 0
	for range 20_000 {
		a, b := number(), number()
		if r, _ := new(big.Rat).SetString(a); dice.IntN(2) == 0 {
			b = r.FloatString(110) // exact: no number above has more digits
		}
		if agrees(t, a, b) {
			equal++
		}
	}
	if equal < 8_000 || equal > 14_000 {
		t.Errorf("%d of the pairs are equal: the test is no test", equal)
	}
}

// agrees compares sameObject with math/big for two numbers, and returns whether they are equal.
func agrees(t *testing.T, a, b string) bool {
	t.Helper()
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	if !okX || !okY {
		t.Fatalf("%q or %q is no number", a, b)
	}
	want := x.Cmp(y) == 0
	if got := sameObject(json.RawMessage(a), json.RawMessage(" "+b)); got != want {
		t.Errorf("%s and %s: %v, want %v", a, b, got, want)
	}
	return want
}

// FuzzSameObject: numbers of any exponent are compared, and as math/big does where it can.
func FuzzSameObject(f *testing.F) {
	for _, n := range []string{"0", "-0", "1e-7", "0.0000001", "1e+130", "0.10", "1e999999999", "9007199254740993", "1e99999999999999999999"} {
		f.Add(n, "1E2")
		f.Add("0.100", n)
	}
	isNumber := func(text string) bool {
		return json.Valid([]byte(text)) && strings.Trim(text, "+-.0123456789eE") == ""
	}
	isShort := func(text string) bool {
		_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
		n, err := strconv.Atoi(exponent)
		return exponent == "" || err == nil && -1000 < n && n < 1000
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isNumber(a) || !isNumber(b) {
			return
		}
		if isShort(a) && isShort(b) {
			agrees(t, a, b)
		}
		x, y := json.RawMessage(a), json.RawMessage(" "+b)
		if sameObject(x, y) != sameObject(y, x) || !sameObject(x, json.RawMessage(" "+a)) {
			t.Errorf("%s and %s: the order matters, or a number is not itself", a, b)
		}
	})
}
