package watch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// An adversary is a server that answers each LIST and each WATCH at once, by a
// short program that it repeats for ever.
type adversary struct {
	lists, watches []string // bodies; a number in front is the code, if it is not 200
	requests       int
	listed         int
	watched        int
	revision       int
	stop           func() // called after too many requests
	limit          int
}

func (a *adversary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.requests++; a.requests >= a.limit {
		a.stop()
	}
	a.revision++
	var answer string
	if r.URL.Query().Has("watch") {
		answer = a.watches[a.watched%len(a.watches)]
		a.watched++
	} else {
		answer = a.lists[a.listed%len(a.lists)]
		a.listed++
	}
	answer = strings.NewReplacer(
		"SAME", r.URL.Query().Get("resourceVersion"),
		"TOKEN", r.URL.Query().Get("continue"),
		"NEW", fmt.Sprint(1000+a.revision),
	).Replace(answer)
	code := http.StatusOK
	if n, err := fmt.Sscanf(answer, "%d", &code); n == 1 && err == nil {
		answer = answer[3:]
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, answer)
}

const (
	pageHead = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":`
	oneItem  = `{"metadata":{"namespace":"d","name":"a","uid":"u","resourceVersion":"7"}}`
	expired  = `"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`
)

func frame(typ, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", typ, object)
}

