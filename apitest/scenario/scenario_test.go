package scenario_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/scenario"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// play plays a scenario with a client in virtual time. The client ends with its
// context.
func play(t *testing.T, name string, client func(ctx context.Context, run *scenario.Run)) (v scenario.Verdict, log string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		run, err := scenario.Serve(t.Context(), name, scenario.Options{Server: apitest.Options{InMemory: true}, Log: &out})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { client(ctx, run) })
		start := time.Now()
		v = run.Wait(t.Context())
		if took := time.Since(start); v.Outcome == scenario.Pass && took > run.Scenario.Limit {
			t.Errorf("it took %v, and the limit is %v", took, run.Scenario.Limit)
		}
		cancel()
		group.Wait()
		run.Close()
		log = out.String()
	})
	return v, log
}

// ours is our own engine as a client, which reports what its store holds.
func ours[T kube.Object](o watch.Options, encoding client.Encoding, informer bool) func(context.Context, *scenario.Run) {
	return func(ctx context.Context, run *scenario.Run) {
		c, err := client.New(client.Config{Server: run.URL, Dial: run.Server.Dial, TLS: client.TLS{CAData: run.Server.CAPEM()}, Encoding: encoding})
		if err != nil {
			panic(err)
		}
		defer c.CloseIdleConnections()
		maps := client.Of[T](c, kube.ConfigMaps)
		handle := func(d cache.Delta[T]) {
			line := fmt.Sprintf("set %s %s", d.Key, d.Revision)
			if d.Type == watch.Deleted {
				line = fmt.Sprintf("del %s", d.Key)
			}
			if err := run.Report(strings.NewReader(line)); err != nil {
				panic(err)
			}
		}
		if informer {
			i := cache.New(maps, cache.Options[T]{Watch: o})
			i.Handle(handle)
			i.Run(ctx)
			return
		}
		store := cache.NewStore[T]()
		for ev, err := range watch.New(maps, o).Events(ctx) {
			if err != nil {
				continue
			}
			for _, d := range store.Apply(ev) {
				handle(d)
			}
		}
	}
}

// configMap is a struct that both encodings fill.
type configMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data"`
}

// TestOurEnginePasses plays every scenario with our own watcher and informer, in JSON and
// in protobuf.
func TestOurEnginePasses(t *testing.T) {
	for _, engine := range []struct {
		name     string
		initial  watch.Initial
		protobuf bool
		follow   func(context.Context, *scenario.Run)
	}{
		{"metadata/initial=", watch.Auto, true, ours[kube.Partial](watch.Options{}, client.EncodingAuto, false)},
		{"metadata/JSON/initial=paged", watch.Paged, false, ours[kube.Partial](watch.Options{Initial: watch.Paged}, client.EncodingJSON, false)},
		{"struct/initial=", watch.Auto, true, ours[configMap](watch.Options{}, client.EncodingAuto, true)},
		{"struct/initial=paged", watch.Paged, true, ours[configMap](watch.Options{Initial: watch.Paged}, client.EncodingAuto, true)},
		{"struct/JSON/initial=", watch.Auto, false, ours[configMap](watch.Options{}, client.EncodingJSON, true)},
		{"raw/initial=paged", watch.Paged, false, ours[codec.Raw](watch.Options{Initial: watch.Paged}, client.EncodingAuto, true)},
	} {
		for _, s := range scenario.All() {
			t.Run(fmt.Sprintf("%s/%s", s.Name, engine.name), func(t *testing.T) {
				t.Parallel()
				binary := false
				v, log := play(t, s.Name, func(ctx context.Context, run *scenario.Run) {
					engine.follow(ctx, run)
					for _, r := range run.Server.Requests() {
						binary = binary || strings.HasPrefix(r.Header.Get("Accept"), protobuf.MediaType)
					}
				})
				want := scenario.Pass
				if engine.initial == watch.Paged && strings.HasPrefix(s.Name, "stream/") {
					want = scenario.NotExercised
				}
				if v.Outcome != want {
					t.Errorf("%s\n%s", v, log)
				}
				if binary != engine.protobuf {
					t.Errorf("protobuf was asked for: %t, want %t", binary, engine.protobuf)
				}
			})
		}
	}
}

