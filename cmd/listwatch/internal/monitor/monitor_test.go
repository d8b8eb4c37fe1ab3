package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// ask returns the status and body of a path.
func ask(t *testing.T, m *Monitor, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

func at(revision string) codec.Identity { return codec.Identity{ResourceVersion: revision} }

// TestReadyIsCompleteAndNotStale tells the life of a stream, and what others see.
func TestReadyIsCompleteAndNotStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Monitor{limit: StaleAfter}
		s := m.Add(target.Target{Resource: kube.Pods, Namespace: "shop"})
		heard := &quiet{}
		s.Bind(heard.contact, func() int { return 3 })
		phase := func() string { return s.view(m.limit).State }
		ready := func(want string) {
			t.Helper()
			code, body := ask(t, m, "/readyz")
			if (code == 200) != (want == "ok") || (code != 200) != (code == 503) || strings.TrimSpace(body) != want {
				t.Errorf("%d %q, want %q", code, body, want)
			}
			if code, _ := ask(t, m, "/healthz"); code != 200 {
				t.Errorf("healthz: %d", code)
			}
		}
		ready("starting: the server's types are not known yet")
		m.Begin()
		ready("pods in namespace shop: the first list is not complete")
		s.See(&record.Record{Type: record.ErrorType, Time: time.Now(), Detail: record.ErrorDetail{Error: "forbidden"}})
		ready("pods in namespace shop: the first list is not complete; last error: forbidden")
		<-time.After(StaleAfter)
		ready("pods in namespace shop: no contact for 90s, the limit is 1m30s; last error: forbidden")
		heard.hear()
		s.See(&record.Record{Type: "ADDED", Initial: true, ID: at("7")})
		s.See(&record.Record{Type: string(watch.Synced), ID: at("10")})
		ready("ok")
		if phase() != phaseSynced {
			t.Error(phase())
		}
		s.See(&record.Record{Type: record.DisconnectedType, ID: at("11")})
		ready("ok") // what is known is not stale yet
		if phase() != phaseReconnecting {
			t.Error(phase())
		}
		s.See(&record.Record{Type: record.ReconnectedType, ID: at("11")})
		if phase() != phaseSynced {
			t.Error(phase())
		}
		s.See(&record.Record{Type: record.DisconnectedType})
		s.List()
		if phase() != phaseListing {
			t.Error(phase())
		}
		ready("ok")
		s.See(&record.Record{Type: "MODIFIED", Synthetic: "relist", ID: at("12")})
		s.See(&record.Record{Type: record.RelistedType, ID: at("20")})
		<-time.After(StaleAfter - time.Millisecond)
		ready("ok")
		<-time.After(time.Millisecond)
		ready("pods in namespace shop: no contact for 90s, the limit is 1m30s") // the error is older than the contact
		heard.hear()
		ready("ok")

		began := s.began.UTC()
		last, failed := heard.contact().UTC(), began
		want := streamView{Resource: "pods", Namespace: "shop", State: phaseSynced, Ready: true, Objects: 3, Revision: "20", Began: began, LastContact: &last,
			Events:  map[string]int64{"ADDED": 1, "MODIFIED": 1, "SYNCED": 1, "RELISTED": 1, "DISCONNECTED": 2, "RECONNECTED": 1, "ERROR": 1},
			Relists: 1, Disconnects: 2, Errors: 1, LastError: "forbidden", ErrorTime: &failed}
		code, body := ask(t, m, "/debug/state")
		var got struct{ Streams []streamView }
		if err := json.Unmarshal([]byte(body), &got); code != 200 || err != nil || len(got.Streams) != 1 {
			t.Fatal(code, err, body)
		}
		if diff := cmp.Diff(want, got.Streams[0], cmp.AllowUnexported(streamView{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestReadyWithoutAFirstList: who begins in the middle has nothing to wait for but
// the watch.
func TestReadyWithoutAFirstList(t *testing.T) {
	m := &Monitor{limit: StaleAfter}
	s := m.Add(target.Target{Resource: kube.Pods})
	m.Begin()
	s.Connect(watch.OpStream)
	if len(m.NotReady()) != 1 {
		t.Error("a stream that has just begun is ready")
	}
	s.Connect(watch.OpWatch)
	if why := m.NotReady(); why != nil {
		t.Errorf("%q", why)
	}
}

func TestMaxStalenessEndsTheProgramWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Monitor{limit: 10 * time.Second, end: true}
		heard := &quiet{}
		s := m.Add(target.Target{Resource: kube.Pods})
		s.Bind(heard.contact, func() int { return 0 })
		s.See(&record.Record{Type: record.ErrorType, Time: time.Now(), Detail: record.ErrorDetail{Error: "refused"}})
		began := time.Now()
		done := make(chan error, 1)
		go func() { done <- m.Watchdog(t.Context()) }()
		<-time.After(9 * time.Second)
		heard.hear()
		err := <-done
		if after := time.Since(began); after < 19*time.Second || after > 20*time.Second {
			t.Errorf("after %v, want 19 s", after)
		}
		var f *exit.Error
		if !errors.As(err, &f) || f.Code != exit.CodeFailed || err.Error() != "pods: no contact for 10s (--max-staleness 10s); last error: refused" {
			t.Errorf("%v", err)
		}
	})
}

func TestStalenessEndsNothingUnlessAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, m := range []*Monitor{nil, {limit: time.Second}} {
			m.Add(target.Target{Resource: kube.Pods})
			<-time.After(time.Minute)
			if err := m.Watchdog(t.Context()); err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := (&Monitor{limit: time.Minute, end: true}).Watchdog(ctx); err != nil {
			t.Errorf("an end for another reason: %v", err)
		}
	})
}

