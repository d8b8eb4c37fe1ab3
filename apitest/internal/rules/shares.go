package rules

import (
	"strconv"
	"strings"
)

// Share refuses a number below 0, and a string that is no percentage up to 100.
func (r *Refusals) Share(field string, v any) {
	switch v := v.(type) {
	case int64:
		if v < 0 {
			r.Invalid(field, v, "must be greater than or equal to 0")
		}
	case string:
		n, err := strconv.Atoi(strings.TrimSuffix(v, "%"))
		switch {
		case err != nil || n < 0 || !strings.HasSuffix(v, "%"):
			r.Invalid(field, v, "a valid percent string must be a numeric string followed by an ending '%'")
		case n > 100:
			r.Invalid(field, v, "must not be greater than 100%")
		}
	}
}

// ZeroShare reports whether a number or share is 0: one that is no number counts so.
func ZeroShare(v any) bool {
	text, ok := v.(string)
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	return v == int64(0) || ok && (err != nil || n == 0)
}
