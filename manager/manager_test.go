package manager_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/manager"
)

// part is a Runner that notes its beginning and end.
type part struct {
	w    *world
	name string
	stop time.Duration                   // how long it takes to stop
	f    func(ctx context.Context) error // nil = until ctx ends
}

func (p *part) Name() string { return p.name }

func (p *part) Run(ctx context.Context) error {
	p.w.note("%s begins", p.name)
	defer p.w.note("%s ends", p.name)
	if p.f != nil {
		return p.f(ctx)
	}
	<-ctx.Done()
	<-time.After(p.stop)
	return ctx.Err()
}

// elector gives the lease after a second.
type elector struct {
	w   *world
	err error
}

func (e *elector) Run(ctx context.Context, lead func(context.Context, lease.Token) error) error {
	<-time.After(time.Second)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e.w.note("lease acquired")
	defer e.w.note("lease released")
	leading, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	if e.err != nil {
		time.AfterFunc(time.Minute, func() { lose(e.err) })
	}
	if err := lead(leading, lease.Token{}); err != nil {
		return err
	}
	return e.err
}

func (e *elector) Check() error { return nil }

func TestManagerStopsInOrder(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{Elector: &elector{w: w}})
		m.Add(&part{w: w, name: "cache", stop: time.Second})
		m.AddLed(&part{w: w, name: "foo", stop: 2 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if err := m.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		wantNotes(t, w, "cache begins", "lease acquired", "foo begins", "foo ends", "lease released", "cache ends")
	})
}

func TestManagerReturnsTheFirstError(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{"an error": {errBroken, "controller bad: broken"}, "no error": {nil, "controller bad: it ended without being stopped"}} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				m := manager.New(manager.Options{})
				m.Add(&part{w: w, name: "cache"})
				m.AddLed(&part{w: w, name: "good", f: func(ctx context.Context) error { <-ctx.Done(); return errors.New("a later one") }})
				m.AddLed(&part{w: w, name: "bad", f: func(context.Context) error { time.Sleep(time.Second); return c.err }})
				if err := m.Run(t.Context()); err == nil || err.Error() != c.want {
					t.Errorf("Run: %v", err)
				}
				if got := w.notes(); len(got) != 6 || got[5] != "cache ends" {
					t.Errorf("notes %q", got)
				}
			})
		})
	}
}

func TestManagerEndsWhenTheLeaseIsLost(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{Elector: &elector{w, errBroken}})
		m.AddLed(&part{w: w, name: "foo"})
		if err := m.Run(t.Context()); !errors.Is(err, errBroken) {
			t.Errorf("Run: %v", err)
		}
		wantNotes(t, w, "lease acquired", "foo begins", "foo ends", "lease released")
	})
}

// The lease may be lost while a part is stuck, and then the elector does not return.
func TestManagerEndsWhenTheLeaseIsLostThoughAPartDoesNotStop(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{Elector: &elector{w, errBroken}, StopTimeout: 10 * time.Second})
		m.AddLed(&part{w: w, name: "stuck", stop: time.Hour})
		begin := time.Now()
		err := m.Run(t.Context())
		if want := "manager: broken; not stopped in 10s: controller stuck"; !errors.Is(err, errBroken) || err.Error() != want || time.Since(begin) != 71*time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		time.Sleep(time.Hour) // it ends with the story
	})
}

// What is left behind is named beside the first error.
func TestManagerNamesWhatIsLeftBehindAfterAnError(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{StopTimeout: 10 * time.Second})
		m.Add(&part{w: w, name: "stuck", stop: time.Hour})
		m.Add(&part{w: w, name: "bad", f: func(context.Context) error { return errBroken }})
		if err := m.Run(t.Context()); !errors.Is(err, errBroken) || err.Error() != "controller bad: broken; not stopped in 10s: controller stuck" {
			t.Errorf("Run: %v", err)
		}
		time.Sleep(time.Hour)
	})
}

