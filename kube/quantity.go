package kube

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Quantity is an amount of a resource, such as 100m, 1.5Gi or 2e3. Its JSON is that of the
// API's Quantity. It is immutable: methods return new values. The zero value is 0. See
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/.
type Quantity struct {
	n    *big.Int // in billionths, never changed; nil = 0
	form byte     // of String: 'd' 12M, 'b' 12Mi, 'e' 12e6; 0 = as the other operand
	text string   // what was parsed, if String returns that
}

// maxQuantity limits a text in bytes, and maxExponent what follows an e, also that of the
// text that String returns: values of more digits are no resources.
const (
	maxQuantity = 256
	maxExponent = 1000
)

// Suffixes of quantities, each 1,000 or 1,024 times the previous one.
var (
	decimalSuffixes = [...]string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}
	binarySuffixes  = [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
)

var (
	billion  = big.NewInt(1e9)
	maxInt64 = new(big.Int).Mul(big.NewInt(math.MaxInt64), billion)
)

// MustParseQuantity is ParseQuantity for literals: it panics if s is no quantity.
func MustParseQuantity(s string) Quantity {
	q, err := ParseQuantity(s)
	if err != nil {
		panic(err)
	}
	return q
}

// ParseQuantity reads a number with an optional sign, fraction and suffix: n, u, m, k, M,
// G, T, P or E for powers of 1,000, Ki to Ei for powers of 1,024, or e and a power of
// ten. Fractions below a billionth are rounded away from zero, and a value with a binary
// suffix is reduced to 2^63-1 if it is larger.
func ParseQuantity(s string) (Quantity, error) {
	bad := errors.New("a quantity is a number with an optional suffix, such as 100m, 1.5Gi or 2e3")
	if s == "" || len(s) > maxQuantity {
		return Quantity{}, bad
	}
	number := strings.TrimLeft(s, "+-")
	if len(s)-len(number) > 1 {
		return Quantity{}, bad
	}
	end := strings.IndexFunc(number, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(number)
	}
	number, suffix := number[:end], number[end:]
	whole, fraction, _ := strings.Cut(number, ".")
	form, power, ok := parseSuffix(suffix)
	if !ok || whole+fraction == "" || strings.Contains(fraction, ".") {
		return Quantity{}, bad
	}
	if whole = strings.TrimLeft(whole, "0"); form == 'e' && len(whole)+power > maxExponent+1 {
		return Quantity{}, bad
	}
	n, _ := new(big.Int).SetString("0"+whole+fraction, 10)
	if form == 'b' {
		n.Lsh(n, uint(power))
		power = 0
	}
	n = scaled(n, power-len(fraction)+9)
	if form == 'b' && n.Cmp(maxInt64) > 0 {
		n.Set(maxInt64)
	}
	q := Quantity{n: n, form: form}
	if form == 'b' && n.Sign() > 0 && n.Cmp(billion) < 0 {
		q.form = 'd'
	}
	if isCanonical(form, whole, fraction, suffix, power) {
		q.text = s
	}
	if s[0] == '-' {
		n.Neg(n)
	}
	return q, nil
}

// parseSuffix returns the form of a suffix and the power of 10, or of 2 for 'b'.
func parseSuffix(suffix string) (form byte, power int, ok bool) {
	for i, s := range decimalSuffixes {
		if s == suffix {
			return 'd', 3 * (i - 3), true
		}
	}
	for i, s := range binarySuffixes {
		if s == suffix {
			return 'b', 10 * i, true
		}
	}
	if len(suffix) < 2 || suffix[0] != 'e' && suffix[0] != 'E' {
		return 0, 0, false
	}
	power, err := strconv.Atoi(suffix[1:])
	return 'e', power, err == nil && max(power, -power) <= maxExponent
}

// isCanonical reports whether kube-apiserver returns a text as it was written: short
// numbers that look canonical, 1.250 among them.
func isCanonical(form byte, whole, fraction, suffix string, power int) bool {
	digits := max(1, len(whole)) + len(fraction)
	shifted := whole + fraction
	if form == 'b' {
		power := 10 * binaryIndex(suffix)
		n, err := strconv.ParseInt(shifted, 10, 64)
		return err == nil && fraction == "" && 14-digits-power*3/10 >= 0 && n&7 != 0
	}
	scale := power - len(fraction)
	return digits <= 18 && scale >= -9 && scale%3 == 0 && whole != "" && !strings.HasSuffix(shifted, "000")
}

