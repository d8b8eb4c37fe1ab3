package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/kube"
)

// told returns the objects' lines of ndjson as "TYPE RESOURCE NAMESPACE/NAME", with
// what they were inferred by.
func told(t *testing.T, ndjson string) (lines []string) {
	t.Helper()
	for text := range strings.Lines(ndjson) {
		var l struct{ Type, Resource, Namespace, Name, Synthetic string }
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if l.Name != "" {
			lines = append(lines, strings.TrimSpace(l.Type+" "+l.Resource+" "+l.Namespace+"/"+l.Name+" "+l.Synthetic))
		}
	}
	return lines
}

// TestDowntime: what happened while nobody watched is told by the next run.
func TestDowntime(t *testing.T) {
	t.Parallel()
	crontabs := resources["crontabs"]
	put := func(srv *apitest.Server, r kube.Resource, namespace, name, value string) kube.Revision {
		return srv.Put(r, `{"metadata":{"namespace":"`+namespace+`","name":"`+name+`","labels":{"v":"`+value+`"}}}`)
	}
	gone := func(srv *apitest.Server, r kube.Resource, namespace, name string) {
		srv.Delete(r, kube.Key{Namespace: namespace, Name: name})
	}
	var backup kube.Revision
	for _, test := range []struct {
		name   string
		args   []string
		before func(*apitest.Server)
		while  func(*apitest.Server)
		until  string // a line of the next run, which is the last
		want   []string
		stderr string
	}{
		{"a namespace was deleted, and the history is lost", []string{"configmaps", "-n", "a"},
			func(srv *apitest.Server) {
				srv.Put(kube.Namespaces, `{"metadata":{"name":"a"}}`)
				put(srv, kube.ConfigMaps, "a", "x", "1")
				put(srv, kube.ConfigMaps, "a", "y", "1")
			},
			func(srv *apitest.Server) {
				gone(srv, kube.ConfigMaps, "a", "x")
				gone(srv, kube.ConfigMaps, "a", "y")
				gone(srv, kube.Namespaces, "", "a")
				srv.Expire()
			},
			`RELISTED`, []string{"DELETED configmaps a/x relist", "DELETED configmaps a/y relist"}, "relisted 0 objects: 2 deleted while away"},
		{"a type was deleted and made anew", []string{"crontabs.stable.example.com", "-A"},
			func(srv *apitest.Server) {
				srv.AddResource(apitest.ResourceInfo{Resource: crontabs})
				put(srv, crontabs, "a", "x", "1")
				put(srv, crontabs, "a", "y", "1")
			},
			func(srv *apitest.Server) {
				srv.RemoveResource(crontabs)
				srv.AddResource(apitest.ResourceInfo{Resource: crontabs})
				put(srv, crontabs, "a", "y", "2")
			},
			`RELISTED`, []string{"ADDED crontabs.stable.example.com a/y relist", "DELETED crontabs.stable.example.com a/x relist", "DELETED crontabs.stable.example.com a/y relist"}, "1 added, 2 deleted while away"},
		{"several streams", []string{"configmaps,secrets", "-n", "a,b"},
			func(srv *apitest.Server) {
				for _, ns := range []string{"a", "b", "c"} {
					put(srv, kube.ConfigMaps, ns, "x", "1")
					put(srv, kube.Secrets, ns, "x", "1")
				}
			},
			func(srv *apitest.Server) {
				put(srv, kube.ConfigMaps, "a", "new", "1")
				gone(srv, kube.Secrets, "b", "x")
				put(srv, kube.ConfigMaps, "b", "x", "2")
				put(srv, kube.ConfigMaps, "c", "x", "2")
				put(srv, kube.Secrets, "a", "last", "2")
			},
			`(?s)("type":"(ADDED|MODIFIED|DELETED)".*){4}`, []string{"ADDED configmaps a/new", "ADDED secrets a/last", "DELETED secrets b/x", "MODIFIED configmaps b/x"}, ""},
		{"several streams, the history being lost", []string{"configmaps,secrets", "-n", "a,b"},
			func(srv *apitest.Server) {
				for _, ns := range []string{"a", "b"} {
					put(srv, kube.ConfigMaps, ns, "x", "1")
					put(srv, kube.Secrets, ns, "x", "1")
				}
			},
			func(srv *apitest.Server) {
				put(srv, kube.ConfigMaps, "a", "new", "1")
				gone(srv, kube.Secrets, "b", "x")
				put(srv, kube.ConfigMaps, "b", "x", "2")
				srv.Expire()
			},
			`(?s)(RELISTED.*){4}`, []string{"ADDED configmaps a/new relist", "DELETED secrets b/x relist", "MODIFIED configmaps b/x relist"}, ""},
		{"the cluster was restored from a backup", []string{"configmaps", "-A", "--idle-timeout", "200ms"}, // then it asks where the server is
			func(srv *apitest.Server) {
				put(srv, kube.ConfigMaps, "a", "x", "1")
				backup = put(srv, kube.ConfigMaps, "a", "y", "1")
				put(srv, kube.ConfigMaps, "a", "x", "2")
				put(srv, kube.ConfigMaps, "a", "z", "1")
				gone(srv, kube.ConfigMaps, "a", "y")
			},
			func(srv *apitest.Server) { srv.RestoreTo(backup) },
			`RELISTED`, []string{"ADDED configmaps a/y relist", "DELETED configmaps a/z relist", "MODIFIED configmaps a/x relist"}, "the server was restored to an earlier state"},
		{"a namesake took the place of an object", []string{"configmaps", "-A"},
			func(srv *apitest.Server) { put(srv, kube.ConfigMaps, "a", "x", "1") },
			func(srv *apitest.Server) {
				gone(srv, kube.ConfigMaps, "a", "x")
				put(srv, kube.ConfigMaps, "a", "x", "1")
			},
			`"type":"ADDED"`, []string{"ADDED configmaps a/x", "DELETED configmaps a/x"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := apitest.New(t)
			test.before(srv)
			args := append([]string{"watch"}, test.args...)
			args = append(args, "-o", "ndjson", "--checkpoint", filepath.Join(t.TempDir(), "state"), "-s", srv.URL)
			if code, _, stderr := runProgram(t, nil, append(args, "--once")...); code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			test.while(srv)
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			out, errs, done, code := newTail(), newTail(), make(chan struct{}), 0
			go func() {
				defer close(done)
				code = run(ctx, args, func(string) string { return "" }, nil, out, errs)
			}()
			limit, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			found := out.wait(limit, done, regexp.MustCompile(test.until))
			stop(signals.Signal{Sig: syscall.SIGTERM})
			<-done
			if !found || code != 143 {
				t.Fatalf("exit code %d\n%s%s", code, out, errs)
			}
			got := told(t, out.String())
			slices.Sort(got) // streams come in no order
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s\n%s", diff, errs)
			}
			if !strings.Contains(errs.String(), test.stderr) {
				t.Errorf("stderr: %s", errs)
			}
			// All of it is told, and only once.
			if _, again, _ := runProgram(t, nil, append(args, "--once")...); len(told(t, again)) != 0 {
				t.Errorf("told again: %s", again)
			}
		})
	}
}

