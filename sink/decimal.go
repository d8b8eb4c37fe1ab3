package sink

import (
	"encoding/json"
	"strconv"
	"strings"
)

// decimal is the value of a JSON number: two numbers are equal if and only if their decimals are.
// It takes no more memory than the text: a number such as 1e999999999 is never written out.
type decimal struct {
	negative bool
	digits   string // without zeros at its ends; empty is zero
	exponent int64  // of the last digit
}

// decimalOf returns the value of n. An exponent beyond 62 bits is not computed with: such a number
// equals only one of the same text.
func decimalOf(n json.Number) decimal {
	text, negative := strings.CutPrefix(string(n), "-")
	mantissa, exponent := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return decimal{}
	}
	e, err := strconv.ParseInt(exponent, 10, 63) // so that the sum below fits in 64
	if err != nil {
		return decimal{negative, text, 0}
	}
	return decimal{negative, significant, e + int64(len(digits)-len(significant)-len(fraction))}
}
