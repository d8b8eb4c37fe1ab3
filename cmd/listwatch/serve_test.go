//go:build unix

package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestEveryListenerIsGuarded: no page of a browser on this machine gets an answer, under a
// name of its own, by an image, or by a form; a program does, also under a name that was
// allowed.
func TestEveryListenerIsGuarded(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"b"}}`})
	dir := t.TempDir()
	events, traffic := filepath.Join(dir, "events"), filepath.Join(dir, "traffic")
	if code, _, stderr := runProgram(t, nil, "record", "configmaps", "-A", "--file", events, "--max-events", "1", "-s", srv.URL); code != 0 {
		t.Fatalf("record: %d %s", code, stderr)
	}
	path := kube.ConfigMaps.Path("a")
	proxy := serveProgram(t, "record", "proxy", "127.0.0.1:0", "--file", traffic, "-s", srv.URL, "--accept-host", "ours.test")
	get(t, proxy.url+path)
	for name, test := range map[string]struct {
		path string
		args []string
	}{
		"fake":         {path, []string{"fake", "serve"}},
		"replay state": {path, []string{"replay", events, "--fast", "--serve", "state"}},
		"record":       {path, []string{"record", "proxy", "127.0.0.1:0", "--file", filepath.Join(dir, "more"), "-s", srv.URL}},
		"monitor":      {"/metrics", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var at string
			if test.args == nil {
				at = monitored(t, "watch", "configmaps", "-A", "-s", srv.URL, "--listen", "127.0.0.1:0", "--accept-host", "ours.test")
			} else {
				at = serveProgram(t, append(test.args, "--accept-host", "ours.test")...).url
			}
			for _, want := range []struct {
				code   int
				method string
				header []string
			}{
				{200, "GET", nil},
				{200, "GET", []string{"Host", "ours.test:80"}},
				{403, "GET", []string{"Host", "rebound.example"}},
				{403, "GET", []string{"Sec-Fetch-Site", "cross-site"}},
				{403, "GET", []string{"Origin", "https://example.com"}},
				{415, "POST", []string{"Content-Length", "2"}},
				{415, "POST", []string{"Content-Type", "text/plain", "Content-Length", "2"}},
			} {
				if code := send(t, want.method, at+test.path, want.header...); code != want.code {
					t.Errorf("%s %q: %d, want %d", want.method, want.header, code, want.code)
				}
			}
		})
	}
	proxy.stop()
	at := serveProgram(t, "replay", traffic, "--serve", "script", "--fast").url
	if code := send(t, "GET", at+path, "Host", "rebound.example"); code != 403 {
		t.Errorf("replay script: %d, want 403", code)
	}
}

// monitored runs the program, which says on stderr where it listens.
func monitored(t *testing.T, args ...string) (at string) {
	t.Helper()
	c := newChild(t, args...).start()
	re := regexp.MustCompile(`at (http://127\.0\.0\.1:\d+)`)
	c.until(c.stderr, re.String())
	return re.FindStringSubmatch(c.stderr.String())[1]
}
