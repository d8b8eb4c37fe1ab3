package client

import (
	"log/slog"
	"strings"
	"sync"
	"unicode"
)

// Limits of warnings; Kubernetes' own servers send at most 4 KiB in a response.
const (
	maxWarnings    = 100     // in a response
	maxWarning     = 1 << 10 // bytes of a text
	maxWarningSeen = 256     // texts that are remembered
)

// warner reports each warning once.
type warner struct {
	report func(string)

	mu   sync.Mutex
	seen map[string]bool
}

// newWarner returns a warner for a server; report is Config.Warn.
func newWarner(report func(string), server string) *warner {
	if report == nil {
		report = func(text string) { slog.Warn("warning from the server", "server", server, "warning", text) }
	}
	return &warner{report: report, seen: make(map[string]bool)}
}

// read reads the Warning headers of a response. hide removes credentials.
func (w *warner) read(headers []string, hide func(string) string) {
	if len(headers) == 0 {
		return
	}
	for i, h := range headers { // before they are clipped
		headers[i] = hide(h)
	}
	for _, text := range warnings(headers) {
		if w.first(text) {
			w.report(text)
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
		clear(w.seen) // reports are repeated rather than memory be unlimited
	}
	w.seen[text] = true
	return true
}

// warnings returns the texts with code 299 in Warning headers (RFC 7234, section 5.5):
// code, agent, quoted text and an optional quoted date, separated by spaces; several
// are separated by commas. The rest of a header that cannot be parsed is ignored.
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

// warning returns the first warning of h and the rest.
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

// harmless returns s in one line of at most maxWarning bytes, with spaces for
// characters that could move the cursor or change the direction of text.
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
