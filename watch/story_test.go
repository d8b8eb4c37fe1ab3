package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// A story is a watcher and the fake apiserver it follows, in virtual time. The
// watcher runs in the background; the test changes the world, lets time pass,
// and looks.
type story struct {
	t      *testing.T
	srv    *apitest.Server
	client *client.Client
	w      *watch.Watcher[kube.Partial]
	store  *cache.RWStore[kube.Partial]
	stop   context.CancelFunc // nil before start
	done   chan struct{}
	ghost  string // an object that the server never had but the watcher received

	// Written by the watching goroutine; the test reads them when all is quiet.
	mu     sync.Mutex
	log    []string // what the store learnt, in order
	errs   []error  // what was yielded as errors
	ended  error    // the last element
	counts struct{ restarts, synced, fallbacks int }
}

// play runs a test of a watcher with options o.
func play(t *testing.T, o watch.Options, act func(*testing.T, *story)) {
	playOn(t, apitest.Options{}, o, act)
}

func playOn(t *testing.T, ao apitest.Options, o watch.Options, act func(*testing.T, *story)) {
	t.Helper()
	for name, encoding := range map[string]client.Encoding{"json": client.EncodingJSON, "auto": client.EncodingAuto} {
		t.Run(name, func(t *testing.T) { playAs(t, encoding, ao, o, act) })
	}
}

// playAs is playOn in one encoding: a Partial has a protobuf form.
func playAs(t *testing.T, encoding client.Encoding, ao apitest.Options, o watch.Options, act func(*testing.T, *story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ao.InMemory = true
		srv := apitest.NewWith(t, ao)
		for i := range 3 {
			srv.Put(kube.ConfigMaps, configMap(fmt.Sprint("first-", i), "0"))
		}
		cfg := client.Config{Server: srv.URL, Dial: srv.Dial, Timeout: 30 * time.Second, Encoding: encoding}
		if ao.TLS {
			cfg.TLS.CAData = srv.CAPEM()
		}
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := &story{t: t, srv: srv, client: c, store: cache.NewStore[kube.Partial]()}
		o.Trace.Fallback = func(error) { s.counts.fallbacks++ }
		s.w = watch.New(s.collection(), o)
		act(t, s)
		if s.stop != nil {
			s.stop()
			<-s.done
		}
		c.CloseIdleConnections()
	})
}

func (s *story) collection() client.Collection[kube.Partial] {
	return client.Of[kube.Partial](s.client, kube.ConfigMaps)
}

func configMap(name, value string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"d","name":%q,"labels":{"v":%q}},"data":{"v":%q}}`, name, value, value)
}

// start starts watching, and settles.
func (s *story) start() {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.stop, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		for ev, err := range s.w.Events(ctx) {
			s.take(ev, err)
		}
	}()
	synctest.Wait()
}

func (s *story) take(ev watch.Event[kube.Partial], err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = err
	if err != nil {
		s.errs = append(s.errs, err)
		if bad := (*codec.ItemError)(nil); errors.As(err, &bad) {
			s.store.Quarantine(ev)
		}
		return
	}
	switch ev.Type {
	case watch.Restart:
		s.counts.restarts++
	case watch.Synced:
		s.counts.synced++
	}
	for _, d := range s.store.Apply(ev) {
		line := fmt.Sprintf("%s %s", d.Type, d.Key.Name)
		if d.Inferred {
			line += " inferred"
		}
		s.log = append(s.log, line)
	}
}

// pass lets virtual time go by, and settles.
func (s *story) pass(d time.Duration) {
	s.look()
	<-time.After(d)
	synctest.Wait()
}

// look orders what the test read before what the watcher writes from now on, for
// the race detector: virtual time does not.
func (s *story) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

func (s *story) put(name, value string) {
	s.srv.Put(kube.ConfigMaps, configMap(name, value))
}

func (s *story) delete(name string) {
	s.srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "d", Name: name})
}

// churn makes a creation, an update and a deletion, named by tag.
func (s *story) churn(tag string) {
	s.put("new-"+tag, "1")
	s.put("first-0", tag)
	s.put("gone-"+tag, "1")
	s.delete("gone-" + tag)
	synctest.Wait()
}

// equal wants the store to be the server's state.
func (s *story) equal() {
	s.t.Helper()
	var want, got []string
	objects, _ := s.srv.List(kube.ConfigMaps)
	for _, b := range objects {
		o, err := codec.Decode[kube.Partial](b)
		if err != nil {
			s.t.Fatal(err)
		}
		want = append(want, o.Name+"@"+o.ResourceVersion+" "+o.UID)
	}
	for _, o := range s.store.All() {
		if o.Name == s.ghost {
			continue
		}
		got = append(got, o.Name+"@"+o.ResourceVersion+" "+o.UID)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("the store differs from the server (-server +store):\n%s\nerrors: %v\nrequests:\n%s", diff, s.errs, s.requests())
	}
}

// listings wants the collection to have been delivered n times, and no more requests
// for all of it than that.
func (s *story) listings(n int) {
	s.t.Helper()
	if s.counts.synced != n {
		s.t.Errorf("synced %d times, want %d; errors: %v\nrequests:\n%s", s.counts.synced, n, s.errs, s.requests())
	}
}

// delivered wants exactly these lines since the last call.
func (s *story) delivered(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.log); diff != "" {
		s.t.Errorf("learnt (-want +got):\n%s\nerrors: %v", diff, s.errs)
	}
	s.log = nil
}

// toldOnce wants every change of churn to have been learnt, each exactly once.
func (s *story) toldOnce(tag string) {
	s.t.Helper()
	for _, line := range []string{"ADDED new-" + tag, "ADDED gone-" + tag, "DELETED gone-" + tag} {
		n := 0
		for _, l := range s.log {
			if l == line {
				n++
			}
		}
		if n != 1 {
			s.t.Errorf("%q was delivered %d times, want 1; log: %q", line, n, s.log)
		}
	}
}

func (s *story) requests() string {
	var b strings.Builder
	for _, r := range s.srv.Requests() {
		fmt.Fprintf(&b, "%s %s ? %s -> %d, %d events\n", r.Verb, r.Path, r.Query.Encode(), r.Code, r.Events)
	}
	return b.String()
}

// count counts requests of verb whose query has each of the given parameters.
func (s *story) count(verb string, params ...string) int {
	n := 0
	for _, r := range s.srv.Requests() {
		ok := r.Verb == verb
		for _, p := range params {
			ok = ok && r.Query.Has(p)
		}
		if ok {
			n++
		}
	}
	return n
}

// mentioned reports whether an error with text was yielded.
func (s *story) mentioned(text string) bool {
	return slices.ContainsFunc(s.errs, func(err error) bool { return err != nil && strings.Contains(err.Error(), text) })
}
