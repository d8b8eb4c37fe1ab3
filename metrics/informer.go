package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listwatch/listwatch/cache"
)

// Informer adds the metrics of an informer, with name as label; empty = its own name, such
// as "pods in default". It panics if r already has an informer of that name. remove removes them.
func Informer(r *Registry, name string, in interface{ Status() cache.Status }) (remove func()) {
	if name == "" {
		name = in.Status().Name
	}
	return sync.OnceFunc(r.add("informer", name, informerCollector{name, in.Status}))
}

var (
	informerSynced  = newGauge("listwatch_informer_synced", "1 once a list was completed, or a snapshot loaded.", "informer")
	informerObjects = newGauge("listwatch_informer_objects", "Objects in the cache.", "informer")
	informerBytes   = newGauge("listwatch_informer_bytes", "Memory that the objects take, as counted for the budget; 0 without one.", "informer")
	informerLag     = newGauge("listwatch_informer_lag_seconds", "Age of the event that handlers are processing; 0 when idle.", "informer")
	informerSilence = newGauge("listwatch_informer_last_contact_seconds", "Time since the last contact with the server; about a minute at most in a healthy informer.", "informer")
	informerFailing = newGauge("listwatch_informer_failing", "1 while something is wrong with the informer: its last request failed, an object cannot be decoded, or it has ended.", "informer")
	informerReady   = newGauge("listwatch_informer_ready", "1 while the informer is synced, runs, and has heard from the server within its maximum staleness.", "informer")
)

type informerCollector struct {
	name   string
	status func() cache.Status
}

// Collect sends the current values.
func (c informerCollector) Collect(to chan<- prometheus.Metric) {
	s := c.status()
	informerSynced.send(to, yes(s.Synced), c.name)
	informerObjects.send(to, float64(s.Objects), c.name)
	informerBytes.send(to, float64(s.Bytes), c.name)
	informerLag.send(to, s.Lag.Seconds(), c.name)
	informerFailing.send(to, yes(s.Err != nil), c.name)
	informerReady.send(to, yes(s.Ready() == nil), c.name)
	if !s.LastContact.IsZero() {
		informerSilence.send(to, time.Since(s.LastContact).Seconds(), c.name)
	}
}

var leader = newGauge("leader_election_master_status", "1 while this process leads.", "name")

// Leader adds a metric that is 1 while this process leads, with the lease's name as label.
// leading is called at each scrape. Leader panics if r already has a lease of that name.
// remove removes the metric.
func Leader(r *Registry, name string, leading func() bool) (remove func()) {
	return sync.OnceFunc(r.add("leader", name, leaderCollector{name, leading}))
}

type leaderCollector struct {
	name    string
	leading func() bool
}

// Collect sends the current values.
func (c leaderCollector) Collect(to chan<- prometheus.Metric) {
	leader.send(to, yes(c.leading()), c.name)
}