// mistakes are clients that each scenario must find out: whoever cannot fail
// cannot judge.
func mistakes() map[string]naive {
	var (
		stops    = naive{stops: true}
		relists  = naive{relists: true}
		hammers  = naive{pause: 100 * time.Millisecond, noRetry: true}
		noRetry  = naive{noRetry: true}
		stubborn = naive{stubborn: true}
		patient  = naive{} // it has no timeouts
		chunks   = naive{chunks: true}
		lines    = naive{lines: true}
		streams  = naive{stream: true}
	)
	return map[string]naive{
		"tcp/reset": relists, "tcp/closed": stops, "tcp/refused": relists, "tcp/unanswered": patient, "tcp/half-open": patient,
		"tcp/half-open-http2": patient, "tcp/slow-line": {list: 2 * time.Second}, "tcp/go-away": relists, "tcp/stream-reset": relists,

		"http/429-watch": noRetry, "http/429-first": noRetry, "http/429-date": noRetry, "http/429-bare": hammers, "http/503-storm": hammers,
		"http/502-list": stops, "http/200-html": stops, "http/401-once": relists, "http/403-for-a-while": hammers, "http/500-once": stops,

		"frame/bytes": chunks, "frame/joined": chunks, "frame/split-runes": chunks, "frame/no-newline": lines, "frame/pretty": lines,
		"frame/blank-lines": lines, "frame/huge": lines, "frame/cut": {glimpses: true}, "frame/garbage": stops, "frame/unknown-type": stops,
		"frame/null-object": stops, "frame/deep": stops, "frame/poison": stops, "frame/garbage-again": hammers,

		"list/truncated": {trusting: true}, "list/truncated-gzip": {trusting: true}, "list/metadata-last": {itemRev: true},
		"list/empty-page": {firstPage: true}, "list/page-expired": {keeps: true}, "list/page-expired-for-good": {keeps: true},
		"list/pages-expire-always": {samePages: true}, "list/compacted": {firstPage: true}, "list/revision-moves": {lastRev: true},

		"stream/refused": streams, "stream/no-mark": streams, "stream/ignored": streams, "stream/broken": {stream: true, marked: true, keeps: true},

		"watch/ends": relists, "watch/ends-at-once": hammers, "watch/error-500": stops, "watch/error-429": relists,
		"watch/storage-read-error": {mistakable: true}, "bookmark/resumes": {unmarked: true}, "bookmark/goes-back": {goesBack: true},
		"bookmark/of-another-kind": patient,

		"gone/in-stream": stubborn, "gone/on-resume": stubborn, "gone/as-status": stubborn, "gone/again-and-again": hammers,
		"restart/nothing-missed": relists, "restart/something-missed": stubborn, "restore/refused": stubborn, "restore/silent": stubborn,
		"crd/recreated": stubborn,
	}
}

func TestEachScenarioFailsANaiveClient(t *testing.T) {
	all := mistakes()
	for _, s := range scenario.All() {
		client, ok := all[s.Name]
		if !ok {
			t.Errorf("%s: no mistake is known that it finds", s.Name)
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			v, log := play(t, s.Name, client.follow)
			if v.Outcome != scenario.Fail || v.Reason == "" || len(v.Requests) == 0 {
				t.Errorf("%s\n%s", v, log)
			}
		})
		delete(all, s.Name)
	}
	for name := range all {
		t.Errorf("there is no scenario %s", name)
	}
}

// TestNobodyIsNotJudged: without a client, and with one that does something
// else, nothing was exercised.
func TestNobodyIsNotJudged(t *testing.T) {
	for _, s := range scenario.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			v, log := play(t, s.Name, func(ctx context.Context, run *scenario.Run) { <-ctx.Done() })
			if v.Outcome != scenario.NotExercised || v.Reason == "" {
				t.Errorf("%s\n%s", v, log)
			}
		})
	}
}

// TestAFairClientPasses: the scenarios ask for no more than a client of 200
// lines can do. It lists in pages, resumes after a second, and has no timeouts
// and no backoff.
func TestAFairClientPasses(t *testing.T) {
	fails := map[string]string{
		"tcp/unanswered": "it waits for ever", "tcp/half-open": "it waits for ever", "tcp/half-open-http2": "it waits for ever", "restore/silent": "it waits for ever",
		"frame/garbage-again": "it does not back off", "gone/again-and-again": "it does not back off", "http/403-for-a-while": "it does not back off",
		"http/429-bare": "it does not back off", "restore/refused": "it does not know that answer",
		"bookmark/of-another-kind": "it takes any bookmark",
	}
	for _, s := range scenario.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			want := scenario.Pass
			switch {
			case strings.HasPrefix(s.Name, "stream/"):
				want = scenario.NotExercised
			case fails[s.Name] != "":
				want = scenario.Fail
			}
			if v, log := play(t, s.Name, naive{}.follow); v.Outcome != want {
				t.Errorf("want %v: %s\n%s", want, v, log)
			}
		})
	}
}

func TestScenariosAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	layers := map[string]int{}
	for _, s := range scenario.All() {
		if seen[s.Name] || s.Limit <= 0 || s.Limit > 350*time.Second || !strings.HasSuffix(s.Summary, ".") || !strings.HasSuffix(s.Correct, ".") {
			t.Errorf("%+v", s)
		}
		seen[s.Name] = true
		layers[s.Layer]++
	}
	for _, layer := range []string{"tcp", "http", "frame", "semantics"} {
		if layers[layer] < 5 {
			t.Errorf("%d scenarios of layer %s", layers[layer], layer)
		}
		delete(layers, layer)
	}
	if len(layers) > 0 || len(seen) < 30 {
		t.Errorf("%d scenarios, layers that nobody knows: %v", len(seen), layers)
	}
}

// TestAFairStreamPasses: it forgets what it has of a stream that breaks off among the initial
// objects. A client that takes the revision of one of them fails.
func TestAFairStreamPasses(t *testing.T) {
	for marked, want := range map[bool]scenario.Outcome{true: scenario.Pass, false: scenario.Fail} {
		if v, log := play(t, "stream/broken", naive{stream: true, marked: marked}.follow); v.Outcome != want {
			t.Errorf("marked is %t: want %v: %s\n%s", marked, want, v, log)
		}
	}
}
