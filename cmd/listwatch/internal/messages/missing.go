package messages

import (
	"maps"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/internal/printable"
)

// Missing reports which group versions discovery lacks: each once, until it is served
// again. It is safe for concurrent use.
type Missing struct {
	writer *Writer

	mu    sync.Mutex
	known map[string]map[string]error // by cluster
}

// NewMissing returns a Missing that writes to t.
func NewMissing(t *Writer) *Missing {
	return &Missing{writer: t, known: map[string]map[string]error{}}
}

// Report takes the errors of all group versions that a cluster lacks now.
func (m *Missing) Report(cluster string, now map[string]error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if m.known[cluster][name] != nil {
			continue
		}
		subject, err := name, printable.Line(now[name].Error())
		if cluster != "" {
			subject = cluster + ": " + name
		}
		m.writer.Each(subject, "types may be missing: "+err, "types missing", "err", err)
	}
	m.known[cluster] = now
}
