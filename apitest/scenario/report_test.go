package scenario_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/apitest/scenario"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestReportsOverTheNetworkNeedAType that no form has: the listener refuses the others,
// as of web pages. In memory, where there are no web pages, it does not.
func TestReportsOverTheNetworkNeedAType(t *testing.T) {
	run, err := scenario.Serve(t.Context(), "watch/ends", scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	codes := map[string]int{}
	for _, typ := range []string{"application/octet-stream", "application/json", "text/plain", "application/x-www-form-urlencoded"} {
		resp, err := run.Server.Client().Post(run.URL+"/scenario/report", typ, strings.NewReader("set d/a 1\n"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		codes[typ] = resp.StatusCode
	}
	want := map[string]int{"application/octet-stream": http.StatusOK, "application/json": http.StatusOK,
		"text/plain": http.StatusUnsupportedMediaType, "application/x-www-form-urlencoded": http.StatusUnsupportedMediaType}
	if !maps.Equal(codes, want) {
		t.Errorf("answered %v, want %v", codes, want)
	}
}

// TestRefusedReportsCountAgainstTheClient: a client that follows well, and whose reports
// the listener refuses, was not held to them, and does not pass. One that sends them
// again as it should does.
func TestRefusedReportsCountAgainstTheClient(t *testing.T) {
	const form = "application/x-www-form-urlencoded" // what curl -d sends
	for _, c := range []struct {
		name   string
		types  []string
		follow func(context.Context, *scenario.Run)
		want   string
	}{
		{"all are refused", []string{form, form}, naive{}.follow, "scenario \"gone/as-status\": fail: the server refused 2 of its reports (415) and accepted none: " +
			"a report needs a Content-Type that no form of a web page has, such as application/octet-stream"},
		{"sent again", []string{form, "application/octet-stream"}, ours[kube.Partial](watch.Options{}, client.EncodingAuto, false), "scenario \"gone/as-status\": pass: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run, err := scenario.Serve(t.Context(), "gone/as-status", scenario.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			for _, typ := range c.types {
				resp, err := run.Server.Client().Post(run.URL+"/scenario/report", typ, strings.NewReader("clear\n"))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			group.Go(func() { c.follow(ctx, run) })
			v := run.Wait(t.Context())
			cancel()
			group.Wait()
			if got := fmt.Sprintf("scenario %q: %s: %s", v.Scenario, v.Outcome, v.Reason); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
