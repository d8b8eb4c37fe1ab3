package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listwatch/listwatch/controller"
)

// Controller adds the metrics of a controller and its queue, with its name as label. It
// panics if r already has a controller of that name. Call it before the controller runs. remove
// removes them, also while the controller runs.
func Controller[K comparable](r *Registry, c *controller.Controller[K]) (remove func()) {
	name := c.Name()
	free := r.add("controller", name, controllerCollector{name, c.Stats})
	own := r.runs.begin(name)
	c.Observe(controller.Trace[K]{Ran: func(run controller.Run[K]) {
		own.waited.Observe(run.Waited.Seconds())
		own.worked.Observe(run.Duration.Seconds())
		own.took.Observe(run.Duration.Seconds())
		if !run.Stopped {
			own.total[outcome(run.Result, run.Err)].Inc()
		}
	}})
	return sync.OnceFunc(func() {
		r.runs.end(name)
		free() // last: the next one of the name has runs of its own
	})
}

// The values of the label result.
const (
	success      = "success"
	failed       = "error"
	requeue      = "requeue"
	requeueAfter = "requeue_after"
)

func outcome(r controller.Result, err error) string {
	switch {
	case err != nil:
		return failed
	case r.RequeueAfter > 0:
		return requeueAfter
	case r.Requeue:
		return requeue
	}
	return success
}

// runs are the metrics that each run updates. All controllers share them.
type runs struct {
	waited, worked, took *prometheus.HistogramVec
	total                *prometheus.CounterVec
}

func newRuns() *runs {
	queue := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(10e-9, 10, 12)}, []string{"name", "controller"})
	}
	return &runs{
		waited: queue("workqueue_queue_duration_seconds", "How long a key stays in the queue before a worker takes it."),
		worked: queue("workqueue_work_duration_seconds", "How long a worker has a key."),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "controller_runtime_reconcile_time_seconds", Help: "Duration of a run in seconds.",
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"controller"}),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "controller_runtime_reconcile_total", Help: "Runs by result, without those that were stopped."}, []string{"controller", "result"}),
	}
}

func (r *runs) all() []prometheus.Collector {
	return []prometheus.Collector{r.waited, r.worked, r.took, r.total}
}

// ownRuns are those of one controller. Once they have ended, an update does not show.
type ownRuns struct {
	waited, worked, took prometheus.Observer
	total                map[string]prometheus.Counter // by result
}

// begin returns the metrics of a controller, which are zero, so that rates exist from the start.
func (r *runs) begin(name string) ownRuns {
	own := ownRuns{r.waited.WithLabelValues(name, name), r.worked.WithLabelValues(name, name), r.took.WithLabelValues(name), make(map[string]prometheus.Counter)}
	for _, result := range []string{success, failed, requeue, requeueAfter} {
		own.total[result] = r.total.WithLabelValues(name, result)
	}
	return own
}

// end removes the metrics of a controller.
func (r *runs) end(name string) {
	r.waited.DeleteLabelValues(name, name)
	r.worked.DeleteLabelValues(name, name)
	r.took.DeleteLabelValues(name)
	r.total.DeletePartialMatch(prometheus.Labels{"controller": name})
}

var (
	queueDepth      = newGauge("workqueue_depth", "Keys that wait for a worker.", "name", "controller")
	queueAdds       = newCounter("workqueue_adds_total", "Keys that were added.", "name", "controller")
	queueRetries    = newCounter("workqueue_retries_total", "Keys that were added with a delay of the limiter.", "name", "controller")
	queueUnfinished = newGauge("workqueue_unfinished_work_seconds", "How long keys have been with workers or have waited for a cache, together: if it grows steadily, some are stuck.", "name", "controller")
	queueLongest    = newGauge("workqueue_longest_running_processor_seconds", "The longest time that a key has been with a worker or has waited for a cache.", "name", "controller")
	active          = newGauge("controller_runtime_active_workers", "Workers that have a key.", "controller")
	workers         = newGauge("controller_runtime_max_concurrent_reconciles", "Workers.", "controller")
	failures        = newCounter("controller_runtime_reconcile_errors_total", "Runs that failed.", "controller")
	panics          = newCounter("controller_runtime_reconcile_panics_total", "Runs that panicked.", "controller")
	gaveUp          = newCounter("controller_runtime_terminal_reconcile_errors_total", "Failures that were not retried.", "controller")
)

// controllerCollector reads the state of a controller at each scrape.
type controllerCollector struct {
	name  string
	stats func() controller.Stats
}

// Collect sends the current values.
func (c controllerCollector) Collect(to chan<- prometheus.Metric) {
	s := c.stats()
	queueDepth.send(to, float64(s.Queue.Depth), c.name, c.name)
	queueAdds.send(to, float64(s.Queue.Adds), c.name, c.name)
	queueRetries.send(to, float64(s.Queue.Retries), c.name, c.name)
	queueUnfinished.send(to, s.Queue.Unfinished.Seconds(), c.name, c.name)
	queueLongest.send(to, s.Queue.Longest.Seconds(), c.name, c.name)
	active.send(to, float64(s.Active), c.name)
	workers.send(to, float64(s.Workers), c.name)
	failures.send(to, float64(s.Failures), c.name)
	panics.send(to, float64(s.Panics), c.name)
	gaveUp.send(to, float64(s.GaveUp), c.name)
}
