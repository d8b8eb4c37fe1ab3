package controller_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// standby is a Runner that does nothing.
type standby struct{}

func (standby) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// A server may not offer the metadata of objects alone.
func TestControllerBeginsWhereAServerHasNoMetadata(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		w.On(apitest.Match{Header: "Accept: as=PartialObjectMetadataList"}, func(rw http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.Header.Get("Accept"), ",application/json") {
				faults.Answer(&kube.Status{Code: http.StatusNotAcceptable, Reason: "NotAcceptable"})(rw, r)
				return
			}
			r.Header.Set("Accept", "application/json")
			apitest.Continue(rw, r)
		})
		w.run(t, standby{})
		synctest.Wait()
		ctl := controller.New("maps", func(_ context.Context, k kube.Key) (controller.Result, error) {
			w.note("run %s", k)
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{})
		controller.For(ctl, w.maps)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- ctl.Run(ctx) }()
		time.Sleep(time.Minute)
		wantNotes(t, w, "run a/x")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A controller that begins, such as that of a new leader, must not act upon a cache
// that is older than the last writes of the one before it.
func TestControllerBeginsWithACurrentCache(t *testing.T) {
	const late = 20 * time.Second
	for name, c := range map[string]struct {
		former, unrelated bool // writes
		attached          bool // the controller was, before the caches began
		begins            time.Duration
	}{
		"the former leader wrote what the cache lacks":  {former: true, begins: late},
		"the same, and the controller is attached":      {former: true, attached: true, begins: late},
		"other writes moved the revision of the server": {unrelated: true},
		"nothing was written":                           {},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				w.put("x", "1")
				secrets := client.Of[secret](w.client, kube.Secrets).In("a")
				w.On(apitest.Match{Verb: "watch", Resource: "secrets"}, faults.EachEvent(func(rw http.ResponseWriter, event []byte) {
					if strings.Contains(string(event), `"x-1"`) {
						time.Sleep(late)
					}
					_, _ = rw.Write(event)
				}))
				var begin time.Time
				ctl := controller.New("maps", func(ctx context.Context, k kube.Key) (controller.Result, error) {
					w.note("begins after %s", time.Since(begin).Round(time.Second))
					if w.secrets.Store().Len() > 0 {
						return controller.Result{}, nil
					}
					_, err := secrets.Create(ctx, secret{kube.Meta{GenerateName: k.Name + "-"}})
					return controller.Result{}, err
				}, controller.Options[kube.Key]{})
				controller.For(ctl, w.maps)
				controller.Map(ctl, w.secrets, func(secret) []kube.Key { return nil })
				if c.attached {
					ctl.Attach()
				}
				w.run(t, standby{})
				if c.former {
					w.Put(kube.Secrets, `{"metadata":{"namespace":"a","name":"x-1"}}`)
				}
				if c.unrelated {
					w.Put(kube.Nodes, `{"metadata":{"name":"n"}}`)
				}
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				begin = time.Now()
				go func() { done <- ctl.Run(ctx) }()
				time.Sleep(time.Minute)
				wantNotes(t, w, "begins after "+c.begins.String())
				if all, _ := w.List(kube.Secrets); len(all) != 1 {
					t.Errorf("%d secrets, want 1", len(all))
				}
				cancel()
				if err := <-done; err != nil {
					t.Errorf("Run: %v", err)
				}
			})
		})
	}
}

// As long as nobody knows whether a cache is current, the controller does not begin,
// and the log and its readiness say why.
func TestControllerSaysWhyItDoesNotBegin(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		var lines strings.Builder
		ctl := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			w.note("runs")
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
		controller.For(ctl, w.maps)
		w.run(t, standby{})
		remove := w.Deny("", apitest.Match{Resource: "configmaps", Verb: "list"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- ctl.Run(ctx) }()
		time.Sleep(time.Minute)
		wantNotes(t, w)
		const why = "configmaps: not known to be up to date"
		if err := ctl.Ready(); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("Ready() = %v, want %q and forbidden in it", err, why)
		}
		if n := strings.Count(lines.String(), why); n != 1 {
			t.Errorf("%d lines with %q, want 1:\n%s", n, why, lines.String())
		}
		remove()
		time.Sleep(30 * time.Second)
		wantNotes(t, w, "runs")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
