package scenario_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/scenario"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

func TestServeRefusesUnknownNames(t *testing.T) {
	if run, err := scenario.Serve(t.Context(), "tcp/none", scenario.Options{}); err == nil || run != nil {
		t.Errorf("%v", run)
	}
}

// TestOverSockets: what is played in memory elsewhere works over a real
// network, in real time, and for another resource in another namespace.
func TestOverSockets(t *testing.T) {
	for _, name := range []string{"gone/in-stream", "tcp/go-away"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, err := scenario.Serve(t.Context(), name, scenario.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			group.Go(func() { ours[kube.Partial](watch.Options{}, client.EncodingAuto, true)(ctx, run) })
			if v := run.Wait(t.Context()); v.Outcome != scenario.Pass {
				t.Error(v)
			}
			cancel()
			group.Wait()
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("the user has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		run, err := scenario.Serve(ctx, "tcp/reset", scenario.Options{Server: apitest.Options{InMemory: true}})
		if err != nil {
			t.Fatal(err)
		}
		hurry, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if v := run.Wait(hurry); v.Outcome != scenario.NotExercised || !strings.Contains(v.Reason, "given up: context deadline") {
			t.Error(v)
		}
		cancel(over)
		if v := run.Wait(t.Context()); v.Outcome != scenario.NotExercised || v.Reason != "given up: the user has gone" {
			t.Error(v)
		}
		run.Close()
		run.Close()
	})
}

// TestReportsAreHeldAgainstTheTruth: a client that follows well fails if it
// believes what is not so.
func TestReportsAreHeldAgainstTheTruth(t *testing.T) {
	for _, c := range []struct{ name, report, want string }{
		{"a wrong revision", "set default/object-0000 1", "default/object-0000 is at 101, reported \"1\""},
		{"a ghost", "set default/ghost 7", "default/ghost does not exist"},
		{"nothing", "clear", "default/object-0000 is at 101, reported \"\""},
		{"nonsense", "sit default/x 1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, _ := play(t, "gone/as-status", func(ctx context.Context, run *scenario.Run) {
				post := func(lines string) int {
					h := &http.Client{Transport: &http.Transport{DialContext: run.Server.Dial}}
					defer h.CloseIdleConnections()
					resp, err := h.Post(run.URL+"/scenario/report", "text/plain", strings.NewReader(lines))
					if err != nil {
						panic(err)
					}
					resp.Body.Close()
					return resp.StatusCode
				}
				if code := post(c.report); (code == http.StatusOK) != (c.want != "") {
					t.Errorf("code %d", code)
				}
				naive{}.follow(ctx, run)
			})
			if v.Outcome != scenario.Fail || !strings.Contains(v.Reason, c.want) {
				t.Error(v)
			}
		})
	}
}

// TestVerdictShowsWhatHappened: the reason, and the requests since the fault.
func TestVerdictShowsWhatHappened(t *testing.T) {
	v, log := play(t, "watch/ends", naive{relists: true}.follow)
	want := `watch/ends: fail: it asked for the whole collection again, without need
       +0.00s  resume  GET /api/v1/configmaps?allowWatchBookmarks=true&resourceVersion=103&watch=1 -> 200, 1 event, up to 104, ended after 0.30s
       +1.30s  list    GET /api/v1/configmaps?limit=500 -> `
	if !strings.HasPrefix(v.String(), want) { // the list may have been answered when it was judged
		t.Errorf("got\n%s\nwant\n%s", v, want)
	}
	for _, line := range []string{"* the client follows the collection\n", "* the watch ends\n", "list    GET /api/v1/configmaps?limit=500 -> 200, up to 103, ended after 0.00s\n"} {
		if !strings.Contains(log, line) {
			t.Errorf("the log lacks %q:\n%s", line, log)
		}
	}
}

// ExampleServe lets the engine of this module play one scenario, over loopback.
func ExampleServe() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var log bytes.Buffer
	run, err := scenario.Serve(ctx, "stream/refused", scenario.Options{Log: &log})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	var following sync.WaitGroup
	following.Go(func() { ours[kube.Partial](watch.Options{}, client.EncodingAuto, false)(ctx, run) })

	fmt.Println(run.Scenario.Summary)
	fmt.Println(run.Scenario.Correct)
	fmt.Println(run.Wait(ctx))
	cancel()
	following.Wait()
	// Output:
	// sendInitialEvents is answered 422, as by a server without streaming lists.
	// Lists instead, within 15 s.
	// stream/refused: pass
}
