package replay_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// chunks are the pieces of all answers and their ends, with the time since their
// request.
func chunks(t *testing.T, r *replay.Recording) []string {
	t.Helper()
	out := map[int][]string{} // requests at the same time have no order
	sent, both := map[int]time.Duration{}, map[int]bool{}
	for _, e := range r.Entries {
		at := e.At - sent[e.ID]
		switch e.Kind {
		case replay.KindReq:
			sent[e.ID] = e.At
		case replay.KindChunk:
			b, err := e.Body()
			if err != nil {
				t.Fatal(err)
			}
			out[e.ID] = append(out[e.ID], fmt.Sprintf("%d %v %q", e.ID, at, b))
			both[e.ID] = strings.Contains(string(b), `"type":"ERROR"`)
		case replay.KindResp:
			out[e.ID] = append(out[e.ID], fmt.Sprintf("%d %v %d %s", e.ID, at, e.Code, e.Header.Get("Content-Type")))
		case replay.KindEnd:
			if both[e.ID] { // server and client end it at once: either may be first
				out[e.ID] = append(out[e.ID], fmt.Sprintf("%d ended after %d", e.ID, e.Bytes))
				continue
			}
			if e.Cause == replay.EndClient {
				at = 0 // nobody said when it should leave
			}
			out[e.ID] = append(out[e.ID], fmt.Sprintf("%d %v %s %d", e.ID, at, e.Cause, e.Bytes))
		}
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(out)) {
		all = append(all, out[id]...)
	}
	return all
}

// churn changes configMaps, half a second apart.
func churn(srv *apitest.Server, tag string) {
	for i := range 3 {
		srv.Put(kube.ConfigMaps, configMap(fmt.Sprint("a", i), tag))
		pass(500 * time.Millisecond)
	}
	srv.Put(kube.ConfigMaps, configMap("gone-"+tag, tag))
	pass(500 * time.Millisecond)
	srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "d", Name: "gone-" + tag})
	pass(500 * time.Millisecond)
}

// TestScriptPlaysASessionAsItWas: the engine's watcher sees the same events at the
// same times from a replay as from the server, however the traffic broke; and the
// replay, recorded again, has the same pieces.
func TestScriptPlaysASessionAsItWas(t *testing.T) {
	opening := apitest.Match{Verb: "watch", AfterEvent: 5}
	tests := []struct {
		name  string
		match apitest.Match
		fault http.HandlerFunc
		times int
		opts  watch.Options
		cause replay.Cause
	}{
		{"nothing", apitest.Match{Verb: "none"}, faults.Hang(), 0, watch.Options{}, ""},
		{"pages", apitest.Match{Verb: "none"}, faults.Hang(), 0, watch.Options{Initial: watch.Paged, Limit: 1}, ""},
		{"cut frames", opening, faults.CutEvent(30), 2, watch.Options{}, replay.EndCut},
		{"pieces", apitest.Match{Verb: "watch"}, faults.SplitRunes(), 0, watch.Options{}, ""},
		{"reset", opening, faults.Reset(), 2, watch.Options{}, replay.EndReset},
		{"gone", opening, faults.ErrorEvent(apitest.StatusExpired(1, 2)), 1, watch.Options{}, ""},
		{"no JSON", opening, faults.InvalidJSON(), 1, watch.Options{}, ""},
		{"no answer", apitest.Match{Verb: "list"}, faults.Hang(), 1, watch.Options{Initial: watch.Paged}, replay.EndClient},
		{"an error page", apitest.Match{Verb: "list"}, faults.HTML(503), 2, watch.Options{Initial: watch.Paged}, ""},
		{"throttled", apitest.Match{Verb: "list"}, faults.Throttle("7"), 2, watch.Options{Initial: watch.Paged}, ""},
		{"short", apitest.Match{Verb: "list"}, faults.Truncate(100), 1, watch.Options{Initial: watch.Paged}, replay.EndCut},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewInMemory(t)
				for i := range 3 {
					srv.Put(kube.ConfigMaps, configMap(fmt.Sprint("a", i), "0"))
				}
				fault := srv.On(tt.match, tt.fault).Times(tt.times)
				tt.opts.Backoff, tt.opts.BackoffMax = time.Second, time.Second

				var first file
				w := newWriter(t, &first, replay.Options{})
				c := newClient(t, proxied(t, w, srv))
				live := newLog(fault.Hits() == 0 && tt.match.Verb == "none")
				stop := watching(t.Context(), live, watch.New(configMaps(c), tt.opts))
				pass(3 * time.Minute)
				churn(srv, "1")
				churn(srv, "2")
				pass(time.Minute)
				stop()
				synctest.Wait() // the proxy notices it
				closed(t, w)
				if fault.Hits() == 0 && tt.match.Verb != "none" {
					t.Fatal("the fault never struck")
				}
				rec := load(t, first.bytes())
				if tt.cause != "" && !strings.Contains(strings.Join(chunks(t, rec), "\n"), " "+string(tt.cause)+" ") {
					t.Errorf("no answer ended by %s", tt.cause)
				}

				script := replay.NewScript(rec, replay.ScriptOptions{})
				var second file
				w2 := newWriter(t, &second, replay.Options{})
				cfg := serve(t, script)
				again := rerecord(t, w2, cfg)
				c2 := newClient(t, again)
				replayed := newLog(live.timed)
				stop = watching(t.Context(), replayed, watch.New(configMaps(c2), tt.opts))
				pass(6 * time.Minute)
				stop()
				synctest.Wait()
				closed(t, w2)
				if diff := cmp.Diff(live.all(), replayed.all()); diff != "" {
					t.Errorf("events (-live +replayed):\n%s", diff)
				}
				want := chunks(t, rec)
				for i := range want { // a network in memory cannot reset
					want[i] = strings.Replace(want[i], " reset ", " cut ", 1)
				}
				if diff := cmp.Diff(want, chunks(t, load(t, second.bytes()))); diff != "" {
					t.Errorf("pieces (-recorded +replayed):\n%s", diff)
				}
				if unknown := script.Unknown(); len(unknown) > 0 || script.Left() > 0 {
					t.Errorf("%d requests left, unknown %q", script.Left(), unknown)
				}
			})
		})
	}
}

// TestWriterCountsWhatIsRecorded, not what was dropped.
func TestWriterCountsWhatIsRecorded(t *testing.T) {
	for max, want := range map[int64][2]int{-1: {1, 1}, 10: {0, 0}} {
		w, err := replay.NewWriter(io.Discard, replay.Header{}, replay.Options{MaxBytes: max})
		if err != nil {
			t.Fatal(err)
		}
		srv := apitest.New(t)
		resp, err := (&http.Client{Transport: w.Transport(nil)}).Get(srv.URL + "/version")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := [2]int{w.Count(replay.KindReq), w.Count(replay.KindResp)}; got != want {
			t.Errorf("with %d bytes: %d requests and responses, want %d", max, got, want)
		}
		_ = w.Close() // it is full
	}
}
