//go:build unix

package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
)

// TestSignalsInEachPhase: the program ends with the code of the signal, wherever it is,
// and the next run repeats nothing.
func TestSignalsInEachPhase(t *testing.T) {
	t.Parallel()
	signals := []struct {
		sig  syscall.Signal
		code int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}}
	stalled := func(t *testing.T, srv *apitest.Server, verb, resource string) func(*child) {
		asked := make(chan struct{}, 100)
		srv.On(apitest.Match{Verb: verb, Resource: resource}, func(_ http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			<-r.Context().Done()
		})
		return func(*child) {
			select {
			case <-asked:
			case <-time.After(time.Minute):
				t.Error("it does not ask")
			}
		}
	}
	for i, phase := range []struct {
		name  string
		begin func(t *testing.T, srv *apitest.Server) (reached func(*child))
		told  string
	}{
		{"before anything is known", func(t *testing.T, srv *apitest.Server) func(*child) { return stalled(t, srv, "", "") }, ""},
		{"asking which cluster it is", func(t *testing.T, srv *apitest.Server) func(*child) { return stalled(t, srv, "get", "namespaces") }, ""},
		{"in the first list", func(t *testing.T, srv *apitest.Server) func(*child) { return stalled(t, srv, "list", "nodes") }, ""},
		{"in the watch", func(t *testing.T, srv *apitest.Server) func(*child) {
			return func(c *child) { c.until(c.stdout, "^ADDED node/n0001") }
		}, "ADDED"},
		{"in back-off", func(t *testing.T, srv *apitest.Server) func(*child) {
			return func(c *child) {
				c.until(c.stdout, "^ADDED node/n0001")
				if err := srv.WaitForWatches(t.Context(), 1); err != nil {
					t.Error(err)
				}
				if err := srv.SetDoor(apitest.Refusing); err != nil {
					t.Error(err)
				}
				srv.DropWatches()
				c.until(c.stderr, "connection refused")
			}
		}, "ADDED"},
	} {
		of := signals
		if phase.name != "in the watch" { // the signals do not differ in what they do
			of = signals[i%3 : i%3+1]
		}
		for _, s := range of {
			t.Run(fmt.Sprint(phase.name, " ", s.sig), func(t *testing.T) {
				t.Parallel()
				srv, names := crowd(t, 2)
				reached := phase.begin(t, srv)
				state := filepath.Join(t.TempDir(), "state")
				args := []string{"watch", "nodes", "-o", "name", "--output-watch-events", "--initial-list", "paged", "--checkpoint", state, "-s", srv.URL}
				c := newChild(t, args...).start()
				reached(c)
				c.signal(s.sig)
				c.end(s.code)
				told := ""
				if phase.told != "" {
					told = "ADDED node/" + names[0] + "\nADDED node/" + names[1] + "\n"
				}
				if got := c.stdout.String(); got != told {
					t.Errorf("stdout:\n%swant:\n%s", got, told)
				}
				if told == "" {
					return
				}
				if err := srv.SetDoor(apitest.Open); err != nil {
					t.Error(err)
				}
				if code, stdout, stderr := runProgram(t, nil, append(args, "--once")...); code != 0 || stdout != "" {
					t.Errorf("the next run: exit code %d\n%s%s", code, stdout, stderr)
				}
			})
		}
	}
}