func object(revision string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"d","name":"a","uid":"u","resourceVersion":%q}}`, revision)
}

func mark(revision string) string {
	return frame("BOOKMARK", fmt.Sprintf(`{"kind":"ConfigMap","metadata":{"resourceVersion":%q,"annotations":{"k8s.io/initial-events-end":"true"}}}`, revision))
}

// What a LIST may be answered with.
var hostileLists = []string{
	pageHead + `{"resourceVersion":"7"},"items":[` + oneItem + `]}`,
	pageHead + `{"resourceVersion":"NEW"},"items":[` + oneItem + `]}`,
	pageHead + `{"resourceVersion":"7"},"items":[]}`,
	pageHead + `{"resourceVersion":"x"},"items":null}`,
	pageHead + `{},"items":[` + oneItem + `]}`,
	pageHead + `{"resourceVersion":"7","continue":"c"},"items":[` + oneItem + `]}`,
	pageHead + `{"resourceVersion":"7","continue":"d"},"items":[` + oneItem + `]}`,
	pageHead + `{"resourceVersion":"7","continue":"NEW"},"items":[` + oneItem + `,` + oneItem + `,` + oneItem + `]}`,
	pageHead + `{"resourceVersion":"7","continue":"NEW"},"items":[]}`,
	pageHead + `{"continue":"NEW"},"items":[]}`,
	`410{"metadata":{"continue":"NEW"},` + expired,
	`410{"metadata":{"continue":"TOKEN"},` + expired,
	`410{` + expired,
	`200{` + expired,
	`500`, `503{}`, `404page not found`, `403`, `429`, `200<html>`, `200`, `200{}`, `200{"kind":"ConfigMapList"`,
	`504{"kind":"Status","status":"Failure","reason":"Timeout","code":504,"message":"Too large resource version: 9, current: 5"}`,
}

// What a WATCH may be answered with.
var hostileWatches = []string{
	``,
	frame("ADDED", object("SAME")),
	frame("MODIFIED", object("7")),
	frame("MODIFIED", object("NEW")),
	frame("MODIFIED", object("1")),
	frame("MODIFIED", object("x")),
	frame("DELETED", object("")),
	frame("BOOKMARK", `{"kind":"ConfigMap","metadata":{"resourceVersion":"NEW"}}`),
	mark("NEW"), mark("SAME"), mark("7"), mark("x"), mark(""),
	mark("NEW") + frame("ADDED", object("NEW")),
	mark("NEW") + frame("ERROR", `{`+expired),
	frame("ADDED", object("NEW")) + mark("NEW") + frame("MODIFIED", object("NEW1")) + frame("ERROR", `{`+expired),
	frame("ERROR", `{`+expired),
	frame("MODIFIED", object("NEW")) + frame("ERROR", `{`+expired),
	frame("MODIFIED", object("NEW")) + frame("ERROR", `{"kind":"Status","code":500,"reason":"StorageReadError"}`),
	frame("MODIFIED", object("NEW")) + frame("ERROR", `{"kind":"Status","code":504,"reason":"Timeout","message":"Too large resource version"}`),
	frame("ERROR", `{"kind":"Status","code":504,"reason":"Timeout","message":"Too large resource version"}`),
	frame("MODIFIED", object("NEW")) + `garbage`,
	frame("MODIFIED", `{"metadata":{"namespace":"d","name":7,"resourceVersion":"NEW"}}`),
	frame("MYSTERY", `{}`), `{"type":`, `<html>`,
	`410{` + expired, `500`, `404`, `429`, `200{` + expired,
	`504{"kind":"Status","status":"Failure","reason":"Timeout","code":504,"message":"Too large resource version: 9, current: 5"}`,
}

// besiege runs a watcher against a for some minutes and checks the pace of its
// requests, and that its pauses are reported.
func besiege(t *testing.T, a *adversary, o watch.Options) {
	t.Helper()
	const minutes = 5
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true})
		srv.On(apitest.Match{}, a.ServeHTTP)
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial, Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), minutes*time.Minute)
		defer cancel()
		a.stop, a.limit = cancel, 5000
		reports, before := 0, 0
		minute := time.Now().Add(time.Minute)
		begun := time.Now()
		for _, err := range watch.New(client.Of[kube.Partial](c, kube.ConfigMaps), o).Events(ctx) {
			if err != nil {
				reports++
			}
			if now := time.Now(); now.After(minute) {
				// The first minute has what may be sent at once.
				if n := a.requests - before; n > 300 && minute.Sub(begun) > time.Minute {
					t.Errorf("%d requests in a minute", n)
				}
				before, minute = a.requests, now.Add(time.Minute)
			}
		}
		if a.requests >= a.limit {
			t.Errorf("%d requests within %v", a.requests, time.Since(begun))
		}
		if reports < (a.requests-120)/32 { // the machine's maxDebt is worth 30 requests
			t.Errorf("%d reports of %d requests", reports, a.requests)
		}
		c.CloseIdleConnections()
	})
}

// TestWatcherKeepsItsPaceWhateverAServerSays: no answers, alone or in turn, make
// the watcher send requests without a pause, or pause without a report.
func TestWatcherKeepsItsPaceWhateverAServerSays(t *testing.T) {
	modes := []watch.Initial{watch.Auto, watch.Paged, watch.Stream}
	run := func(name string, mode watch.Initial, lists, watches []string) {
		t.Run(name, func(t *testing.T) {
			besiege(t, &adversary{lists: lists, watches: watches}, watch.Options{Initial: mode})
			if t.Failed() {
				t.Logf("initial %q\nlists: %q\nwatches: %q", mode, lists, watches)
			}
		})
	}
	for i, l := range hostileLists {
		run(fmt.Sprint("list/", i), watch.Paged, []string{l}, []string{``})
		run(fmt.Sprint("list-then-410/", i), watch.Paged, []string{l}, hostileWatches[17:18])
	}
	for i, w := range hostileWatches {
		for _, mode := range modes[1:] {
			run(fmt.Sprintf("watch/%s/%d", mode, i), mode, hostileLists[:1], []string{w})
		}
	}
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		some := func(of []string) []string {
			got := make([]string, 1+rnd.IntN(4))
			for i := range got {
				got[i] = of[rnd.IntN(len(of))]
			}
			return got
		}
		run(fmt.Sprint("seed/", seed), modes[rnd.IntN(3)], some(hostileLists), some(hostileWatches))
	}
}

// TestWatcherReportsListsThatAreGone: a server whose lists are gone, again and
// again, is reported at each pause.
func TestWatcherReportsListsThatAreGone(t *testing.T) {
	for _, mode := range []watch.Initial{watch.Paged, watch.Stream} {
		t.Run(string(mode), func(t *testing.T) {
			play(t, watch.Options{Initial: mode}, func(t *testing.T, s *story) {
				s.srv.On(apitest.Match{Resource: "configmaps"}, faults.Answer(apitest.StatusExpired(1, 2)))
				s.start()
				s.pass(time.Minute)
				if n := len(s.srv.Requests()); len(s.errs) < n-1 || len(s.errs) == 0 {
					t.Fatalf("%d errors of %d requests", len(s.errs), n)
				}
				for _, err := range s.errs {
					if !errors.Is(err, kube.ErrGone) {
						t.Errorf("reported %v, want gone", err)
					}
				}
			})
		})
	}
}

// TestWatcherKeepsItsPaceWhenItsLoopIsLeft: a caller that leaves the loop at each error
// and calls Events again sends no more requests than one that stays, and asks for a
// stream that was refused once.
func TestWatcherKeepsItsPaceWhenItsLoopIsLeft(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.srv.On(apitest.Match{Query: "sendInitialEvents"}, faults.Answer(&kube.Status{Reason: "Invalid", Code: 422, Message: "no"}))
		s.srv.On(apitest.Match{Resource: "configmaps"}, faults.Answer(apitest.StatusInternal("no")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for ctx.Err() == nil {
			for _, err := range s.w.Events(ctx) {
				if err != nil {
					break
				}
			}
		}
		if n := len(s.srv.Requests()); n < 30 || n > 100 {
			t.Errorf("%d requests in a minute, want 30 and then one a second", n)
		}
		if s.counts.fallbacks != 1 {
			t.Errorf("Fallback was called %d times, want once", s.counts.fallbacks)
		}
	})
}

// TestWatcherTakesOptionsOfAnySize: the longest durations and the largest numbers
// mean what they say.
func TestWatcherTakesOptionsOfAnySize(t *testing.T) {
	const forever = time.Duration(math.MaxInt64)
	o := watch.Options{Timeout: forever, Idle: forever, MarkerTimeout: forever, Backoff: forever / 3, BackoffMax: forever, Limit: math.MaxInt, MaxItem: math.MaxInt}
	for _, mode := range []watch.Initial{watch.Paged, watch.Stream} {
		o.Initial = mode
		play(t, o, func(t *testing.T, s *story) {
			s.start()
			s.churn("0")
			s.pass(24 * time.Hour)
			s.toldOnce("0")
			s.equal()
			s.listings(1)
			if n := len(s.srv.Requests()); n > 2 {
				t.Errorf("%d requests in a day:\n%s", n, s.requests())
			}
			if err := s.srv.SetDoor(apitest.Refusing); err != nil {
				t.Fatal(err)
			}
			s.srv.Cut()
			s.pass(365 * 24 * time.Hour)
			if len(s.errs) != 1 {
				t.Errorf("%d attempts in a year, want the next in 97 years at the earliest", len(s.errs))
			}
		})
	}
}

// TestWatcherMistrustsAMarkWithoutARevision: there is nothing to watch from.
func TestWatcherMistrustsAMarkWithoutARevision(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.srv.On(apitest.Match{Verb: "watch", Query: "sendInitialEvents"}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, mark(""))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		s.start()
		s.pass(time.Minute)
		s.equal()
		s.listings(1)
		if !s.mentioned("without a resourceVersion") {
			t.Errorf("reported %v", s.errs)
		}
	})
}

// TestWatcherRefusesALargeStatus: what is reported is kept, so it is small.
func TestWatcherRefusesALargeStatus(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.srv.On(apitest.Match{Verb: "watch", Resource: "configmaps", AfterEvent: 5}, faults.ErrorEvent(apitest.StatusInternal(strings.Repeat("x", 1<<17)))).Times(1)
		s.start()
		s.churn("0")
		s.pass(time.Minute)
		s.equal()
		var st *kube.Status
		if len(s.errs) != 1 || errors.As(s.errs[0], &st) || !s.mentioned("an ERROR of 262") {
			t.Errorf("reported %.200v", s.errs)
		}
	})
}

// TestNamesThatNoObjectCanHaveAreQuarantined: in a list and in a watch, and the
// others are delivered.
func TestNamesThatNoObjectCanHaveAreQuarantined(t *testing.T) {
	bad := []string{
		`"name":"a/../b"`, `"name":".."`, `"name":"a\u001b]0;x\u0007"`, `"name":"a\u202eb"`, `"name":"` + strings.Repeat("x", 1<<16) + `"`,
		`"name":"a","namespace":"d\n"`, `"name":"a","uid":"u\u0000"`, `"name":"a","resourceVersion":"` + strings.Repeat("1", 1<<16) + `"`,
	}
	var items, frames []string
	for _, b := range append(bad, `"name":"good","resourceVersion":"8"`) {
		items = append(items, `{"metadata":{`+b+`}}`)
		frames = append(frames, frame("ADDED", `{"metadata":{`+b+`}}`))
	}
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true})
		a := &adversary{
			lists:   []string{pageHead + `{"resourceVersion":"7"},"items":[` + strings.Join(items, ",") + `]}`},
			watches: []string{strings.Join(frames, "")}, limit: 100, stop: func() {},
		}
		srv.On(apitest.Match{}, a.ServeHTTP)
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		col := client.Of[kube.Partial](c, kube.ConfigMaps)
		good, quarantined := 0, 0
		count := func(name string, err error) {
			var item *codec.ItemError
			switch {
			case errors.As(err, &item):
				quarantined++
				if !errors.Is(err, kube.ErrBadName) || len(err.Error()) > 700 || strings.ContainsAny(fmt.Sprint(item.Identity, err), "\x1b\x00\n\u202e") {
					t.Errorf("reported %.300q of %.300q", err, item.Identity)
				}
			case err != nil:
				t.Errorf("reported %v", err)
			case name == "good":
				good++
			}
		}
		for v, err := range list.New(col, list.Options{}).All(t.Context()) {
			count(v.Name, err)
		}
		for ev, err := range watch.New(col, watch.Options{Initial: watch.Paged}).Events(t.Context()) {
			count(ev.Key.Name, err)
			if good == 3 {
				break
			}
		}
		if quarantined != 3*len(bad) {
			t.Errorf("%d objects were quarantined, want %d", quarantined, 3*len(bad))
		}
		c.CloseIdleConnections()
	})
}
