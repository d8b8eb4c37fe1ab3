package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// deaf opens n connections to base, each of which sends a request for path and reads
// nothing of the answer.
func deaf(t *testing.T, base string, n int, path string) {
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
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
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
	c := newChild(t, "record", "proxy", "127.0.0.1:0", "--file", filepath.Join(t.TempDir(), "x.lwrec.ndjson"), "-s", up.URL, "--insecure-skip-tls-verify").start()
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