// TestMetricsFollowTheConventions of Prometheus, and streams of single names are
// added up.
func TestMetricsFollowTheConventions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Monitor{limit: StaleAfter}
		for i, name := range []string{"a", "b"} {
			s := m.Add(target.Target{Resource: kube.Pods, Namespace: "shop", Name: name})
			heard := &quiet{last: time.Now().Add(time.Duration(i-2) * time.Second)}
			s.Bind(heard.contact, func() int { return 1 })
			s.See(&record.Record{Type: "ADDED"})
			if i == 0 {
				s.See(&record.Record{Type: string(watch.Synced)})
			}
		}
		m.Begin()
		m.Printed.Add(2)
		if _, err := m.Count(&strings.Builder{}).Write([]byte("four")); err != nil {
			t.Error(err)
		}
		r := prometheus.NewRegistry()
		r.MustRegister(scraper{m})
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		problems, err := promlint.NewWithMetricFamilies(families).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		_, body := ask(t, m, "/metrics")
		var got []string
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "listwatch_") && !strings.HasPrefix(line, "listwatch_build_info") &&
				(!strings.Contains(line, "type=") || !strings.HasSuffix(line, " 0\n")) {
				got = append(got, strings.TrimSpace(line))
			}
		}
		want := []string{
			`listwatch_disconnects_total{cluster="",namespace="shop",resource="pods"} 0`,
			`listwatch_errors_total{cluster="",namespace="shop",resource="pods"} 0`,
			`listwatch_events_total{cluster="",namespace="shop",resource="pods",type="ADDED"} 2`,
			`listwatch_events_total{cluster="",namespace="shop",resource="pods",type="SYNCED"} 1`,
			`listwatch_last_contact_seconds{cluster="",namespace="shop",resource="pods"} 2`,
			`listwatch_objects{cluster="",namespace="shop",resource="pods"} 2`,
			`listwatch_ready{cluster="",namespace="shop",resource="pods"} 0`,
			`listwatch_records_printed_total 2`,
			`listwatch_relists_total{cluster="",namespace="shop",resource="pods"} 0`,
			`listwatch_synced{cluster="",namespace="shop",resource="pods"} 0`,
			`listwatch_written_bytes_total 4`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestServerHasLimits(t *testing.T) {
	m := &Monitor{limit: StaleAfter}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		w := httptest.NewRecorder()
		m.handler().ServeHTTP(w, httptest.NewRequest(method, "/debug/state", nil))
		if w.Code != 405 {
			t.Errorf("%s: %d, want 405", method, w.Code)
		}
	}
}

// quiet is a follower that heard from its server at a moment.
type quiet struct {
	mu   sync.Mutex
	last time.Time
}

func (s *quiet) contact() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *quiet) hear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// TestMetricsThatNobodyReadsAreGivenToOthers: clients that ask and read nothing keep no
// scraper out for longer than a minute.
func TestMetricsThatNobodyReadsAreGivenToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Monitor{limit: StaleAfter}
		h := m.handler() // the limit of requests is that of one
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		srv := guard.Server(t.Context(), h)
		go srv.Serve(l)
		for range 4 {
			ours, theirs := net.Pipe()
			defer ours.Close()
			l.conns <- theirs
			if _, err := io.WriteString(ours, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		scrape := func() int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
			return w.Code
		}
		synctest.Wait()
		if code := scrape(); code != 503 {
			t.Errorf("beside four that read nothing: %d, it tests nothing", code)
		}
		time.Sleep(time.Minute + time.Second)
		if code := scrape(); code != 200 {
			t.Errorf("a minute later: %d", code)
		}
		srv.Close()
	})
}

// pipes is a listener of connections that are sent to it.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	close(l.done)
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }
