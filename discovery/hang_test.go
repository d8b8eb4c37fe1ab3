package discovery_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/discovery"
)

// TestFetchGoesOnWithoutAGroupThatHangs: the others are there some seconds later, and the
// time that all take together is limited.
func TestFetchGoesOnWithoutAGroupThatHangs(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
		}
	}
	for _, tt := range []struct {
		name   string
		groups int // that do not respond
		answer http.HandlerFunc
		took   time.Duration
		rest   bool // is there
	}{
		{"one", 1, hang, 5 * time.Second, true},
		{"one that sends a byte each second", 1, drip, 5 * time.Second, true},
		{"more than are requested at a time", 20, hang, 15 * time.Second, true},
		{"very many", 1000, hang, 30 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewInMemory(t)
				var groups strings.Builder
				for i := range tt.groups {
					fmt.Fprintf(&groups, `{"name":"g%d.example.com","versions":[{"version":"v1"}]},`, i)
					srv.On(apitest.Match{Path: fmt.Sprintf("/apis/g%d.example.com/v1", i)}, tt.answer)
				}
				srv.On(apitest.Match{Path: "/apis"}, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(`{"kind":"APIGroupList","groups":[` + groups.String() + `{"name":"apps","versions":[{"version":"v1"}]}]}`))
				})
				c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
				if err != nil {
					t.Fatal(err)
				}
				defer c.CloseIdleConnections()
				begin := time.Now()
				api, err := discovery.Fetch(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin).Round(time.Second); took != tt.took {
					t.Errorf("after %s, want %s", took, tt.took)
				}
				broken := api.Broken()
				for i := range tt.groups {
					name := fmt.Sprintf("g%d.example.com/v1", i)
					if err := broken[name]; !errors.Is(err, client.ErrIdle) || !strings.Contains(err.Error(), "/apis/"+name) {
						t.Fatalf("broken[%s] = %v, want client.ErrIdle with the path", name, err)
					}
				}
				if _, err := api.Resolve("pods"); err != nil {
					t.Error(err)
				}
				if _, err := api.Resolve("deployments.apps"); (err == nil) != tt.rest {
					t.Errorf("what was requested last: %v, want it: %t", err, tt.rest)
				}
			})
		})
	}
}
