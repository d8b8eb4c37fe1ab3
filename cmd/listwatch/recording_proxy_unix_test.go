//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/exit"
)

// upstream is a server that writes down who asks.
type upstream struct {
	URL string

	mu   sync.Mutex
	seen []string // what identifies each request but those for /version
}

func newUpstream(t *testing.T) *upstream {
	u := &upstream{}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" || strings.HasSuffix(r.URL.Path, "/namespaces/kube-system") {
			http.NotFound(w, r)
			return
		}
		who := map[string][]string{}
		for name, values := range r.Header {
			if n := strings.ToLower(name); n == "authorization" || n == "cookie" || strings.HasPrefix(n, "impersonate") || strings.HasPrefix(n, "x-remote") {
				who[n] = values
			}
		}
		b, _ := json.Marshal(who)
		u.mu.Lock()
		u.seen = append(u.seen, r.Method+" "+r.URL.Path+" "+string(b))
		u.mu.Unlock()
		_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","items":[]}`)
	}))
	t.Cleanup(srv.Close)
	u.URL = srv.URL
	return u
}

// taken returns what was seen since the last call.
func (u *upstream) taken() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	seen := u.seen
	u.seen = nil
	return seen
}

// strangers are what a request may bring, of which nothing may get through.
var strangers = []string{
	"Authorization", "Bearer junk", "Impersonate-User", "admin", "Impersonate-Group", "system:masters", "Impersonate-Uid", "0",
	"Impersonate-Extra-Scopes", "all", "X-Remote-User", "admin", "X-Remote-Group", "system:masters", "X-Remote-Extra-A", "b", "Cookie", "session=1",
}

// TestRecordProxyHoldsItsIdentity: requests go to the server as the flags say, whatever
// they bring.
func TestRecordProxyHoldsItsIdentity(t *testing.T) {
	up := newUpstream(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"nobody": {nil, `{}`},
		"token":  {[]string{"--token", "ours"}, `{"authorization":["Bearer ours"]}`},
		"--as": {[]string{"--token", "ours", "--as", "readonly", "--as-uid", "7", "--as-group", "a", "--as-group", "b", "--as-user-extra", "scopes=view"},
			`{"authorization":["Bearer ours"],"impersonate-extra-scopes":["view"],"impersonate-group":["a","b"],"impersonate-uid":["7"],"impersonate-user":["readonly"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.lwrec.ndjson")
			rec := serveProgram(t, append([]string{"record", "proxy", "127.0.0.1:0", "--file", file, "-s", up.URL, "--insecure-skip-tls-verify"}, test.args...)...)
			up.taken()
			for _, header := range [][]string{nil, strangers} {
				if code, body := get(t, rec.url+"/api/v1/pods", header...); code != 200 {
					t.Errorf("%q: %d %s", header, code, body)
				}
				if diff := cmp.Diff([]string{"GET /api/v1/pods " + test.want}, up.taken()); diff != "" {
					t.Errorf("%q (-want +got):\n%s", header, diff)
				}
			}
		})
	}
}

// TestRecordProxyLendsEveryCredential: of a plugin, of a token file that rotates, a client
// certificate.
func TestRecordProxyLendsEveryCredential(t *testing.T) {
	up := newUpstream(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plugin := write("plugin", "#!/bin/sh\necho '"+`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"lent"}}`+"'\n")
	kubeconfig := write("config", fmt.Sprintf(`
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}}]
current-context: c
`, up.URL, plugin))
	rec := serveProgram(t, "record", "proxy", "127.0.0.1:0", "--file", filepath.Join(dir, "x.lwrec.ndjson"), "--kubeconfig", kubeconfig)
	up.taken()
	get(t, rec.url+"/api/v1/pods", strangers...)
	if diff := cmp.Diff([]string{`GET /api/v1/pods {"authorization":["Bearer lent"]}`}, up.taken()); diff != "" {
		t.Errorf("by a plugin (-want +got):\n%s", diff)
	}

	srv := apitest.NewWith(t, apitest.Options{ClientCerts: true})
	certified := write("certified", string(srv.Kubeconfig()))
	rec = serveProgram(t, "record", "proxy", "127.0.0.1:0", "--file", filepath.Join(dir, "y.lwrec.ndjson"), "--kubeconfig", certified)
	if code, body := get(t, rec.url+"/api/v1/pods", strangers...); code != 200 {
		t.Errorf("by a certificate: %d %s", code, body)
	}
}

// TestRecordProxyRefuses: web pages, what reaches beyond the API, and with --read-only
// whatever changes something.
func TestRecordProxyRefuses(t *testing.T) {
	up := newUpstream(t)
	start := func(args ...string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "x.lwrec.ndjson")
		rec := serveProgram(t, append([]string{"record", "proxy", "127.0.0.1:0", "--file", file, "-s", up.URL, "--insecure-skip-tls-verify"}, args...)...)
		up.taken()
		return rec.url
	}
	plain, reader, pages := start(), start("--read-only"), start("--allow-proxy-paths")
	for _, test := range []struct {
		at, method, path string
		header           []string
		code             int
	}{
		{plain, "GET", "/api/v1/namespaces/a/pods/proxy", nil, 200},
		{plain, "GET", "/api/v1/namespaces/proxy/pods/exec/log", nil, 200},
		{plain, "GET", "/apis/apps/v1/namespaces/a/deployments/exec/scale", nil, 200},
		{plain, "DELETE", "/api/v1/namespaces/a/pods/b", nil, 200},
		{plain, "GET", "/api/v1/pods?watch=false", nil, 200},
		{plain, "GET", "/", nil, 200},
		{plain, "POST", "/api/v1/namespaces/a/pods/b/exec", nil, 403},
		{plain, "GET", "/api/v1/namespaces/a/pods/b/exec?command=sh", nil, 403},
		{plain, "POST", "/api/v1/namespaces/a/pods/b/attach", nil, 403},
		{plain, "POST", "/api/v1/namespaces/a/pods/b/portforward", nil, 403},
		{plain, "GET", "/api/v1/namespaces/a/services/http:web:80/proxy/", nil, 403},
		{plain, "GET", "/api/v1/namespaces/a/services/web/proxy", nil, 403},
		{plain, "GET", "/api/v1/nodes/n/proxy/pods", nil, 403},
		{plain, "GET", "/api/v1/proxy/nodes/n/pods", nil, 403},
		{plain, "GET", "/apis/x.io/v1/namespaces/a/machines/b/portforward", nil, 403},
		{plain, "GET", "/api/v1/nodes/n/%70roxy/pods", nil, 403},
		{plain, "GET", "/api/v1//nodes/n/proxy/pods", nil, 403},
		{plain, "GET", "/api/v1/nodes/n/./proxy/pods", nil, 403},
		{plain, "GET", "/x/%2e%2e/api/v1/nodes/n/proxy", nil, 403},
		{plain, "GET", "/api/v1/nodes%2fn/proxy", nil, 403},
		{plain, "GET", "/api/v1/pods", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{plain, "GET", "/api/v1/pods", []string{"Origin", "https://example.com"}, 403},
		{plain, "GET", "/api/v1/pods", []string{"Host", "rebound.example:8001"}, 403},
		{plain, "GET", "/api/v1/pods", []string{"Upgrade", "websocket", "Connection", "Upgrade"}, 501},
		{reader, "GET", "/api/v1/pods", nil, 200},
		{reader, "DELETE", "/api/v1/namespaces/a", nil, 403},
		{reader, "POST", "/api/v1/namespaces/a/pods", nil, 403},
		{reader, "PATCH", "/api/v1/namespaces/a/pods/b", nil, 403},
		{reader, "GET", "/api/v1/namespaces/a/pods/b/exec?command=sh", nil, 403},
		{pages, "GET", "/api/v1/namespaces/a/services/web/proxy/x", nil, 200},
		{pages, "POST", "/api/v1/namespaces/a/pods/b/exec", nil, 403},
	} {
		code := send(t, test.method, test.at+test.path, test.header...)
		if reached := len(up.taken()) > 0; code != test.code || reached != (code == 200) {
			t.Errorf("%s %s %q: %d, upstream was reached: %t; want %d", test.method, test.path, test.header, code, reached, test.code)
		}
	}
}

// send returns the code of the answer. The path goes out as it is written.
func send(t *testing.T, method, at string, header ...string) int {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lines := []string{method + " " + strings.TrimPrefix(at, "http://"+u.Host) + " HTTP/1.1"}
	if !slices.Contains(header, "Host") {
		lines = append(lines, "Host: "+u.Host)
	}
	for i := 0; i < len(header); i += 2 {
		lines = append(lines, header[i]+": "+header[i+1])
	}
	if _, err := io.WriteString(c, strings.Join(lines, "\r\n")+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var code int
	if _, err := fmt.Fscanf(c, "HTTP/1.1 %d", &code); err != nil {
		t.Fatal(err)
	}
	return code
}

// TestRecordProxyAtASocket: for its owner only, gone at the end, and never in the place
// of a file that is there.
func TestRecordProxyAtASocket(t *testing.T) {
	up := newUpstream(t)
	dir, err := os.MkdirTemp("", "lw") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "api")
	args := []string{"record", "proxy", "unix:" + path, "--file", filepath.Join(dir, "x.lwrec.ndjson"), "-s", up.URL, "--insecure-skip-tls-verify"}
	rec := serveProgram(t, args...)
	if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer c.CloseIdleConnections()
	resp, err := c.Get("http://localhost/api/v1/pods")
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("through the socket: %v, %v", resp, err)
	}
	resp.Body.Close()
	c.CloseIdleConnections()
	rec.stop()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runProgram(t, nil, append(args, "--force")...); code != exit.CodeUsage || !strings.Contains(stderr, "the file exists") {
		t.Errorf("over a file: %d %s", code, stderr)
	}
	if b, err := os.ReadFile(path); string(b) != "mine" {
		t.Errorf("the file: %q, %v", b, err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 2 {
		t.Errorf("%v are left", left)
	}
}
