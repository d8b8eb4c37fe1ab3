package scenario_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest/scenario"
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
