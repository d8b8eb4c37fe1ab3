package metrics

import (
	"fmt"
	"net/http"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry holds the exported metrics. It is safe for concurrent use.
//
// A second registration of the same kind and name panics with the name, and one whose name
// is not valid UTF-8, because they would make every scrape fail.
type Registry struct {
	*prometheus.Registry // for metrics of the program

	runs *runs

	mu       sync.Mutex
	names    map[string]bool          // kind and name of each registration
	requests *prometheus.CounterVec   // of webhooks; nil = there are none
	took     *prometheus.HistogramVec // the same
	sent     *prometheus.CounterVec   // requests of clients; nil = there are none
}

// claim reserves a name among those of a kind.
func (r *Registry) claim(kind, name string) {
	if !utf8.ValidString(name) {
		panic(fmt.Sprintf("metrics: one of the kind %s is registered by the name %q, which is not valid UTF-8", kind, name))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := kind + " " + name
	if r.names[k] {
		panic(fmt.Sprintf("metrics: two of the kind %s are registered by the name %q: give one of them another name", kind, name))
	}
	if r.names == nil {
		r.names = make(map[string]bool)
	}
	r.names[k] = true
}

// New returns a registry with the metrics of the Go runtime and the process.
func New() *Registry {
	r := &Registry{Registry: prometheus.NewRegistry(), runs: newRuns()}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(r.runs.all()...)
	return r
}

// Handler serves the registry in the formats that Prometheus supports. See
// https://prometheus.io/docs/instrumenting/exposition_formats/.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// gauge is a value that is read at each scrape.
type gauge struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func newGauge(name, help string, labels ...string) gauge {
	return gauge{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

func newCounter(name, help string, labels ...string) gauge {
	return gauge{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

func (g gauge) send(to chan<- prometheus.Metric, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(g.desc, g.kind, v, labels...)
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
