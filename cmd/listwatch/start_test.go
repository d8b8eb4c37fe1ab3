package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/kube"
)

// TestStartWaitsForTheServer: a run that goes on from another one, with a server that
// is away, and what else may come of it.
func TestStartWaitsForTheServer(t *testing.T) {
	door := func(d apitest.Door) func(*apitest.Server) func() {
		return func(srv *apitest.Server) func() {
			_ = srv.SetDoor(d)
			return func() { open(srv) }
		}
	}
	answers := func(m apitest.Match, h http.HandlerFunc) func(*apitest.Server) func() {
		return func(srv *apitest.Server) func() { return srv.On(m, h).Remove }
	}
	refused := door(apitest.Refusing)
	for _, test := range []struct {
		name  string
		first bool // nobody was there before
		away  func(*apitest.Server) (over func())
		flags []string
		code  int
		told  string // on stdout
		says  string // on stderr
		least time.Duration
	}{
		{name: "it comes back", away: refused, flags: []string{"--max-events", "1"},
			told: "MODIFIED node/a\n", says: "listwatch: start: cannot begin: discover the API: GET ", least: 2 * time.Minute},
		{name: "it is overloaded", away: answers(apitest.Match{}, faults.HTML(503)), flags: []string{"--max-events", "1"},
			told: "MODIFIED node/a\n", says: "listwatch: start: cannot begin: discover the API: GET ", least: 2 * time.Minute},
		{name: "only its identity cannot be asked for", away: answers(apitest.Match{Resource: "namespaces"}, faults.HTML(503)),
			flags: []string{"--max-events", "1"}, told: "MODIFIED node/a\n", says: "listwatch: start: cannot begin: identify the cluster: ", least: 2 * time.Minute},
		{name: "the time is over", away: refused, flags: []string{"--timeout", "30s"}, code: exit.CodeTimeout, says: "--timeout is over", least: 30 * time.Second},
		{name: "it refuses us", away: answers(apitest.Match{}, faults.HTML(403)), code: exit.CodeFailed, says: "listwatch: discover the API: "},
		{name: "its certificate is another", away: door(apitest.Untrusted), code: exit.CodeFailed, says: "certificate signed by unknown authority"},
		{name: "nobody was there before", first: true, away: refused, code: exit.CodeFailed, says: "listwatch: discover the API: "},
		{name: "two attempts are enough", away: refused, flags: []string{"--max-failures", "2"}, code: exit.CodeFailed, says: "again in ", least: firstWait},
		{name: "only a list is wanted", away: refused, flags: []string{"--once"}, code: exit.CodeFailed, says: "listwatch: discover the API: "},
		{name: "it is to begin anew", away: refused, flags: []string{"--reset-checkpoint"}, code: exit.CodeFailed, says: "listwatch: discover the API: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true})
				srv.Put(kube.Nodes, `{"metadata":{"name":"a"}}`)
				ca := filepath.Join(dir, "ca.pem")
				if err := os.WriteFile(ca, srv.CAPEM(), 0o600); err != nil {
					t.Fatal(err)
				}
				run := func(flags ...string) (code int, stdout, stderr string) {
					var out, errs bytes.Buffer
					p := &cli.Program{Env: func(string) string { return "" }, Stdout: &out, Stderr: &errs, Dial: srv.Dial,
						Args: append([]string{"watch", "nodes", "-o", "name", "--output-watch-events", "--checkpoint", filepath.Join(dir, "state"), "--certificate-authority", ca, "-s", srv.URL}, flags...)}
					return runCommand(context.Background(), p, strings.NewReader("")), out.String(), errs.String()
				}
				if !test.first {
					if code, stdout, stderr := run("--once"); code != 0 || stdout != "ADDED node/a\n" {
						t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
					}
				}
				srv.Put(kube.Nodes, `{"metadata":{"name":"a","labels":{"a":"b"}}}`)
				over := test.away(srv)
				srv.Cut()
				began := time.Now()
				time.AfterFunc(2*time.Minute, over)
				code, stdout, stderr := run(test.flags...)
				if code != test.code || stdout != test.told || !strings.Contains(stderr, test.says) {
					t.Errorf("exit code %d, want %d\n%s%s", code, test.code, stdout, stderr)
				}
				if took := time.Since(began); took < test.least || took > test.least+mostWait*2+time.Second || test.least == 0 && took > 0 {
					t.Errorf("it took %v, want at least %v", took, test.least)
				}
				<-time.After(2 * time.Minute) // the door
			})
		})
	}
}
