package metrics

import (
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// source sends the current values of what was registered.
type source interface {
	Collect(to chan<- prometheus.Metric)
}

// sources are what a registry reads at each scrape. They are one collector, because a
// prometheus.Registry cannot unregister those that describe nothing. A registry has it from the
// first one on.
type sources struct {
	known sync.Once // to the registry
	all   sync.Map  // of source, by kind and name
}

// add adds a source with a name among those of its kind. remove removes it; it must be called
// only once.
func (r *Registry) add(kind, name string, from source) (remove func()) {
	if !utf8.ValidString(name) {
		panic(fmt.Sprintf("metrics: one of the kind %s is registered by the name %q, which is not valid UTF-8", kind, name))
	}
	s := &r.sources
	s.known.Do(func() { r.MustRegister(s) })
	k := kind + " " + name
	if _, taken := s.all.LoadOrStore(k, from); taken {
		panic(fmt.Sprintf("metrics: two of the kind %s are registered by the name %q: give one of them another name", kind, name))
	}
	return func() { s.all.Delete(k) }
}

// Describe sends nothing: several sources of a kind share the metrics.
func (s *sources) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current values.
func (s *sources) Collect(to chan<- prometheus.Metric) {
	for _, from := range s.all.Range {
		from.(source).Collect(to)
	}
}
