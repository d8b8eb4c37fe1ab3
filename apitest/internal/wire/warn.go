package wire

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the warnings of a response in characters, as in kube-apiserver: of all texts, and
// of each if those are longer.
const warnedLimit, warningLimit = 4 << 10, 256

// Warn adds Warning headers, see RFC 7234, 5.5: each text once, but those that no header can
// have. Of texts beyond the limit, the first ones are sent, cut.
func Warn(h http.Header, texts ...string) {
	var kept []string
	said, all := map[string]bool{"": true}, 0
	for _, text := range texts {
		if said[text] || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			continue
		}
		said[text] = true
		kept = append(kept, text)
		all += utf8.RuneCountInString(text)
	}
	quote, sent := strings.NewReplacer(`\`, `\\`, `"`, `\"`), 0
	for _, text := range kept {
		if all > warnedLimit {
			text = firstRunes(text, warningLimit)
		}
		h.Add("Warning", `299 - "`+quote.Replace(text)+`"`)
		if sent += utf8.RuneCountInString(text); sent >= warnedLimit {
			break
		}
	}
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
