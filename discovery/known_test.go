package discovery_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/discovery"
)

// tagged adds ETags to the responses of h, and notes the code of each response.
func tagged(h http.Handler, codes *[]int) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		tag := fmt.Sprintf("\"%x\"", sha256.Sum256(rec.Body.Bytes()))
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		w.Header().Set("ETag", tag)
		code := rec.Code
		if r.Header.Get("If-None-Match") == tag {
			code = http.StatusNotModified
		}
		mu.Lock()
		*codes = append(*codes, code)
		mu.Unlock()
		w.WriteHeader(code)
		if code == http.StatusOK {
			_, _ = w.Write(rec.Body.Bytes())
		}
	})
}

// TestKnownAsksForWhatHasChanged: documents that are current are not sent again, one that
// is damaged is, and what k describes is what the server serves.
func TestKnownAsksForWhatHasChanged(t *testing.T) {
	var codes []int
	ts := httptest.NewServer(tagged(&server{aggregated: "v2"}, &codes))
	t.Cleanup(ts.Close)
	c, err := client.New(client.Config{Server: ts.URL})
	if err != nil {
		t.Fatal(err)
	}
	var k discovery.Known
	if _, err := k.API(); !errors.Is(err, discovery.ErrNotKnown) {
		t.Errorf("API of nothing: %v", err)
	}
	want := slices.Collect(mustFetch(t, &server{aggregated: "v2"}).All())
	for _, step := range []struct {
		name   string
		before func()
		codes  []int
	}{
		{"first", func() {}, []int{200, 200}},
		{"unchanged", func() {}, []int{304, 304}},
		{"another ETag", func() { k.Core.ETag = `"x"` }, []int{200, 304}},
		{"damaged", func() { k.Groups.Body = []byte(`{"kind":`) }, []int{200, 304, 304}},
	} {
		codes = nil
		step.before()
		api, err := k.Fetch(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		slices.Sort(codes)
		if diff := cmp.Diff(step.codes, codes); diff != "" {
			t.Errorf("%s: codes (-want +got):\n%s", step.name, diff)
		}
		known, err := k.API()
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for _, got := range []*discovery.API{api, known} {
			if diff := cmp.Diff(want, slices.Collect(got.All())); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.name, diff)
			}
		}
	}
}

// TestKnownKeepsNoLegacyForm: a server without the aggregated form is asked each time.
func TestKnownKeepsNoLegacyForm(t *testing.T) {
	ts := httptest.NewServer(&server{})
	t.Cleanup(ts.Close)
	c, err := client.New(client.Config{Server: ts.URL})
	if err != nil {
		t.Fatal(err)
	}
	var k discovery.Known
	if _, err := k.Fetch(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(discovery.Known{}, k); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}
