// Package warning parses the Warning headers of an API server.
package warning

import (
	"strings"
	"unicode"
)

// Limits of warnings; Kubernetes' own servers send at most 4 KiB in a response.
const (
	maxTexts = 100     // in a response
	maxText  = 1 << 10 // bytes of a text
)

// Parse returns the texts with code 299 in Warning headers (RFC 7234, section 5.5):
// code, agent, quoted text and an optional quoted date, separated by spaces; several
// are separated by commas. The rest of a header that cannot be parsed is ignored.
func Parse(headers []string) []string {
	var texts []string
	for _, h := range headers {
		for ok := true; ok && len(texts) < maxTexts; {
			var code, text string
			if code, text, h, ok = first(h); ok && code == "299" && text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// first returns the first warning of h and the rest.
func first(h string) (code, text, rest string, ok bool) {
	const space = " \t"
	code, h, ok = strings.Cut(strings.Trim(h, space+","), " ")
	if !ok {
		return "", "", "", false
	}
	_, h, ok = strings.Cut(strings.TrimLeft(h, space), " ") // the agent
	if !ok {
		return "", "", "", false
	}
	if text, h, ok = unquote(strings.TrimLeft(h, space)); !ok {
		return "", "", "", false
	}
	if date := strings.TrimLeft(h, space); strings.HasPrefix(date, `"`) {
		if _, h, ok = unquote(date); !ok {
			return "", "", "", false
		}
	}
	h = strings.TrimLeft(h, space)
	return code, harmless(text), h, h == "" || h[0] == ','
}

// unquote returns the quoted string at the beginning of s, without escapes, and the
// rest.
func unquote(s string) (text, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

// harmless returns s in one line of at most maxText bytes, with spaces for
// characters that could move the cursor or change the direction of text.
func harmless(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return strings.TrimSpace(s)
}
