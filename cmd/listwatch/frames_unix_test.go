//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNetHTTPSaysNothing: net/http prints a line for each HTTP/2 frame of a type that it
// does not know, of which a server may send any number.
func TestNetHTTPSaysNothing(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			const settings, unknown = 4, 0x77
			_, _ = c.Write([]byte{0, 0, 0, settings, 0, 0, 0, 0, 0})
			_, _ = bufio.NewReader(c).Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
			_, _ = c.Write(bytes.Repeat([]byte{0, 0, 0, unknown, 0, 0, 0, 0, 0}, 1000))
			c.Close()
		}
	}()
	c := newChild(t, "list", "pods", "-s", "https://"+l.Addr().String(), "--insecure-skip-tls-verify").start()
	c.end(1)
	if text := c.stderr.String(); strings.Contains(text, "frame type") || strings.Count(text, "\n") > 5 {
		t.Errorf("stderr: %.1000s", text)
	}
}
