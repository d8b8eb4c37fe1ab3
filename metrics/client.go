package metrics

import (
	"net/url"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listwatch/listwatch/client"
)

// Requests adds rest_client_requests_total, by code of HTTP, host and method: the requests
// of all clients that are made from cfg afterwards. A request without a response has the
// code "<error>", as in client-go; one that is sent again counts twice. Hooks that
// cfg.Trace has are kept. Call it before client.New:
//
//	metrics.Requests(r, &cfg)
//	c, err := client.New(cfg)
func Requests(r *Registry, cfg *client.Config) {
	host := ""
	if u, err := url.Parse(cfg.Server); err == nil {
		host = u.Host
	}
	sent := r.sentRequests()
	var t client.Trace
	if cfg.Trace != nil {
		t = *cfg.Trace
	}
	done := t.Done
	t.Done = func(rt client.RoundTrip) {
		code := "<error>"
		if rt.Code != 0 {
			code = strconv.Itoa(rt.Code)
		}
		sent.WithLabelValues(code, host, rt.Method).Inc()
		if done != nil {
			done(rt)
		}
	}
	cfg.Trace = &t
}

// sentRequests returns the metric that each request updates. All clients share it.
func (r *Registry) sentRequests() *prometheus.CounterVec {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sent == nil {
		r.sent = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_requests_total", Help: "Requests to API servers by code of HTTP, host and method."}, []string{"code", "host", "method"})
		r.MustRegister(r.sent)
	}
	return r.sent
}
