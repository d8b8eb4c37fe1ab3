package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// lines is a log without times.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "err" || a.Key == "uid" || a.Key == "since" {
			return slog.Attr{}
		}
		return a
	}}))
}

// are wants exactly these lines since the last call.
func (l *lines) are(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var got []string
	for line := range strings.Lines(l.b.String()) {
		got = append(got, strings.TrimSpace(line))
	}
	l.b.Reset()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// refuse lets the server refuse all requests from now on, those under way
// included.
func (w *world) refuse(st *kube.Status) *apitest.Fault {
	f := w.srv.On(apitest.Match{}, faults.Answer(st))
	w.srv.CloseWatches()
	return f
}

func forbidden() *kube.Status { return apitest.StatusForbidden("jane", "watch", kube.ConfigMaps, "") }

// TestStatusOfAnInformerThatEnded: it was synced, and is never reported as healthy
// again.
func TestStatusOfAnInformerThatEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i := cache.New(w.maps, options{Budget: cache.NewBudget(5_000)})
		ended := make(chan error)
		go func() { ended <- i.Run(t.Context()) }()
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := i.Ready(); err != nil {
			t.Errorf("it is synced, and not ready: %v", err)
		}
		for n := range 20 {
			w.putLarge("a", fmt.Sprint(n))
		}
		err := <-ended
		s := i.Status()
		over := new(*cache.BudgetError)
		for name, err := range map[string]error{
			"Run": err, "Status.Err": s.Err, "Status.Ended": s.Ended, "Ready": i.Ready(),
			"WaitSynced": i.WaitSynced(t.Context()), "WaitRevision": i.WaitRevision(t.Context(), "1"),
		} {
			if !errors.As(err, over) {
				t.Errorf("%s: got %v, want a BudgetError", name, err)
			}
		}
		if s.Synced {
			t.Error("the status says that it is synced")
		}
	})
}

func TestStatusOfAnInformerWhoseHandlerPanicked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i := cache.New(w.maps, options{})
		i.Handle(func(delta) { panic("p") })
		func() {
			defer func() { recover() }()
			i.Run(t.Context())
		}()
		if err := i.Ready(); err == nil || !strings.Contains(err.Error(), "panicked") {
			t.Errorf("ready: %v", err)
		}
	})
}

func TestWaitSyncedNamesWhatItWaitsFor(t *testing.T) {
	wait := func(w *world, i *informer) string {
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		return i.WaitSynced(ctx).Error()
	}
	t.Run("never run", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			i := cache.New(w.maps.In("a"), options{})
			if got, want := wait(w, i), "configmaps in a: not synced: context deadline exceeded: Run was not called"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if err := i.Ready(); !errors.Is(err, cache.ErrNotRunning) {
				t.Errorf("ready: %v", err)
			}
		})
	})
	t.Run("slow handler", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			w.put("a", "x", "1")
			i := cache.New(w.maps, options{})
			release := make(chan struct{})
			i.Handle(func(delta) { <-release })
			w.run(i.Run)
			want := "configmaps: not synced: context deadline exceeded: the handler cache_test.TestWaitSyncedNamesWhatItWaitsFor."
			if got := wait(w, i); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " is busy since 2000-01-01T00:00:00Z (1m0s)") {
				t.Errorf("got %s\nwant %s...", got, want)
			}
			if err := i.Ready(); err == nil || !strings.Contains(err.Error(), "is busy since") {
				t.Errorf("ready: %v", err)
			}
			close(release)
			synctest.Wait()
			if s := i.Status(); s.Busy != "" || !s.BusySince.IsZero() {
				t.Errorf("no handler runs, and the status has %s since %s", s.Busy, s.BusySince)
			}
		})
	})
}

