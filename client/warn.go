package client

import (
	"log/slog"
	"sync"

	"github.com/listwatch/listwatch/internal/warning"
)

const maxWarningSeen = 256 // texts that are remembered

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
	for _, text := range warning.Parse(headers) {
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
