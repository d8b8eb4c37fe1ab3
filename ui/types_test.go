package ui

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// TestTypesOfABrokenVersionStay: a server that cannot say what is in a version may still serve it,
// also in the core group.
func TestTypesOfABrokenVersionStay(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		state := func() string {
			var types struct{ Types []wireType }
			w.open().get("api/types", &types)
			for _, k := range types.Types {
				if k.Type == "pods" {
					return k.State
				}
			}
			return ""
		}
		w.pass(time.Second)
		if got := state(); got != stateLive {
			t.Fatalf("at first pods are %q", got)
		}
		w.srv.On(apitest.Match{Path: "/api"}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
		})
		broken := w.srv.On(apitest.Match{Path: "/api/v1"}, faults.Answer(&kube.Status{Code: http.StatusServiceUnavailable}))
		w.pass(rediscover + time.Minute)
		if got := state(); got != stateLive || broken.Hits() == 0 {
			t.Errorf("while /api/v1 is not read, pods are %q (%d requests)", got, broken.Hits())
		}
	})
}