func binaryIndex(suffix string) int {
	for i, s := range binarySuffixes {
		if s == suffix {
			return i
		}
	}
	return 0
}

// scaled returns n * 10^power, rounded up.
func scaled(n *big.Int, power int) *big.Int {
	by := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(power, -power))), nil)
	if power >= 0 {
		return by.Mul(n, by)
	}
	rest := new(big.Int)
	if n.QuoRem(n, by, rest); rest.Sign() != 0 {
		n.Add(n, big.NewInt(int64(rest.Sign())))
	}
	return n
}

// value returns the billionths of q, which must not be changed.
func (q Quantity) value() *big.Int {
	if q.n == nil {
		return new(big.Int)
	}
	return q.n
}

// Add returns q + other, in the form of q, or in that of other if q is 0.
func (q Quantity) Add(other Quantity) Quantity { return q.with(other, (*big.Int).Add) }

// Sub returns q - other, in the form of q, or in that of other if q is 0.
func (q Quantity) Sub(other Quantity) Quantity { return q.with(other, (*big.Int).Sub) }

func (q Quantity) with(other Quantity, op func(z, x, y *big.Int) *big.Int) Quantity {
	form := q.form
	if q.IsZero() {
		form = other.form
	}
	return Quantity{n: op(new(big.Int), q.value(), other.value()), form: form}
}

// Cmp returns -1, 0 or 1 if q is less than, equal to or greater than other.
func (q Quantity) Cmp(other Quantity) int { return q.value().Cmp(other.value()) }

// Equal reports whether q and other are the same amount, however written.
func (q Quantity) Equal(other Quantity) bool { return q.Cmp(other) == 0 }

// Sign returns -1, 0 or 1 if q is negative, zero or positive.
func (q Quantity) Sign() int { return q.value().Sign() }

// IsZero reports whether q is 0.
func (q Quantity) IsZero() bool { return q.Sign() == 0 }

// Value returns q rounded away from zero to a whole number, or the nearest int64.
func (q Quantity) Value() int64 { return q.whole(-9) }

// MilliValue returns a thousand times q, rounded away from zero to a whole number, or the
// nearest int64: 1500 for 1.5 cores.
func (q Quantity) MilliValue() int64 { return q.whole(-6) }

func (q Quantity) whole(power int) int64 {
	n := scaled(new(big.Int).Set(q.value()), power)
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// String returns the text that kube-apiserver returns for q.
func (q Quantity) String() string {
	n := new(big.Int).Set(q.value())
	switch {
	case q.text != "":
		return q.text
	case n.Sign() == 0:
		return "0"
	case q.form == 'b' && new(big.Int).Abs(n).Cmp(scaled(big.NewInt(1024), 9)) >= 0 && divide(n, billion):
		i := 0
		for i < len(binarySuffixes)-1 && divide(n, big.NewInt(1024)) {
			i++
		}
		return n.String() + binarySuffixes[i]
	}
	power := -9
	for (q.form == 'e' || power < 18) && divide(n, big.NewInt(1000)) {
		power += 3
	}
	switch {
	case power == 0:
		return n.String()
	case q.form == 'e':
		return n.String() + "e" + strconv.Itoa(power)
	}
	return n.String() + decimalSuffixes[power/3+3]
}

// divide divides n by by if there is no remainder, and reports whether it did.
func divide(n, by *big.Int) bool {
	quotient, rest := new(big.Int).QuoRem(n, by, new(big.Int))
	if rest.Sign() != 0 {
		return false
	}
	n.Set(quotient)
	return true
}

// MarshalJSON returns String as a JSON string.
func (q Quantity) MarshalJSON() ([]byte, error) { return []byte(`"` + q.String() + `"`), nil }

// UnmarshalJSON reads a string or a number as ParseQuantity does, or null, which is 0. On
// an error it changes nothing.
func (q *Quantity) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s == "null" {
		*q = Quantity{}
		return nil
	}
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	parsed, err := ParseQuantity(strings.TrimSpace(s))
	if err != nil {
		return err
	}
	*q = parsed
	return nil
}
