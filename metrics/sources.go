package metrics

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// source sends the current values of what was registered.
type source interface {
	Collect(to chan<- prometheus.Metric)
}

// sources are what a registry reads at each scrape. They are one collector, because a
// prometheus.Registry cannot unregister those that describe nothing.
type sources struct {
	mu  sync.Mutex
	all map[string]source // by kind and name
}

// add adds a source with a name among those of its kind. remove removes it; it must be called
// only once.
func (s *sources) add(kind, name string, from source) (remove func()) {
	if !utf8.ValidString(name) {
		panic(fmt.Sprintf("metrics: one of the kind %s is registered by the name %q, which is not valid UTF-8", kind, name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := kind + " " + name
	if s.all[k] != nil {
		panic(fmt.Sprintf("metrics: two of the kind %s are registered by the name %q: give one of them another name", kind, name))
	}
	s.all[k] = from
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, k)
	}
}

// Describe sends nothing: several sources of a kind share the metrics.
func (s *sources) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current values.
func (s *sources) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.all))
	s.mu.Unlock()
	for _, from := range all {
		from.Collect(to)
	}
}
