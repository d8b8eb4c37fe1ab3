package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry is what is shown. It is safe for concurrent use.
type Registry struct {
	*prometheus.Registry // to add metrics of one's own

	runs *runs
}

// New returns a registry that shows the Go runtime and the process.
func New() *Registry {
	r := &Registry{Registry: prometheus.NewRegistry(), runs: newRuns()}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(r.runs.all()...)
	return r
}

// Handler serves the registry in the formats that Prometheus asks for. See
// https://prometheus.io/docs/instrumenting/exposition_formats/.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// gauge is a value that is asked for when it is shown.
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
