package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
)

// goingAway is a server over HTTP/2 that ends each connection by GOAWAY at its first
// request, as one that it did not see. It counts the connections.
func goingAway(t *testing.T) (url string, connections *atomic.Int64) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				goAway(c)
				connections.Add(1)
			}()
		}
	}()
	return "https://" + l.Addr().String(), connections
}

func goAway(c net.Conn) {
	const settings, headers = 4, 1
	_, _ = c.Write([]byte{0, 0, 0, settings, 0, 0, 0, 0, 0})
	r := bufio.NewReader(c)
	_, _ = r.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		_, _ = r.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2]))
		if head[3] == headers {
			_, _ = c.Write([]byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) // GOAWAY, the last stream was 0
			return
		}
	}
}

// TestServerThatEndsEachConnection: net/http takes one connection after the other for the
// same request, for ever and without a pause.
func TestServerThatEndsEachConnection(t *testing.T) {
	for name, request := range map[string]func(*client.Client, string) error{
		"Do": func(c *client.Client, _ string) error {
			_, err := c.Do(context.Background(), &client.Request{Path: "/api/v1/pods"})
			return err
		},
		"RoundTrip": func(c *client.Client, url string) error {
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url+"/api/v1/pods", nil)
			if err == nil {
				_, err = c.RoundTripper().RoundTrip(r)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, connections := goingAway(t)
			c, err := client.New(client.Config{Server: url, TLS: client.TLS{Insecure: true}, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdleConnections()
			const want = "50 connections were opened for the request, and it got no response: the server ended them, or permits few requests on each"
			if err := request(c, url); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Error(err)
			}
			if n := connections.Load(); n > 2*50 {
				t.Errorf("%d connections", n)
			}
		})
	}
}
