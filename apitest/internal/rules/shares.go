package rules

import (
	"strconv"
	"strings"
)

// Share refuses a number below 0, and a string that is no percentage up to 100.
func (r *Refusals) Share(field string, v any) {
	r.Portion(field, v)
	if n, ok := percent(v); ok && n > 100 {
		r.Invalid(field, v, "must not be greater than 100%")
	}
}

// Portion refuses a number below 0, and a string that is no percentage.
func (r *Refusals) Portion(field string, v any) {
	switch v := v.(type) {
	case int64:
		if v < 0 {
			r.Invalid(field, v, "must be greater than or equal to 0")
		}
	case string:
		if n, ok := percent(v); !ok || n < 0 {
			r.Invalid(field, v, "a valid percent string must be a numeric string followed by an ending '%'")
		}
	}
}

func percent(v any) (n int, ok bool) {
	text, _ := v.(string)
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil
}

// ZeroShare reports whether a number or share is 0: one that is no number counts so.
func ZeroShare(v any) bool {
	text, ok := v.(string)
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	return v == int64(0) || ok && (err != nil || n == 0)
}