// TestHandlerThatPanicsIsNotBusy: the caller of Handle may recover.
func TestHandlerThatPanicsIsNotBusy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i := cache.New(w.maps, options{})
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() { _ = recover() }()
			i.Handle(func(delta) { panic("on purpose") })
		}()
		w.pass(time.Minute)
		if s := i.Status(); s.Busy != "" || !s.BusySince.IsZero() {
			t.Errorf("no handler runs, and the status has %s since %s", s.Busy, s.BusySince)
		}
	})
}

func TestInformerName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fields, err := kube.ParseFieldSelector("metadata.name=x")
		if err != nil {
			t.Fatal(err)
		}
		apps := client.Of[kube.Partial](w.client, kube.Deployments)
		for _, tt := range []struct {
			i    *informer
			want string
		}{
			{cache.New(w.maps, options{}), "configmaps"},
			{cache.New(apps.In("a"), options{}), "deployments.apps in a"},
			{cache.New(apps, options{Namespaces: []string{"a", "b"}}), "deployments.apps in a, b"},
			{cache.New(apps, options{Namespaces: strings.Split("abcde", "")}), "deployments.apps in a, b, c and 2 more"},
			{cache.New(apps.In("a").Where(kube.LabelsSelector(map[string]string{"v": "1"}), fields), options{}), "deployments.apps in a (v=1; metadata.name=x)"},
			{cache.New(apps, options{Name: "mine"}), "mine"},
			{cache.From(options{}, cache.Source[kube.Partial](watch.New(w.maps, watch.Options{}))), "kube.Partial"},
		} {
			if got := tt.i.Name(); got != tt.want || tt.i.Status().Name != tt.want {
				t.Errorf("named %q, want %q", got, tt.want)
			}
		}
	})
}

// TestInformerLogsRefusalsAndStaleness: rights are revoked for an hour.
func TestInformerLogsRefusalsAndStaleness(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var log lines
		i := cache.New(w.maps.In("a"), options{Logger: log.logger()})
		w.run(i.Run)
		w.pass(time.Hour)
		log.are(t)
		f := w.refuse(forbidden())
		w.pass(9 * time.Minute)
		log.are(t, `level=WARN msg="requests are refused; trying again" informer="configmaps in a" reason=forbidden`)
		if err := i.Ready(); err != nil {
			t.Errorf("not ready within the limit: %v", err)
		}
		w.pass(51 * time.Minute)
		log.are(t, `level=WARN msg="no contact with the server: objects may be out of date" informer="configmaps in a"`)
		var stale *cache.StaleError
		if err := i.Ready(); !errors.As(err, &stale) || !errors.Is(err, kube.ErrForbidden) {
			t.Errorf("ready: %v, want stale because of forbidden", err)
		} else if stale.Max != 10*time.Minute || stale.For < 59*time.Minute || stale.For > 61*time.Minute {
			t.Errorf("got %+v", stale)
		}
		f.Remove()
		w.pass(3 * time.Minute)
		log.are(t,
			`level=INFO msg="contact with the server restored" informer="configmaps in a"`,
			`level=INFO msg="requests succeed again" informer="configmaps in a"`)
		if err := i.Ready(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestInformerLogsEachKindOfFailureOnce: blips are not logged; an outage is, once.
func TestInformerLogsEachKindOfFailureOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var log lines
		i := cache.New(w.maps, options{MaxStaleness: -1})
		i.SetLogger(log.logger())
		w.run(i.Run)
		w.pass(time.Second)
		for range 100 { // the server closes watches, and is away for a moment
			w.srv.CloseWatches()
			w.srv.On(apitest.Match{}, faults.HTML(503)).Times(2)
			w.pass(time.Minute)
		}
		log.are(t)
		for _, st := range []*kube.Status{apitest.StatusInternal("x"), forbidden(), apitest.StatusUnauthorized(), forbidden()} {
			f := w.refuse(st)
			w.pass(10 * time.Minute)
			f.Remove()
		}
		log.are(t,
			`level=WARN msg="requests fail; trying again" informer=configmaps`,
			`level=WARN msg="requests are refused; trying again" informer=configmaps reason=forbidden`,
			`level=WARN msg="requests are refused; trying again" informer=configmaps reason=unauthorized`,
			`level=WARN msg="requests are refused; trying again" informer=configmaps reason=forbidden`)
		w.pass(5 * time.Minute)
		log.are(t, `level=INFO msg="requests succeed again" informer=configmaps`)
	})
}

