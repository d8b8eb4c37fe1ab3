package monitor

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/record"
)

// scraper collects the metrics of a monitor for Prometheus. Streams of one type in one
// namespace, one for each name, are added up: names of objects are not labels.
type scraper struct{ *Monitor }

var (
	eventsDesc      = desc("listwatch_events_total", "Events, and reports about the watch, by type as in -o ndjson; printed or not.", "cluster", "resource", "namespace", "type")
	objectsDesc     = desc("listwatch_objects", "Objects that exist, as far as is known.", "cluster", "resource", "namespace")
	syncedDesc      = desc("listwatch_synced", "1 once the first list is complete.", "cluster", "resource", "namespace")
	readyDesc       = desc("listwatch_ready", "1 while complete and not stale, as /readyz has it.", "cluster", "resource", "namespace")
	relistsDesc     = desc("listwatch_relists_total", "Times that the collection was listed again, because its history was lost.", "cluster", "resource", "namespace")
	disconnectsDesc = desc("listwatch_disconnects_total", "Watches that ended, those included that the server ends in routine.", "cluster", "resource", "namespace")
	errorsDesc      = desc("listwatch_errors_total", "Requests that failed, and objects that could not be read.", "cluster", "resource", "namespace")
	contactDesc     = desc("listwatch_last_contact_seconds", "Seconds since the server last sent anything; about a minute at most if it is healthy.", "cluster", "resource", "namespace")
	printedDesc     = desc("listwatch_records_printed_total", "Records that were printed.")
	writtenDesc     = desc("listwatch_written_bytes_total", "Bytes that were written to stdout.")
	hookRunsDesc    = desc("listwatch_hook_runs_total", "Runs of hooks that have ended, each try counted; failed: those that a stop has killed, too.", "result")
	hookGivenUpDesc = desc("listwatch_hooks_given_up_total", "Runs of hooks that failed and are not tried again.")
	hookRunningDesc = desc("listwatch_hooks_running", "Hooks that run.")
	hookOpenDesc    = desc("listwatch_hooks_unfinished", "Events whose hooks run, wait, or are to be tried again.")
	buildDesc       = desc("listwatch_build_info", "1; the labels say what runs.", "version", "revision", "goversion", "platform")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe sends the descriptions of all metrics.
func (s scraper) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{eventsDesc, objectsDesc, syncedDesc, readyDesc, relistsDesc, disconnectsDesc, errorsDesc, contactDesc, printedDesc, writtenDesc, hookRunsDesc, hookGivenUpDesc, hookRunningDesc, hookOpenDesc, buildDesc} {
		to <- d
	}
}

// series is what is shown of one type in one namespace.
type series struct {
	events                       map[string]int64
	objects                      int
	complete, ready              bool
	relists, disconnects, errors int64
	silence                      time.Duration
}

// Collect sends the current values.
func (s scraper) Collect(to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	for at, v := range s.series() {
		c, r, ns := at[0], at[1], at[2]
		// Zeroes from the beginning, so that rates exist.
		for _, t := range record.Types {
			send(eventsDesc, counter, float64(v.events[t]), c, r, ns, t)
		}
		send(objectsDesc, gauge, float64(v.objects), c, r, ns)
		send(syncedDesc, gauge, number(v.complete), c, r, ns)
		send(readyDesc, gauge, number(v.ready), c, r, ns)
		send(relistsDesc, counter, float64(v.relists), c, r, ns)
		send(disconnectsDesc, counter, float64(v.disconnects), c, r, ns)
		send(errorsDesc, counter, float64(v.errors), c, r, ns)
		send(contactDesc, gauge, v.silence.Seconds(), c, r, ns)
	}
	send(printedDesc, counter, float64(s.Printed.Load()))
	send(writtenDesc, counter, float64(s.written.Load()))
	if pool := s.pool.Load(); pool != nil {
		n := pool.Counts()
		send(hookRunsDesc, counter, float64(n.Succeeded), "succeeded")
		send(hookRunsDesc, counter, float64(n.Failed), "failed")
		send(hookGivenUpDesc, counter, float64(n.GivenUp))
		send(hookRunningDesc, gauge, float64(n.Running))
		send(hookOpenDesc, gauge, float64(n.Unfinished))
	}
	b := cli.ThisBuild()
	send(buildDesc, gauge, 1, b.Version, b.Commit, b.Go, b.Platform)
}

// series adds up the streams of each type and namespace.
func (s scraper) series() map[[3]string]*series {
	all := map[[3]string]*series{}
	for _, v := range s.views() {
		at := [3]string{v.Cluster, v.Resource, v.Namespace}
		sum := all[at]
		if sum == nil {
			sum = &series{events: map[string]int64{}, complete: true, ready: true}
			all[at] = sum
		}
		for t, n := range v.Events {
			sum.events[t] += n
		}
		sum.objects += v.Objects
		sum.complete = sum.complete && v.complete
		sum.ready = sum.ready && v.Ready
		sum.relists += v.Relists
		sum.disconnects += v.Disconnects
		sum.errors += v.Errors
		sum.silence = max(sum.silence, v.silence)
	}
	return all
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
