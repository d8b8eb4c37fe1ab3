package rules

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// Decimal places to which quantities are rounded up: those of resources have fewer.
const (
	Milli = 3
	Nano  = 9
)

// Quantities normalizes the quantities in the map m[name].
func (d *Defaults) Quantities(m map[string]any, name string) {
	list := ObjectAt(m, name)
	for k := range list {
		d.Quantity(list, k, Milli)
	}
}

// Quantity normalizes the quantity m[name].
func (d *Defaults) Quantity(m map[string]any, name string, places int) {
	v := m[name]
	s, text := v.(string)
	switch n := v.(type) {
	case int64:
		s = strconv.FormatInt(n, 10)
	case float64:
		s = strconv.FormatFloat(n, 'f', -1, 64)
	case string:
	default:
		return
	}
	if c := CanonicalQuantity(s, places); !text || c != s {
		d.Put(m, name, c)
	}
}

// Suffixes, from the smallest: each is 1,000 or 1,024 times the previous one.
var (
	decimalSuffixes = [...]string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}
	binarySuffixes  = [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
)

// CanonicalQuantity returns s as kube-apiserver formats it, which is not always the
// shortest form: 1.250 is kept. Invalid quantities are unchanged.
func CanonicalQuantity(s string, places int) string {
	end := strings.LastIndexAny(s, "0123456789.") + 1
	if i := strings.IndexAny(s, "eE"); i > 0 && i+1 < len(s) {
		end = i
	}
	mantissa, suffix := s[:end], s[end:]
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(mantissa, "+"), "-"), ".")
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok || len(mantissa) > 40 || strings.ContainsAny(whole+fraction, "+-_") {
		return s
	}
	exponent := -len(fraction) // n * 10^exponent is the value
	binary, scientific := false, false
	switch i := indexOf(binarySuffixes[:], suffix); {
	case suffix == "":
	case i > 0:
		if binary = true; fraction == "" && n.Sign() != 0 && n.TrailingZeroBits() < 3 {
			return s
		}
		n.Lsh(n, uint(10*i))
	case indexOf(decimalSuffixes[:], suffix) >= 0:
		exponent += 3 * (indexOf(decimalSuffixes[:], suffix) - 3)
	default:
		e, err := strconv.ParseInt(suffix[1:], 10, 8)
		if err != nil || suffix[0] != 'e' && suffix[0] != 'E' {
			return s
		}
		scientific = true
		exponent += int(e)
	}
	plain := strings.TrimLeft(whole, "0") != "" && !strings.HasSuffix(whole+fraction, "000")
	if plain && !binary && exponent%3 == 0 && exponent >= -places {
		return s
	}
	if exponent += places; exponent >= 0 {
		n.Mul(n, tenTo(exponent))
	} else {
		roundUp(n, tenTo(-exponent))
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") && n.Sign() > 0 {
		sign = "-"
	}
	if unit := tenTo(places); binary && n.Cmp(new(big.Int).Mul(big.NewInt(1024), unit)) >= 0 && new(big.Int).Rem(n, unit).Sign() == 0 {
		n.Quo(n, unit)
		i := 0
		for ; i < len(binarySuffixes)-1 && divides(n, 1024); i++ {
		}
		return sign + n.String() + binarySuffixes[i]
	}
	if n.Sign() == 0 {
		return "0"
	}
	exponent = -places
	for exponent < 18 && divides(n, 1000) {
		exponent += 3
	}
	switch {
	case !scientific:
		return sign + n.String() + decimalSuffixes[exponent/3+3]
	case exponent == 0:
		return sign + n.String()
	}
	return sign + n.String() + "e" + strconv.Itoa(exponent)
}

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// roundUp divides n by by and rounds up.
func roundUp(n, by *big.Int) {
	rest := new(big.Int)
	if n.QuoRem(n, by, rest); rest.Sign() != 0 {
		n.Add(n, big.NewInt(1))
	}
}

// divides divides n by by if there is no remainder, and reports whether it did.
func divides(n *big.Int, by int64) bool {
	q, rest := new(big.Int).QuoRem(n, big.NewInt(by), new(big.Int))
	if rest.Sign() != 0 {
		return false
	}
	n.Set(q)
	return true
}

func indexOf(list []string, s string) int {
	for i, e := range list {
		if e == s {
			return i
		}
	}
	return -1
}

// QuantityOf returns a quantity, "" if there is none or 0.
func QuantityOf(m map[string]any, name string) string {
	if s := CanonicalQuantity(TextAt(m, name), Milli); s != "0" {
		return s
	}
	return ""
}

// CompareQuantities compares two quantities; what is none is 0.
func CompareQuantities(a, b string) int {
	x, _ := kube.ParseQuantity(a)
	y, _ := kube.ParseQuantity(b)
	return x.Cmp(y)
}
