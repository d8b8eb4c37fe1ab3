package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Token writes s with the bytes [A-Za-z0-9_-] only: others become =XX, an empty s becomes
// "-", and "-" becomes "=2D". It is fit for a token of a NATS subject.
func Token(s string) string {
	if s == "" {
		return "-"
	}
	if s == "-" {
		return "=2D"
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// ParseToken reads what Token wrote.
func ParseToken(t string) (string, error) {
	if t == "-" {
		return "", nil
	}
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		if t[i] != '=' {
			b.WriteByte(t[i])
			continue
		}
		if i+3 > len(t) {
			return "", fmt.Errorf("token %q ends in the middle of an escape", t)
		}
		c, err := strconv.ParseUint(t[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("token %q: %q is not an escape", t, t[i:i+3])
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), nil
}