// TestInformerLogsObjectsThatCannotBeDecoded: each once, over any number of lists,
// by its key and revision.
func TestInformerLogsObjectsThatCannotBeDecoded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var log lines
		w.srv.On(apitest.Match{}, faults.EachEvent(func(rw http.ResponseWriter, event []byte) {
			rw.Write(bytes.Replace(event, []byte(`"labels":{"v":"bad"}`), []byte(`"labels":["v"]`), 1))
		}))
		w.put("a", "bad", "bad")
		rev := w.srv.Revision()
		w.put("a", "good", "1")
		i := cache.New(w.maps, options{Logger: log.logger()})
		w.run(i.Run)
		w.pass(time.Minute)
		const bad = `level=WARN msg="an object cannot be decoded and is left out" informer=configmaps key=%s rev=%s`
		log.are(t, fmt.Sprintf(bad, "a/bad", rev))
		for range 3 {
			w.srv.Expire()
			w.srv.CloseWatches()
			w.pass(time.Minute)
		}
		log.are(t)
		if err := i.Status().Err; err == nil {
			t.Error("the status says that nothing is wrong")
		}
		w.put("a", "good", "bad")
		rev = w.srv.Revision()
		w.put("a", "bad", "2")
		w.pass(time.Minute)
		log.are(t, fmt.Sprintf(bad, "a/good", rev))
		w.delete("a", "good")
		w.pass(time.Minute)
		if s := i.Status(); s.Err != nil {
			t.Errorf("no object is bad any more: %v", s.Err)
		}
	})
}

// TestInformerLogsAFloodOfBadObjectsInPart: what is kept of them is bounded.
func TestInformerLogsAFloodOfBadObjectsInPart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 300 {
			w.put("a", fmt.Sprint("x", n), "secret")
		}
		var log lines
		i := cache.New(w.maps, options{Logger: log.logger(), Transform: func(o kube.Partial) (kube.Partial, error) {
			return o, fmt.Errorf("label v=%s", o.Labels["v"])
		}})
		w.run(i.Run)
		w.pass(time.Minute)
		if text := log.b.String(); strings.Count(text, "\n") != 101 || !strings.Contains(text, "more objects cannot be decoded") || strings.Contains(text, "secret") {
			t.Errorf("%d lines, the first of them %.300s", strings.Count(text, "\n"), text)
		}
		log.b.Reset()
		w.srv.Expire()
		w.srv.CloseWatches()
		w.pass(time.Minute)
		log.are(t)
		if s := i.Status(); s.Err == nil || len(s.Err.Error()) > 1000 {
			t.Errorf("status: %v", s.Err)
		}
	})
}

func TestInformerLogsARestoredServerAndItsEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var log lines
		fields, err := kube.ParseFieldSelector("no.such=field")
		if err != nil {
			t.Fatal(err)
		}
		i := cache.New(w.maps, options{Logger: log.logger()})
		w.run(i.Run)
		w.put("a", "x", "1")
		at := w.srv.Revision()
		w.put("a", "y", "1")
		w.pass(time.Minute)
		w.srv.RestoreTo(at)
		w.pass(10 * time.Minute)
		log.are(t, `level=WARN msg="the server was restored to an earlier state; listing again" informer=configmaps`)
		w.run(cache.New(w.maps.Where(kube.Selector{}, fields), options{Logger: log.logger()}).Run)
		synctest.Wait()
		log.are(t, `level=ERROR msg="the informer ended; its objects are no longer updated" informer="configmaps (no.such=field)"`)
	})
}
