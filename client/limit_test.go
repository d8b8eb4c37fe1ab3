package client_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

func TestHeadersAreLimited(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		ca := newAuthority(t)
		size := 0
		url := ca.serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", size)) })
		c := newClient(t, client.Config{Server: url, TLS: client.TLS{CAData: ca.pem}, DisableHTTP2: protocol == "HTTP/1.1"})
		size = 200 << 10
		resp, err := c.Do(t.Context(), &client.Request{Path: "/"})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.Proto != protocol {
			t.Errorf("it speaks %s", resp.Proto)
		}
		size = 300 << 10
		if _, err := do(t.Context(), c, &client.Request{Path: "/"}); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: headers of 300 KiB: %.1000v", protocol, err)
		}
	}
}

// bomb answers with what is small on the wire and has no end.
func bomb(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	if r.URL.Path == "/error" {
		w.WriteHeader(http.StatusInternalServerError)
	}
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err == nil {
		_, err = io.WriteString(zip, `{"message":"`)
	}
	for piece := bytes.Repeat([]byte("x"), 1<<20); err == nil; {
		_, err = zip.Write(piece) // until the client has had enough
	}
}

func TestCompressedAnswersAreLimited(t *testing.T) {
	c := newClient(t, client.Config{Server: newServer(t, bomb), Compression: "gzip"})
	if _, err := c.Do(t.Context(), &client.Request{Path: "/error"}); !errors.Is(err, kube.ErrUnavailable) || len(err.Error()) > 1000 {
		t.Errorf("an error: %.1000v", err)
	}
	_, err := client.Of[kube.Partial](c, kube.Pods).Get(t.Context(), kube.Key{Namespace: "a", Name: "b"})
	if err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("an object: %.1000v", err)
	}
}

// TestCancelEndsACompressedBody, of which a thousand times more has arrived than was read.
func TestCancelEndsACompressedBody(t *testing.T) {
	c := newClient(t, client.Config{Server: newServer(t, bomb), Compression: "gzip"})
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := c.Do(ctx, &client.Request{Path: "/", Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	piece := make([]byte, 1000)
	if _, err := io.ReadFull(resp.Body, piece); err != nil {
		t.Fatal(err)
	}
	cancel()
	n, err := io.Copy(io.Discard, resp.Body)
	if !errors.Is(err, context.Canceled) || n > 64<<10 {
		t.Errorf("%d bytes more, %v", n, err)
	}
}
