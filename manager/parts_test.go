package manager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/manager"
)

// journal is a logger whose lines are kept.
type journal struct {
	*slog.Logger
	mu   sync.Mutex
	text bytes.Buffer
}

func newJournal() *journal {
	j := &journal{}
	j.Logger = slog.New(slog.NewTextHandler(j, nil))
	return j
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// counts returns how many lines hold each text.
func (j *journal) counts(texts ...string) map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := make(map[string]int)
	for _, t := range texts {
		n[t] = strings.Count(j.text.String(), t)
	}
	return n
}

// panics returns what f panicked with.
func panics(f func()) (v string) {
	defer func() { v = fmt.Sprint(recover()) }()
	f()
	return ""
}

func TestNilIsRefusedWhereItIsGiven(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{})
		for want, f := range map[string]func(){
			"runner 2 of 2 that is added to the Manager is nil":                           func() { m.Add(w.maps, nil) },
			"runner 1 of 1 that is added to the Manager is nil":                           func() { m.AddLed(nil) },
			"runner 2 of 2 that is added to the Manager is a nil *controller.Controller[": func() { m.AddLed(w.maps, (*controller.Controller[kube.Key])(nil)) },
			"Options.Elector is a nil *lease.Elector":                                     func() { manager.New(manager.Options{Elector: (*lease.Elector)(nil)}) },
			"Options.Metrics is a nil http.HandlerFunc":                                   func() { manager.New(manager.Options{Metrics: http.HandlerFunc(nil)}) },
			"the readiness check mine is nil":                                             func() { m.CheckReady("mine", nil) },
		} {
			if got := panics(f); !strings.Contains(got, want) {
				t.Errorf("panic %q, want %q", got, want)
			}
		}
	})
}

func TestManagerRefusesTwoControllersOfOneName(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{})
		m.Add(&part{w: w, name: "cache"}, &part{w: w, name: "cache"})
		m.AddLed(noting(w, controller.Options[kube.Key]{}), noting(w, controller.Options[kube.Key]{}))
		if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `two controllers have the name "maps"`) {
			t.Errorf("Run: %v", err)
		}
		wantNotes(t, w)
	})
}

