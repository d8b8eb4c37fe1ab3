package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/metrics"
)

// scrape returns the lines of the metrics whose names begin with one of the
// prefixes, without those of a histogram's buckets.
func scrape(t *testing.T, r *metrics.Registry, prefixes ...string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		for _, p := range prefixes {
			if strings.HasPrefix(line, p) && !strings.Contains(line, "_bucket{") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}

func TestController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := metrics.New()
		c := controller.New("foo", func(_ context.Context, k string) (controller.Result, error) {
			time.Sleep(time.Second)
			switch k {
			case "bad":
				return controller.Result{}, controller.Permanent(errors.New("bad"))
			case "panics":
				panic("p")
			case "later":
				return controller.Result{RequeueAfter: time.Hour}, nil
			case "stuck":
				time.Sleep(time.Minute)
			}
			return controller.Result{}, nil
		}, controller.Options[string]{MaxRetries: -1})
		metrics.Controller(r, c)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		for _, k := range []string{"good", "bad", "panics", "later", "stuck", "waits"} {
			c.Queue().Add(k)
		}
		time.Sleep(7*time.Second + time.Millisecond)
		want := []string{
			`controller_runtime_active_workers{controller="foo"} 1`,
			`controller_runtime_max_concurrent_reconciles{controller="foo"} 1`,
			`controller_runtime_reconcile_errors_total{controller="foo"} 2`,
			`controller_runtime_reconcile_panics_total{controller="foo"} 1`,
			`controller_runtime_reconcile_time_seconds_sum{controller="foo"} 4`,
			`controller_runtime_reconcile_time_seconds_count{controller="foo"} 4`,
			`controller_runtime_reconcile_total{controller="foo",result="error"} 2`,
			`controller_runtime_reconcile_total{controller="foo",result="requeue"} 0`,
			`controller_runtime_reconcile_total{controller="foo",result="requeue_after"} 1`,
			`controller_runtime_reconcile_total{controller="foo",result="success"} 1`,
			`controller_runtime_terminal_reconcile_errors_total{controller="foo"} 2`,
			`workqueue_adds_total{controller="foo",name="foo"} 7`,
			`workqueue_depth{controller="foo",name="foo"} 1`,
			`workqueue_longest_running_processor_seconds{controller="foo",name="foo"} 3.001`,
			`workqueue_queue_duration_seconds_sum{controller="foo",name="foo"} 6`,
			`workqueue_queue_duration_seconds_count{controller="foo",name="foo"} 4`,
			`workqueue_retries_total{controller="foo",name="foo"} 0`,
			`workqueue_unfinished_work_seconds{controller="foo",name="foo"} 3.001`,
			`workqueue_work_duration_seconds_sum{controller="foo",name="foo"} 4`,
			`workqueue_work_duration_seconds_count{controller="foo",name="foo"} 4`,
		}
		if diff := cmp.Diff(want, scrape(t, r, "controller_runtime_", "workqueue_")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// behind is a cache that does not show any write.
type behind struct{}

func (behind) Name() string { return "behind" }

func (behind) Await(ctx context.Context, _ kube.Object) error {
	<-ctx.Done()
	return ctx.Err()
}

func (b behind) AwaitDeleted(ctx context.Context, o kube.Object) error { return b.Await(ctx, o) }

// TestControllerRunThatIsStopped: it has no result, and is no error.
func TestControllerRunThatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := metrics.New()
		c := controller.New("foo", func(ctx context.Context, _ string) (controller.Result, error) {
			<-ctx.Done()
			return controller.Result{}, ctx.Err()
		}, controller.Options[string]{})
		metrics.Controller(r, c)
		c.Queue().Add("x")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{
			`controller_runtime_reconcile_errors_total{controller="foo"} 0`,
			`controller_runtime_reconcile_time_seconds_sum{controller="foo"} 1`,
			`controller_runtime_reconcile_time_seconds_count{controller="foo"} 1`,
			`controller_runtime_reconcile_total{controller="foo",result="error"} 0`,
			`controller_runtime_reconcile_total{controller="foo",result="requeue"} 0`,
			`controller_runtime_reconcile_total{controller="foo",result="requeue_after"} 0`,
			`controller_runtime_reconcile_total{controller="foo",result="success"} 0`,
		}
		if diff := cmp.Diff(want, scrape(t, r, "controller_runtime_reconcile_errors", "controller_runtime_reconcile_t")); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// TestControllerKeysThatWait: a key that waits for a cache has no worker.
func TestControllerKeysThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := metrics.New()
		var c *controller.Controller[string]
		c = controller.New("foo", func(_ context.Context, k string) (controller.Result, error) {
			time.Sleep(time.Second)
			c.Await(k, behind{}, kube.Partial{})
			return controller.Result{}, nil
		}, controller.Options[string]{})
		metrics.Controller(r, c)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		for _, k := range []string{"a", "b", "c"} {
			c.Queue().Add(k)
		}
		for _, want := range []string{"1", "0"} {
			time.Sleep(2*time.Second + time.Millisecond)
			if diff := cmp.Diff([]string{`controller_runtime_active_workers{controller="foo"} ` + want}, scrape(t, r, "controller_runtime_active_")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

type status cache.Status

func (s status) Status() cache.Status { return cache.Status(s) }

func TestInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := metrics.New()
		metrics.Informer(r, "pods", status{Synced: true, Started: time.Now().Add(-time.Hour), MaxStaleness: time.Minute, Objects: 3, Bytes: 4, Lag: time.Second, LastContact: time.Now().Add(-2 * time.Second)})
		metrics.Informer(r, "", status{Name: "foos", Err: errors.New("forbidden")})
		metrics.Leader(r, "lease", func() bool { return true })
		want := []string{
			`leader_election_master_status{name="lease"} 1`,
			`listwatch_informer_bytes{informer="foos"} 0`,
			`listwatch_informer_bytes{informer="pods"} 4`,
			`listwatch_informer_failing{informer="foos"} 1`,
			`listwatch_informer_failing{informer="pods"} 0`,
			`listwatch_informer_lag_seconds{informer="foos"} 0`,
			`listwatch_informer_lag_seconds{informer="pods"} 1`,
			`listwatch_informer_last_contact_seconds{informer="pods"} 2`,
			`listwatch_informer_objects{informer="foos"} 0`,
			`listwatch_informer_objects{informer="pods"} 3`,
			`listwatch_informer_ready{informer="foos"} 0`,
			`listwatch_informer_ready{informer="pods"} 1`,
			`listwatch_informer_synced{informer="foos"} 0`,
			`listwatch_informer_synced{informer="pods"} 1`,
		}
		if diff := cmp.Diff(want, scrape(t, r, "leader_", "listwatch_")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestRegistryShowsTheProcess(t *testing.T) {
	if lines := scrape(t, metrics.New(), "go_goroutines ", "process_resident_memory_bytes "); len(lines) != 2 {
		t.Errorf("%q", lines)
	}
}

// TestHandlerFormats: who asks for OpenMetrics too, as Prometheus does, gets another format.
func TestHandlerFormats(t *testing.T) {
	const openMetrics = "application/openmetrics-text;version=1.0.0"
	const protobuf = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
	for accept, want := range map[string]string{
		"":          "text/plain; version=0.0.4; charset=utf-8",
		openMetrics: "text/plain; version=0.0.4; charset=utf-8",
		openMetrics + ",text/plain;version=0.0.4;q=0.5": "text/plain; version=0.0.4; charset=utf-8",
		protobuf: protobuf,
	} {
		q := httptest.NewRequest("GET", "/metrics", nil)
		q.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		metrics.New().Handler().ServeHTTP(w, q)
		got, _, _ := strings.Cut(w.Header().Get("Content-Type"), "; escaping=")
		if got != want {
			t.Errorf("accept %q: %q, want %q", accept, got, want)
		}
	}
}

func Example() {
	r := metrics.New()
	ctl := controller.New("foo", func(context.Context, string) (controller.Result, error) { return controller.Result{}, nil }, controller.Options[string]{})
	metrics.Controller(r, ctl)
	ctl.Queue().Add("key")

	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "workqueue_depth") {
			fmt.Print(line)
		}
	}
	// Output: workqueue_depth{controller="foo",name="foo"} 1
}

// Two of one name are refused when they are registered, not at every scrape.
func TestRegistryRefusesDuplicates(t *testing.T) {
	r := metrics.New()
	register := map[string]func(){
		`controller are registered by the name "foo"`: func() {
			metrics.Controller(r, controller.New("foo", func(context.Context, string) (controller.Result, error) { return controller.Result{}, nil }, controller.Options[string]{}))
		},
		`informer are registered by the name "foo"`: func() { metrics.Informer(r, "foo", status{}) },
		`leader are registered by the name "foo"`:   func() { metrics.Leader(r, "foo", func() bool { return false }) },
	}
	for want, f := range register {
		f()
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), want) {
					t.Errorf("panic %v, want %q", v, want)
				}
			}()
			f()
		}()
	}
	if lines := scrape(t, r, "listwatch_informer_synced", "workqueue_depth", "leader_"); len(lines) != 3 {
		t.Errorf("scraped %q", lines)
	}
}

// TestRegistryRefusesANameThatCannotBeServed, when it is registered.
func TestRegistryRefusesANameThatCannotBeServed(t *testing.T) {
	defer func() {
		if v := fmt.Sprint(recover()); !strings.Contains(v, `informer is registered by the name "\xff", which is not valid UTF-8`) {
			t.Errorf("panic %q", v)
		}
	}()
	metrics.Informer(metrics.New(), "\xff", status{})
}
