package apitest_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// fate is what became of a request.
type fate struct {
	Code, Size int
	Broken     bool
	Took       time.Duration
}

// fates sends the same requests, one after the other, to a server with faults.
func fates(t *testing.T, n int, set func(*apitest.Server)) (all []fate) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true})
		for i := range 20 {
			srv.Put(kube.ConfigMaps, configMap(fmt.Sprint("x", i), "1"))
		}
		set(srv)
		for i := range n {
			path := configMaps + []string{"", "?watch=1&timeoutSeconds=2", "/x1"}[i%3]
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var f fate
			resp, err := send(ctx, srv, "GET", path, "", "Connection", "close")
			if err == nil {
				var b []byte
				b, err = io.ReadAll(resp.Body)
				resp.Body.Close()
				f.Code, f.Size = resp.StatusCode, len(b)
			}
			cancel()
			f.Broken, f.Took = err != nil, time.Since(start)
			all = append(all, f)
			time.Sleep(10 * time.Second)
		}
	})
	return all
}

func TestRandomFaultsAreThoseOfTheirSeed(t *testing.T) {
	random := func(seed uint64, o faults.RandomOptions) ([]fate, *faults.Random) {
		r, err := faults.NewRandom(seed, o)
		if err != nil {
			t.Fatal(err)
		}
		return fates(t, 150, func(srv *apitest.Server) { faults.Randomize(srv, r) }), r
	}
	one, r := random(1, faults.RandomOptions{})
	again, same := random(1, faults.RandomOptions{})
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("the same seed had another outcome:\n%s", diff)
	}
	if diff := cmp.Diff(r.Strikes(), same.Strikes()); diff != "" {
		t.Error(diff)
	}
	if n := len(r.Strikes()); n < 15 || n > 60 { // of 150, a third of them watches
		t.Errorf("%d strikes", n)
	}
	if two, _ := random(2, faults.RandomOptions{}); cmp.Equal(one, two) {
		t.Error("another seed had the same outcome")
	}

	// What it printed does the same again.
	if !strings.HasPrefix(r.String(), "# seed 1\n") {
		t.Errorf("%s", r)
	}
	rules, err := faults.Parse(r.String())
	if err != nil {
		t.Fatal(err)
	}
	replayed := fates(t, 150, func(srv *apitest.Server) {
		if _, err := faults.Apply(srv, rules); err != nil {
			t.Fatal(err)
		}
	})
	if diff := cmp.Diff(one, replayed); diff != "" {
		t.Errorf("the script of a random run does something else:\n%s", diff)
	}

	// Rates and limits.
	if _, r := random(1, faults.RandomOptions{Requests: -1, Streams: -1}); len(r.Strikes()) != 0 {
		t.Errorf("no strikes were asked for: %v", r)
	}
	if _, r := random(1, faults.RandomOptions{Requests: 1, Strikes: 7}); len(r.Strikes()) != 7 {
		t.Errorf("7 strikes were asked for: %v", r)
	}
	_, r = random(1, faults.RandomOptions{
		Requests: -1, Streams: 1, Events: 1, Match: apitest.Match{Namespace: "a"}, Actions: []faults.WeightedAction{{Weight: 1, Action: "cut  5"}, {Weight: 1, Action: "truncate 3"}}})
	for i, rule := range r.Strikes() {
		want := faults.Rule{Match: apitest.Match{Namespace: "a", Nth: i + 1, AfterEvent: 1}, Times: 1, Action: "cut 5"}
		if diff := cmp.Diff(want, rule); diff != "" || len(r.Strikes()) != 50 {
			t.Fatalf("strike %d of %d: %s", i, len(r.Strikes()), diff)
		}
	}
}

func TestRandomFaultsRefuseNonsense(t *testing.T) {
	for _, o := range []faults.RandomOptions{
		{Actions: []faults.WeightedAction{{Weight: 0, Action: "hang"}}},
		{Actions: []faults.WeightedAction{{Weight: 1, Action: "hung"}}},
		{Match: apitest.Match{Nth: 1}},
	} {
		if r, err := faults.NewRandom(1, o); err == nil || r != nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
