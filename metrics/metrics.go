package metrics

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry holds the exported metrics. It is safe for concurrent use.
//
// A second registration of the same kind and name panics with the name, unless the first one
// was removed, and one whose name is not valid UTF-8, because they would make every scrape fail.
type Registry struct {
	*prometheus.Registry // for metrics of the program

	runs    *runs
	sources sources

	mu       sync.Mutex
	requests *prometheus.CounterVec   // of webhooks; nil = there are none
	took     *prometheus.HistogramVec // the same
	sent     *prometheus.CounterVec   // requests of clients; nil = there are none
}

// New returns a registry with the metrics of the Go runtime and the process.
func New() *Registry {
	r := &Registry{Registry: prometheus.NewRegistry(), runs: newRuns()}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(r.runs.all()...)
	return r
}

// Handler serves the registry in Prometheus' text format, or as Protobuf to those who ask for
// it. See https://prometheus.io/docs/instrumenting/exposition_formats/. It does not serve
// OpenMetrics, as controller-runtime does not: there, buckets have other labels, le="1.0" in
// place of le="1".
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
