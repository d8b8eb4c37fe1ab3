package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// deaf opens n connections to base, each of which sends a request for path and reads
// nothing of the answer.
func deaf(t *testing.T, base string, n int, path string) {
	t.Helper()
	deafTo(t, base, n, path, "")
}

// deafTo is deaf with lines of a header.
func deafTo(t *testing.T, base string, n int, path, header string) {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHostileReaders: 500 clients that read nothing of large answers do not make a server
// of the program hold 300 MB, and another client is still served.
func TestHostileReaders(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a%d","namespace":"default"},"data":{"a":%q}}`+"\n", i, strings.Repeat("x", 100_000))
	}
	dir := t.TempDir()
	file, recording := filepath.Join(dir, "objects.json"), filepath.Join(dir, "x.lwrec.ndjson")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	exe := built(t)
	serve := func(t *testing.T, args ...string) (c *child, base string) {
		c = newChild(t, args...)
		c.cmd.Path = exe
		c.start()
		out := c.stdout
		if args[0] == "ui" || args[0] == "watch" {
			out = c.stderr
		}
		c.until(out, address.String())
		return c, address.FindString(out.String())
	}
	_, base := serve(t, "fake", "serve", "-f", file)
	newChild(t, "record", "configmaps", "-n", "default", "--max-events", "100", "--file", recording, "-s", base).start().end(0)
	for _, c := range []struct {
		name, path, served string
		args               []string
	}{
		{"fake serve, lists", "/api/v1/configmaps", "/api/v1/namespaces/default/configmaps/a1", []string{"fake", "serve", "-f", file}},
		{"fake serve, watches", "/api/v1/configmaps?watch=1&resourceVersion=0", "/api/v1/configmaps", []string{"fake", "serve", "-f", file}},
		{"replay --serve", "/api/v1/configmaps", "/version", []string{"replay", recording, "--serve", "state", "--fast"}},
		{"ui", "/app.js", "/app.js", []string{"ui", "-s", base}},
		{"watch --listen", "/metrics", "/debug/state", []string{"watch", "configmaps", "-A", "-s", base, "-o", "none", "--listen", "127.0.0.1:0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, url := serve(t, c.args...)
			deaf(t, url, 500, c.path)
			settled(func() int64 { return residentPeak(p.cmd.Process.Pid) })
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+c.served, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if n, err := io.Copy(io.Discard, resp.Body); resp.StatusCode != http.StatusOK || n == 0 || err != nil {
				t.Errorf("another client gets %s, %d bytes, %v", resp.Status, n, err)
			}
			peak := residentPeak(p.cmd.Process.Pid)
			t.Logf("%d MB resident", peak>>20)
			if peak > memoryLimit {
				t.Errorf("%d MB resident", peak>>20)
			}
		})
	}
}

// TestHostileReadersOfEvents: clients that read nothing of a watch, each of which is sent
// another event of 900 KB, do not make the fake server hold 300 MB.
func TestHostileReadersOfEvents(t *testing.T) {
	const clients, objects = 200, "/api/v1/namespaces/default/configmaps"
	exe := built(t)
	for name, header := range map[string]string{
		"JSON":     "",
		"protobuf": "Accept: application/vnd.kubernetes.protobuf;stream=watch\r\n",
		"rows":     "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := newChild(t, "fake", "serve")
			p.cmd.Path = exe
			p.start()
			p.until(p.stdout, `http://127\.0\.0\.1:\d+`)
			base := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(p.stdout.String())
			write := func(i int) string {
				text := strings.Repeat(strconv.Itoa(i%10), 900_000)
				method, path := http.MethodPut, objects+"/a"
				if i == 0 {
					method, path = http.MethodPost, objects
				}
				return written(t, method, base+path, fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"a":%q}}`, text))
			}
			rv := write(0)
			for i := range clients {
				next := write(i + 1)
				deafTo(t, base, 1, objects+"?watch=1&includeObject=Object&resourceVersion="+rv, header)
				rv = next
			}
			settled(func() int64 { return residentPeak(p.cmd.Process.Pid) })
			write(clients + 1)
			peak := residentPeak(p.cmd.Process.Pid)
			t.Logf("%d MB resident", peak>>20)
			if peak > memoryLimit {
				t.Errorf("%d MB resident", peak>>20)
			}
		})
	}
}

// written writes an object and returns its resource version.
func written(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var o struct{ Metadata kube.Meta }
	if err := json.NewDecoder(resp.Body).Decode(&o); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v", method, url, resp.Status, err)
	}
	return o.Metadata.ResourceVersion
}

// settled waits until count has not changed for 2 s.
func settled(count func() int64) {
	for last := int64(-1); last != count(); {
		last = count()
		<-time.After(2 * time.Second)
	}
}

// TestHostileReadersOfTheProxy: answers to clients that do not read stay
// with the server, not in the memory of the proxy.
func TestHostileReadersOfTheProxy(t *testing.T) {
	var sent atomic.Int64
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/pods" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		piece := strings.Repeat(" ", 32<<10)
		for range 16 << 20 / len(piece) {
			n, err := io.WriteString(w, piece)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	t.Cleanup(up.CloseClientConnections)
	c := newChild(t, "record", "proxy", "127.0.0.1:0", "--file", filepath.Join(t.TempDir(), "x.lwrec.ndjson"), "-s", up.URL, "--insecure-skip-tls-verify")
	c.cmd.Path = built(t)
	c.start()
	c.until(c.stdout, `^http://\S+$`)
	deaf(t, strings.TrimSpace(c.stdout.String()), 500, "/api/v1/pods")
	settled(sent.Load)
	if sent.Load() < 1<<20 {
		t.Fatalf("the server has sent %d bytes only", sent.Load())
	}
	if peak := residentPeak(c.cmd.Process.Pid); peak > memoryLimit {
		t.Errorf("%d MB resident", peak>>20)
	}
}
