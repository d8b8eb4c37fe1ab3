package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/kube"
)

// TestFirstRowWithinThreeRoundTrips: the two requests of discovery are made at once, and
// only the one of the first row follows. A second run needs none of them, or is answered
// "not modified"; a type that is served in another version meanwhile is found.
func TestFirstRowWithinThreeRoundTrips(t *testing.T) {
	home := t.TempDir()
	crontabs := resources["crontabs"]
	moved := crontabs
	moved.Version = "v2"
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true})
		srv.Put(kube.Nodes, `{"metadata":{"name":"a"}}`)
		srv.AddResource(apitest.ResourceInfo{Resource: crontabs})
		put := func(r kube.Resource) { srv.Put(r, `{"metadata":{"namespace":"default","name":"c"}}`) }
		put(crontabs)
		ca := filepath.Join(home, "ca.pem")
		if err := os.WriteFile(ca, srv.CAPEM(), 0o600); err != nil {
			t.Fatal(err)
		}
		const cold, confirmed = "/api 200, /apis 200", "/api 304, /apis 304"
		for _, step := range []struct {
			name   string
			before func()
			args   string
			want   string // requests; the two of discovery in any order
			prints string
		}{
			{"a list", func() {}, "list nodes", cold + ", /api/v1/nodes 200", "a"},
			{"a second list", func() {}, "list nodes", "/api/v1/nodes 200", "a"},
			{"the first state, whose first request decides whether it runs at all", func() {}, "watch nodes --once --no-headers", confirmed + ", /api/v1/nodes 200", "a"},
			{"a watch, which goes on for long", func() {}, "watch nodes --max-events 1 --no-headers", confirmed + ", /api/v1/nodes 200", "a"},
			{"a type in another version", func() {
				srv.RemoveResource(crontabs)
				srv.AddResource(apitest.ResourceInfo{Resource: moved})
				put(moved)
			}, "list crontabs", "/apis/stable.example.com/v1/namespaces/default/crontabs 404, /api 304, /apis 200, /apis/stable.example.com/v2/namespaces/default/crontabs 200", "c"},
			{"the same again", func() {}, "list crontabs", "/apis/stable.example.com/v2/namespaces/default/crontabs 200", "c"},
			{"a name that does not exist", func() {}, "list nodes x --ignore-not-found", "/api/v1/nodes/x 404", ""},
		} {
			step.before()
			srv.ForgetRequests()
			var out, errs bytes.Buffer
			p := &cli.Program{Env: func(k string) string { return map[string]string{"HOME": home}[k] }, Stdout: &out, Stderr: &errs, Dial: srv.Dial,
				Args: append(strings.Fields(step.args), "--certificate-authority", ca, "-s", srv.URL)}
			code := runCommand(context.Background(), p, strings.NewReader(""))
			synctest.Wait()
			var got []string
			for _, r := range srv.Requests() {
				got = append(got, fmt.Sprintf("%s %d", r.Path, r.Code))
				if n := len(got); r.Path == "/api" && n > 1 && strings.HasPrefix(got[n-2], "/apis ") {
					got[n-2], got[n-1] = got[n-1], got[n-2] // they are made at once
				}
			}
			if diff := cmp.Diff(step.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s: requests (-want +got):\n%s", step.name, diff)
			}
			if code != 0 || !strings.Contains(out.String(), step.prints) {
				t.Errorf("%s: exit code %d\n%s%s", step.name, code, out.String(), errs.String())
			}
		}
	})
}