// A part that does not stop must not let the lease go: the next leader would act
// beside it.
func TestManagerDoesNotReleaseTheLeaseOverWhatStillRuns(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{Elector: &elector{w: w}, StopTimeout: 10 * time.Second})
		m.AddLed(&part{w: w, name: "stuck", stop: time.Hour}, &part{w: w, name: "good"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		begin := time.Now()
		err := m.Run(ctx)
		if err == nil || err.Error() != "manager: not stopped in 10s: controller stuck" || time.Since(begin) != 70*time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		if got := strings.Join(w.notes(), ", "); strings.Contains(got, "released") {
			t.Errorf("notes %s", got)
		}
		time.Sleep(time.Hour) // it ends with the story
	})
}

// slow is an elector that needs a minute to release its lease.
type slow struct{}

func (slow) Run(ctx context.Context, lead func(context.Context, lease.Token) error) error {
	defer func() { <-time.After(time.Minute) }()
	return lead(ctx, lease.Token{})
}

func (slow) Check() error { return nil }

// TestManagerNamesAnElectorThatDoesNotStop: the parts have stopped, and the release of the
// lease takes longer than the Manager waits.
func TestManagerNamesAnElectorThatDoesNotStop(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{Elector: slow{}, StopTimeout: 10 * time.Second})
		m.AddLed(controller.New("good", func(context.Context, kube.Key) (controller.Result, error) { return controller.Result{}, nil }, controller.Options[kube.Key]{}))
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := m.Run(ctx); err == nil || err.Error() != "manager: not stopped in 10s: leader election" {
			t.Errorf("%v", err)
		}
		<-time.After(time.Minute)
	})
}

func TestManagerRunsOnce(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		m := manager.New(manager.Options{})
		if err := m.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := m.Run(ctx); err == nil || !strings.Contains(err.Error(), "called before") {
			t.Errorf("Run again: %v", err)
		}
	})
}

// TestManagerIsNotReadyWhileItStops: nobody should send it anything more.
func TestManagerIsNotReadyWhileItStops(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		got := make(map[string]string)
		m.Add(&part{w: w, name: "slow", f: func(ctx context.Context) error {
			got["working"] = m.ReadyText()
			cancel()
			<-ctx.Done()
			synctest.Wait() // Run has seen it too
			got["stopping"] = m.ReadyText()
			return nil
		}})
		if err := m.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"working": "ok\n", "stopping": "[-]manager: it is stopping\n"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestManagerNamesAControllerOnce, in an error that the controller's own Run returns
// with its name.
func TestManagerNamesAControllerOnce(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		ctl := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := ctl.Run(ended); err != nil {
			t.Fatal(err)
		}
		m := manager.New(manager.Options{})
		m.Add(ctl)
		got := []string{fmt.Sprint(ctl.Run(t.Context())), fmt.Sprint(m.Run(t.Context()))}
		const want = "controller maps: Run was called before"
		if diff := cmp.Diff([]string{want, want}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestManagerListens(t *testing.T) {
	srv := apitest.New(t)
	w := &world{Server: srv}
	m := manager.New(manager.Options{Listen: "127.0.0.1:0", Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "up 1") })})
	asked := make(chan map[string]string, 1)
	var broken error
	m.CheckReady("mine", func() error { return broken })
	ctx, cancel := context.WithCancel(t.Context())
	m.AddLed(&part{w: w, name: "asks", f: func(ctx context.Context) error {
		got := make(map[string]string)
		for _, path := range []string{"/healthz", "/readyz", "/metrics", "/else"} {
			got[path] = fetch(t, "http://"+m.Address()+path)
		}
		broken = errBroken
		got["broken"] = fetch(t, "http://"+m.Address()+"/readyz")
		asked <- got
		cancel()
		<-ctx.Done()
		return nil
	}})
	if err := m.Run(ctx); err != nil {
		t.Fatalf("Run: %v", err)
	}
	want := map[string]string{"/healthz": "200 ok\n", "/readyz": "200 [+]mine ok\nok\n", "/metrics": "200 up 1\n", "/else": "404 404 page not found\n", "broken": "503 [-]mine: broken\n"}
	if diff := cmp.Diff(want, <-asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := http.Get("http://" + m.Address() + "/healthz"); err == nil {
		t.Error("it serves on")
	}
}

func fetch(t *testing.T, url string) string {
	resp, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, b)
}

