package apitest_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// TestWatchOfAClientThatLeavesEnds: also of one that has sent a byte more, which keeps
// net/http from reading on.
func TestWatchOfAClientThatLeavesEnds(t *testing.T) {
	for name, encrypted := range map[string]bool{"http": false, "https": true} {
		t.Run(name, func(t *testing.T) {
			srv := apitest.NewWith(t, apitest.Options{TLS: encrypted})
			ended := make(chan struct{})
			srv.On(apitest.Match{Verb: "watch"}, func(w http.ResponseWriter, r *http.Request) {
				context.AfterFunc(r.Context(), func() { close(ended) })
				apitest.Continue(w, r)
			})
			u, err := url.Parse(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if encrypted {
				roots := x509.NewCertPool()
				roots.AppendCertsFromPEM(srv.CAPEM())
				c = tls.Client(c, &tls.Config{RootCAs: roots, ServerName: u.Hostname()})
			}
			send := func(text string) {
				t.Helper()
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
			}
			send("GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				t.Fatal(err)
			}
			send("G")
			c.Close()
			<-ended
		})
	}
}
