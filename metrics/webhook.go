package metrics

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listwatch/listwatch/webhook"
)

// Webhooks adds the metrics of a webhook server: requests, their duration, panics, and
// the certificate, with the name of its configurations. It panics if r already has a
// server of that name. Call it before the server runs. remove removes those of the server;
// those of its requests stay, because servers share them by the names of their webhooks.
func Webhooks(r *Registry, s *webhook.Server) (remove func()) {
	remove = sync.OnceFunc(r.add("webhook server", s.Name(), webhookCollector{s.Name(), s.Stats}))
	requests, took := r.webhooks()
	s.Observe(webhook.Trace{Reviewed: func(a webhook.Review) {
		requests.WithLabelValues(a.Webhook, strconv.Itoa(a.Code), strconv.FormatBool(a.Allowed)).Inc()
		took.WithLabelValues(a.Webhook).Observe(a.Duration.Seconds())
	}})
	return remove
}

// webhooks returns the metrics that each request updates. All servers share them.
func (r *Registry) webhooks() (*prometheus.CounterVec, *prometheus.HistogramVec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.requests == nil {
		r.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "controller_runtime_webhook_requests_total", Help: "Requests of API servers by webhook, code of HTTP, and whether they were allowed."}, []string{"webhook", "code", "allowed"})
		r.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "controller_runtime_webhook_latency_seconds", Help: "Duration of a request in seconds.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}}, []string{"webhook"})
		r.MustRegister(r.requests, r.took)
	}
	return r.requests, r.took
}

var (
	webhookInFlight = newGauge("controller_runtime_webhook_requests_in_flight", "Requests that are being answered.", "server")
	webhookPanics   = newCounter("controller_runtime_webhook_panics_total", "Panics of webhooks.", "server")
	webhookUntil    = newGauge("listwatch_webhook_certificate_expiry_timestamp_seconds", "When the served certificate expires.", "server")
	webhookPending  = newGauge("listwatch_webhook_certificate_pending", "1 while a newer certificate is not served yet.", "server")
)

// webhookCollector reads the state of a server at each scrape.
type webhookCollector struct {
	name  string
	stats func() webhook.Stats
}

// Collect sends the current values.
func (c webhookCollector) Collect(to chan<- prometheus.Metric) {
	s := c.stats()
	webhookInFlight.send(to, float64(s.InFlight), c.name)
	webhookPanics.send(to, float64(s.Panics), c.name)
	webhookPending.send(to, yes(s.Pending), c.name)
	if !s.Until.IsZero() {
		webhookUntil.send(to, float64(s.Until.Unix()), c.name)
	}
}