// TestDowntimeInWhichATypeWasDeleted: there is nothing to go on with, which is said, and
// the checkpoint stays for when it is back.
func TestDowntimeInWhichATypeWasDeleted(t *testing.T) {
	t.Parallel()
	crontabs := resources["crontabs"]
	srv := apitest.New(t)
	srv.AddResource(apitest.ResourceInfo{Resource: crontabs})
	srv.Put(crontabs, `{"metadata":{"namespace":"a","name":"x"}}`)
	args := []string{"watch", "crontabs", "-A", "-o", "ndjson", "--once", "--checkpoint", filepath.Join(t.TempDir(), "state"), "-s", srv.URL}
	if code, _, stderr := runProgram(t, nil, args...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	srv.RemoveResource(crontabs)
	if code, stdout, stderr := runProgram(t, nil, args...); code != 1 && code != 2 || stdout != "" || !strings.Contains(stderr, `"crontabs"`) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	srv.AddResource(apitest.ResourceInfo{Resource: crontabs})
	code, stdout, stderr := runProgram(t, nil, args...)
	if diff := cmp.Diff([]string{"DELETED crontabs.stable.example.com a/x relist"}, told(t, stdout)); code != 0 || diff != "" {
		t.Errorf("exit code %d; told (-want +got):\n%s\n%s", code, diff, stderr)
	}
}