// With a real Lease: two managers, and one of them acts at a time.
func TestManagerLeadsByALease(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		begin := time.Now()
		var wait sync.WaitGroup
		for _, name := range []string{"one", "two"} {
			e, err := lease.New(w.client, kube.Key{Namespace: "a", Name: "lock"}, lease.Options{Identity: name})
			if err != nil {
				t.Fatal(err)
			}
			m := manager.New(manager.Options{Elector: e})
			m.AddLed(&part{w: w, name: "ctl", stop: 3 * time.Second})
			ctx, cancel := context.WithCancel(t.Context())
			wait.Go(func() {
				defer cancel()
				if err := m.Run(ctx); err != nil {
					t.Errorf("Run: %v", err)
				}
				w.note("over")
			})
			time.AfterFunc(5*time.Minute+time.Duration(len(w.Requests()))*time.Second, cancel)
			if name == "one" {
				time.Sleep(time.Minute)
			}
		}
		wait.Wait()
		if got := strings.Join(w.notes(), ", "); got != "ctl begins, ctl ends, over, ctl begins, ctl ends, over" {
			t.Errorf("after %s: %s", time.Since(begin), got)
		}
	})
}

func TestManagerIsReadyWhenItsCachesAndControllersAre(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		forbid := w.On(apitest.Match{Resource: "secrets"}, faults.Answer(&kube.Status{Code: 403, Reason: "Forbidden", Message: "secrets is forbidden"}))
		m := manager.New(manager.Options{})
		c := noting(w, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		controller.Owns(c, kube.ConfigMaps, w.secrets)
		m.Add(w.maps, w.secrets)
		m.AddLed(c)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		time.Sleep(20 * time.Second)
		text := m.ReadyText()
		for _, want := range []string{"[+]informer of configmaps ok", "[-]informer of secrets: not synced: ", "secrets is forbidden", "[-]controller maps: "} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		forbid.Remove()
		time.Sleep(10 * time.Minute)
		if text := m.ReadyText(); !strings.HasSuffix(text, "\nok\n") {
			t.Errorf("not ready:\n%s", text)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		synctest.Wait()
	})
}

func TestManagerCannotListen(t *testing.T) {
	m := manager.New(manager.Options{Listen: "127.0.0.1:http-or-so"})
	if err := m.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "manager: listen: ") {
		t.Errorf("Run: %v", err)
	}
}

// overdue is a part whose work does not end although it should, as that of a lease.Ring.
type overdue struct{ err error }

func (o *overdue) Run(ctx context.Context) error { <-ctx.Done(); return nil }
func (o *overdue) Check() error                  { return o.err }

// TestHealthzAsksTheParts: the kubelet must end a process that works on what others own.
func TestHealthzAsksTheParts(t *testing.T) {
	w := &world{Server: apitest.New(t)}
	for name, add := range map[string]func(*manager.Manager, ...manager.Runner){
		"Add": (*manager.Manager).Add, "AddLed": (*manager.Manager).AddLed, "AddOptional": (*manager.Manager).AddOptional,
	} {
		m := manager.New(manager.Options{Listen: "127.0.0.1:0"})
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan string, 1)
		add(m, &overdue{errBroken})
		m.AddLed(&part{w: w, name: "asks", f: func(ctx context.Context) error {
			got <- fetch(t, "http://"+m.Address()+"/healthz")
			cancel()
			return nil
		}})
		if err := m.Run(ctx); err != nil {
			t.Fatalf("%s: Run: %v", name, err)
		}
		if diff := cmp.Diff("503 [-]manager_test.overdue: broken\n", <-got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
