package client_test

import (
	"encoding/json"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// TestDeleteGracePeriod: no time but 0 becomes 0 seconds, which removes a Pod at once.
func TestDeleteGracePeriod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		var got []int64
		srv.On(apitest.Match{Verb: "delete"}, func(w http.ResponseWriter, r *http.Request) {
			var options struct{ GracePeriodSeconds int64 }
			if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
				t.Error(err)
			}
			got = append(got, options.GracePeriodSeconds)
			apitest.WriteStatus(w, &kube.Status{Code: http.StatusNotFound, Reason: "NotFound"})
		})
		for _, d := range []time.Duration{0, 1, 400 * time.Millisecond, time.Second, 1400 * time.Millisecond, 30 * time.Second, -1, math.MaxInt64} {
			_ = client.Of[configMap](c, kube.Pods).Delete(t.Context(), web, client.DeleteOptions{GracePeriod: &d})
		}
		if diff := cmp.Diff([]int64{0, 1, 1, 1, 2, 30, -1, math.MaxInt64/int64(time.Second) + 1}, got); diff != "" {
			t.Errorf("seconds (-want +got):\n%s", diff)
		}
	})
}