// An informer that was not added to the Manager keeps its controllers from working,
// which is an error at the end, when ctx ended it too.
func TestManagerNamesAnInformerThatNeverRan(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		j := newJournal()
		c := noting(w, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		controller.Owns(c, kube.ConfigMaps, w.secrets)
		m := manager.New(manager.Options{Logger: j.Logger})
		m.Add(w.maps)
		m.AddLed(c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := m.Run(ctx)
		if err == nil || !strings.Contains(err.Error(), "controller maps: no work was done: an informer was never run; add the informer of secrets to the Manager") {
			t.Errorf("Run: %v", err)
		}
		if n := j.counts("waiting for a cache"); n["waiting for a cache"] != 1 {
			t.Errorf("log:\n%s", j.text.String())
		}
	})
	run(t, func(t *testing.T, w *world) { // too early to say
		c := noting(w, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		m := manager.New(manager.Options{})
		m.AddLed(c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Run(ctx); err != nil {
			t.Errorf("Run, ended after a second: %v", err)
		}
	})
}

// An informer that ends by itself ends the Manager with its reason, unless it is
// optional.
func TestManagerEndsWithAnInformer(t *testing.T) {
	for _, optional := range []bool{false, true} {
		run(t, func(t *testing.T, w *world) {
			j := newJournal()
			w.put("x", strings.Repeat("x", 10_000))
			in := cache.New(client.Of[ConfigMap](w.client, kube.ConfigMaps), cache.Options[ConfigMap]{Budget: cache.NewBudget(1000)})
			m := manager.New(manager.Options{Logger: j.Logger})
			add := m.Add
			if optional {
				add = m.AddOptional
			}
			add(in)
			m.Add(&part{w: w, name: "other"})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			began := time.Now()
			time.AfterFunc(time.Minute, func() {
				if optional && !strings.HasSuffix(m.ReadyText(), "ok\n") {
					t.Errorf("readiness:\n%s", m.ReadyText())
				}
			})
			err := m.Run(ctx)
			switch {
			case optional && (err != nil || time.Since(began) != time.Hour):
				t.Errorf("Run: %v after %s", err, time.Since(began))
			case !optional && (!errors.As(err, new(*cache.BudgetError)) || !strings.Contains(err.Error(), "informer of configmaps")):
				t.Errorf("Run: %v", err)
			}
			wantNotes(t, w, "other begins", "other ends")
			if n := j.counts("part ended"); n["part ended"] != 1 {
				t.Errorf("log:\n%s", j.text.String())
			}
		})
	}
}

// A part that ends its goroutine is a part that has ended.
func TestManagerEndsWhenAPartCallsGoexit(t *testing.T) {
	for _, led := range []bool{false, true} {
		run(t, func(t *testing.T, w *world) {
			m := manager.New(manager.Options{StopTimeout: time.Second})
			bad := &part{w: w, name: "bad", f: func(context.Context) error { runtime.Goexit(); return nil }}
			if led {
				m.AddLed(bad)
			} else {
				m.Add(bad)
			}
			if err := m.Run(t.Context()); err == nil || err.Error() != "controller bad: it panicked or called runtime.Goexit" {
				t.Errorf("led %v, Run: %v", led, err)
			}
		})
	}
}

// With a logger the Manager makes all that it runs log changes of their state: rights
// that are revoked, leadership, Events that are refused. Once, and not for each retry.
func TestManagerPassesItsLogger(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		j := newJournal()
		e, err := lease.New(w.client, kube.Key{Namespace: "a", Name: "lock"}, lease.Options{Identity: "me"})
		if err != nil {
			t.Fatal(err)
		}
		recorder := events.New(w.client, events.Options{Component: "test"})
		runs := 0
		c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			recorder.Eventf(events.About(kube.ConfigMaps, ConfigMap{Meta: kube.Meta{Namespace: "a", Name: "x", UID: "u"}}), events.Normal, "Ran", "%d", runs)
			if runs++; runs == 1 {
				return controller.Result{}, errBroken
			}
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		m := manager.New(manager.Options{Elector: e, Logger: j.Logger})
		m.Add(w.maps, recorder)
		m.AddLed(c)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		w.Deny("", apitest.Match{Resource: "events"})
		time.Sleep(20 * time.Second)
		w.Deny("", apitest.Match{Resource: "configmaps"})
		w.Restart() // the watch ends
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if text := m.ReadyText(); !strings.Contains(text, "[-]informer of configmaps: stale: ") || !strings.Contains(text, "[-]controller maps: cache of configmaps: stale: ") || strings.HasSuffix(text, "\nok\n") {
			t.Errorf("readiness after half an hour without rights:\n%s", text)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		for text, want := range map[string]int{
			`msg="the lease does not exist: waiting until a leader that was cut off must have stopped"`: 1, "msg=leading": 1, `msg="the lease is released"`: 1,
			`msg="the run failed" controller=maps`: 1, `msg="event refused"`: 1,
			`msg="requests are refused; trying again" informer=configmaps reason=forbidden`:    1,
			`msg="no contact with the server: objects may be out of date" informer=configmaps`: 1,
		} {
			if n := j.counts(text)[text]; n != want {
				t.Errorf("%d lines with %s, want %d", n, text, want)
			}
		}
		if t.Failed() {
			t.Log(j.text.String())
		}
	})
}

// ringed is a part that takes part in a ring.
type ringed struct{ *lease.Ring }

func (r ringed) Run(ctx context.Context) error {
	return r.Ring.Run(ctx, func(context.Context, lease.Share) error { return nil })
}

// TestManagerPassesItsLoggerToARing that a part embeds.
func TestManagerPassesItsLoggerToARing(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		j := newJournal()
		r, err := lease.NewRing(w.client, kube.Key{Namespace: "a", Name: "ring"}, lease.Options{TakeMissing: true})
		if err != nil {
			t.Fatal(err)
		}
		m := manager.New(manager.Options{Logger: j.Logger})
		m.Add(ringed{r})
		allow := w.Deny("", apitest.Match{Resource: "leases"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		time.Sleep(time.Minute)
		allow()
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		for _, text := range []string{"requests for the lease are refused", `msg="the share of the ring changes" ring=a/ring`} {
			if j.counts(text)[text] == 0 {
				t.Errorf("no line with %s in\n%s", text, j.text.String())
			}
		}
	})
}

// Where the rights to the Lease are missing nobody ever leads: no replica is ready.
func TestManagerIsNotReadyWhileTheLeaseIsRefused(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		e, err := lease.New(w.client, kube.Key{Namespace: "a", Name: "lock"}, lease.Options{Identity: "me", TakeMissing: true})
		if err != nil {
			t.Fatal(err)
		}
		allow := w.Deny("", apitest.Match{Resource: "leases"})
		m := manager.New(manager.Options{Elector: e})
		m.AddLed(&part{w: w, name: "foo"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		time.Sleep(time.Minute)
		if text := m.ReadyText(); !strings.HasPrefix(text, "[-]leader election: requests for the lease a/lock are refused: ") || m.Leading() {
			t.Errorf("leading: %t; readiness:\n%s", m.Leading(), text)
		}
		allow()
		time.Sleep(time.Minute)
		if text := m.ReadyText(); text != "[+]leader election ok\nok\n" || !m.Leading() {
			t.Errorf("leading: %t; readiness:\n%s", m.Leading(), text)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
