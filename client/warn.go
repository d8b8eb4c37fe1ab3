package client

import (
	"log/slog"
	"strings"
	"sync"
	"unicode"
)

// What a server may send of warnings; one of Kubernetes stops at 4 KiB an answer.
const (
	maxWarnings    = 100     // of an answer
	maxWarning     = 1 << 10 // bytes of a text
	maxWarningSeen = 256     // texts that are remembered
)

// warner hands on each warning once.
type warner struct {
	tell func(string)

	mu   sync.Mutex
	seen map[string]bool
}

// newWarner returns a warner of a server's texts; tell is as in [Config].
func newWarner(tell func(string), server string) *warner {
	if tell == nil {
		tell = func(text string) { slog.Warn("warning from the server", "server", server, "warning", text) }
	}
	return &warner{tell: tell, seen: make(map[string]bool)}
}

// hear reads the Warning headers of an answer. Hide takes out what must not be told.
func (w *warner) hear(headers []string, hide func(string) string) {
	if len(headers) == 0 {
		return
	}
	for i, h := range headers { // before they are clipped
		headers[i] = hide(h)
	}
	for _, text := range warnings(headers) {
		if w.first(text) {
			w.tell(text)
		}
	}
}

func (w *warner) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[text] {
		return false
	}
	if len(w.seen) >= maxWarningSeen {
		clear(w.seen) // better told twice than remembered for ever
	}
	w.seen[text] = true
	return true
}

// warnings returns the texts with code 299 in Warning headers (RFC 7234, section
// 5.5): code, agent, quoted text and perhaps a quoted date, separated by spaces;
// several by commas. What cannot be read ends its header.
func warnings(headers []string) []string {
	var texts []string
	for _, h := range headers {
		for ok := true; ok && len(texts) < maxWarnings; {
			var code, text string
			if code, text, h, ok = warning(h); ok && code == "299" && text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// warning cuts the first warning off h.
func warning(h string) (code, text, rest string, ok bool) {
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

// unquote cuts a quoted string off s and resolves its escapes.
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

// harmless returns s in one line of at most maxWarning bytes, with spaces for what
// could move a cursor or turn the direction of writing.
func harmless(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxWarning {
		s = strings.ToValidUTF8(s[:maxWarning], "")
	}
	return strings.TrimSpace(s)
}
