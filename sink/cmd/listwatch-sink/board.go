package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/sink"
)

// board is what is known of all Runners: for /metrics, /readyz and the progress on stderr.
type board struct {
	log      *slog.Logger
	registry *prometheus.Registry

	commits, records, bytes, retries, gaps, quarantined, skipped *prometheus.CounterVec
	took                                                         *prometheus.HistogramVec

	mu       sync.Mutex
	starting bool // the types to move are not known yet
	runners  map[scope]*sink.Runner
}

// scope is what one Runner moves: a shard of a type, by group and plural.
type scope struct {
	resource string
	shard    int
}

func newBoard(log *slog.Logger) *board {
	b := &board{log: log, registry: prometheus.NewRegistry(), runners: map[scope]*sink.Runner{}}
	counter := func(name, help string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "listwatch_sink", Name: name, Help: help}, []string{"resource", "shard"})
		b.registry.MustRegister(c)
		return c
	}
	b.commits = counter("commits_total", "Commits that the sink has done.")
	b.records = counter("records_total", "Records that were committed.")
	b.bytes = counter("bytes_total", "Bytes of the records that were committed.")
	b.retries = counter("retries_total", "Times that the scope was opened again after a failure.")
	b.gaps = counter("gaps_total", "GAP records: parts of the history that nobody can know.")
	b.quarantined = counter("quarantined_total", "Objects whose state could not be read or projected.")
	b.skipped = counter("skipped_total", "Objects that are in neither table nor history because they cannot be identified or selected.")
	b.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "listwatch_sink", Name: "commit_seconds", Help: "Duration of commits.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}, []string{"resource", "shard"})
	b.registry.MustRegister(b.took, b)
	return b
}

// runner returns a Runner whose work shows on the board.
func (b *board) runner(o sink.Options) (*sink.Runner, error) {
	resource, shard := o.Scope.Resource.GroupResource(), strconv.Itoa(o.Scope.Shard)
	var phase sink.Phase
	var listed time.Time
	show := func(p sink.Position) {
		if p.Phase != phase {
			phase = p.Phase
			b.log.Info("sink", "scope", o.Scope.String(), "phase", string(p.Phase), "revision", string(p.Revision), "epoch", p.Epoch, "generation", p.Generation)
		}
	}
	o.Trace = sink.Trace{
		Interrupted: o.Trace.Interrupted,
		Opened:      show,
		Committed: func(c sink.Committed) {
			b.commits.WithLabelValues(resource, shard).Inc()
			b.records.WithLabelValues(resource, shard).Add(float64(c.Records))
			b.bytes.WithLabelValues(resource, shard).Add(float64(c.Bytes))
			b.gaps.WithLabelValues(resource, shard).Add(float64(c.Gaps))
			b.quarantined.WithLabelValues(resource, shard).Add(float64(c.Poisoned))
			b.took.WithLabelValues(resource, shard).Observe(c.Took.Seconds())
			show(c.Position)
		},
		Retrying: func(error, time.Duration) { b.retries.WithLabelValues(resource, shard).Inc() },
		Skipped:  func(kube.Key, error) { b.skipped.WithLabelValues(resource, shard).Inc() },
		Listed: func(p list.Progress) {
			if time.Since(listed) >= 5*time.Second || p.Done {
				listed = time.Now()
				b.log.Info("sink: listing", "scope", o.Scope.String(), "objects", p.Items, "remaining", p.Remaining)
			}
		},
	}
	r, err := sink.NewRunner(o)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runners[scope{resource, o.Scope.Shard}] = r
	return r, nil
}

// start says whether the types to move are still to be found.
func (b *board) start(starting bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starting = starting
}

// remove takes the Runners of a type off the board.
func (b *board) remove(resource string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.runners, func(s scope, _ *sink.Runner) bool { return s.resource == resource })
}

func (b *board) each(f func(sink.Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runners {
		f(r.Status())
	}
}

var (
	lagDesc   = prometheus.NewDesc("listwatch_sink_lag_seconds", "Age of the oldest record that is not committed.", []string{"resource", "shard"}, nil)
	aheadDesc = prometheus.NewDesc("listwatch_sink_lag_revisions", "Revisions between the newest event and the position.", []string{"resource", "shard"}, nil)
	liveDesc  = prometheus.NewDesc("listwatch_sink_live", "1 if the table is complete and commits succeed.", []string{"resource", "shard"}, nil)
	pauseDesc = prometheus.NewDesc("listwatch_sink_paused", "1 if the scope is paused by listwatch-sink pause.", []string{"resource", "shard"}, nil)
	aliveDesc = prometheus.NewDesc("listwatch_sink_contact_seconds", "Seconds since the API server last sent anything.", []string{"resource", "shard"}, nil)
)

// Describe sends the metrics that are read from the Runners.
func (b *board) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lagDesc, aheadDesc, liveDesc, aliveDesc, pauseDesc} {
		ch <- d
	}
}

// Collect reads them.
func (b *board) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	b.each(func(s sink.Status) {
		if s.Position.Generation == 0 {
			return // not opened yet
		}
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.Position.Scope.Resource.GroupResource(), strconv.Itoa(s.Position.Scope.Shard))
		}
		for d, is := range map[*prometheus.Desc]bool{liveDesc: s.Live(), pauseDesc: s.Position.Control == sink.Paused} {
			value := 0.0
			if is {
				value = 1
			}
			gauge(d, value)
		}
		gauge(lagDesc, s.Lag(now).Seconds())
		if !s.Contact.IsZero() {
			gauge(aliveDesc, now.Sub(s.Contact).Seconds())
		}
		seen, err1 := strconv.ParseUint(string(s.Seen), 10, 64)
		at, err2 := strconv.ParseUint(string(s.Position.Revision), 10, 64)
		if err1 == nil && err2 == nil {
			gauge(aheadDesc, max(0, float64(seen)-float64(at)))
		}
	})
}

// ready says what is not moved at present, nil if all is well. A replica that waits for its
// Lease, or until a pause ends, is ready: it does what it should.
func (b *board) ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.starting {
		return errors.New("the types to move are not known yet")
	}
	for id, r := range b.runners {
		s := r.Status()
		switch {
		case s.Live(), s.Position.Control == sink.Paused && s.Err == nil:
		case s.Position.Generation == 0 && s.Err != nil:
			return fmt.Errorf("%s: not opened yet: %w", id.resource, s.Err)
		case s.Position.Generation == 0:
			return fmt.Errorf("%s: not opened yet", id.resource)
		case s.Err != nil:
			return fmt.Errorf("%s: phase %s: %w", s.Position.Scope, s.Position.Phase, s.Err)
		default:
			return fmt.Errorf("%s: phase %s", s.Position.Scope, s.Position.Phase)
		}
	}
	return nil
}

// serve serves the board until stop is called.
func (p *program) serve(ctx context.Context, b *board) (stop func(), err error) {
	if p.listen == "" {
		return func() {}, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", p.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(b.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := b.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := guard.Server(ctx, guard.Handler(guard.Prompt(mux), guard.Options{Bound: l.Addr().String(), Hosts: []string{"*"}}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(guard.Listen(l, 100))
	}()
	p.log.Info("serving /metrics, /readyz and /livez", "address", l.Addr().String())
	return func() { server.Close(); <-done }, nil
}
