package apitest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// met sends a request and returns what the client saw: protocol, code and the serial
// number of the certificate, or why there was no answer.
func met(t *testing.T, srv *apitest.Server) string {
	t.Helper()
	resp, err := send(t.Context(), srv, http.MethodGet, configMaps, "")
	unknown, invalid := new(x509.UnknownAuthorityError), new(x509.CertificateInvalidError)
	switch {
	case errors.As(err, unknown):
		return "unknown authority"
	case errors.As(err, invalid) && invalid.Reason == x509.Expired:
		return "expired"
	case err != nil:
		return "lost"
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.Proto, " ", resp.StatusCode, " ", resp.TLS.PeerCertificates[0].SerialNumber)
}

func TestNewConnectionsMeetTheDoor(t *testing.T) {
	for _, c := range []struct {
		door apitest.Door
		want string
	}{
		{apitest.Untrusted, "unknown authority"},
		{apitest.Outdated, "expired"},
		{apitest.HTTP1, "HTTP/1.1 200 4"},
	} {
		story(t, apitest.Options{TLS: true}, func(t *testing.T, srv *apitest.Server) {
			got := []string{met(t, srv)}
			if err := srv.SetDoor(c.door); err != nil {
				t.Fatal(err)
			}
			got = append(got, met(t, srv)) // the connection stays
			srv.Client().CloseIdleConnections()
			got = append(got, met(t, srv))
			if err := srv.SetDoor(apitest.Open); err != nil {
				t.Fatal(err)
			}
			srv.Client().CloseIdleConnections()
			got = append(got, met(t, srv))
			if diff := cmp.Diff([]string{"HTTP/2.0 200 4", "HTTP/2.0 200 4", c.want, "HTTP/2.0 200 4"}, got); diff != "" {
				t.Errorf("door %d (-want +got):\n%s", c.door, diff)
			}
		})
	}
}

func TestRotationShowsOnNewConnections(t *testing.T) {
	story(t, apitest.Options{TLS: true}, func(t *testing.T, srv *apitest.Server) {
		// A client that resumes sessions: a resumed one would show the old certificate.
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(srv.CAPEM())
		config := &tls.Config{RootCAs: pool, ServerName: "apitest.invalid", ClientSessionCache: tls.NewLRUClientSessionCache(9)}
		serial := func() string {
			plain, err := srv.Dial(t.Context(), "tcp", "")
			if err != nil {
				t.Fatal(err)
			}
			c := tls.Client(plain, config)
			defer c.Close()
			fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if _, err := io.ReadAll(c); err != nil {
				t.Fatal(err)
			}
			state := c.ConnectionState()
			return fmt.Sprint(state.PeerCertificates[0].SerialNumber, " ", state.DidResume)
		}
		got := []string{serial(), serial(), met(t, srv)}
		srv.Rotate()
		got = append(got, serial(), serial(), met(t, srv))
		srv.Client().CloseIdleConnections()
		srv.Rotate()
		got = append(got, met(t, srv))
		want := []string{"4 false", "4 true", "HTTP/2.0 200 4", "5 false", "5 false", "HTTP/2.0 200 4", "HTTP/2.0 200 6"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The same by scripts: for ten seconds, of which a request is made in each six.
func TestScriptsChangeWhatConnectionsMeet(t *testing.T) {
	for _, c := range []struct {
		action string
		want   []string
	}{
		{"rotate", []string{"HTTP/2.0 200 4", "HTTP/2.0 200 4", "HTTP/2.0 200 5", "HTTP/2.0 200 5"}},
		{"http1 10s", []string{"HTTP/2.0 200 4", "lost", "HTTP/1.1 200 4", "HTTP/2.0 200 4"}},
		{"untrusted 10s", []string{"HTTP/2.0 200 4", "lost", "unknown authority", "HTTP/2.0 200 4"}},
		{"outdated 10s", []string{"HTTP/2.0 200 4", "lost", "expired", "HTTP/2.0 200 4"}},
		{"reset-all 10s", []string{"HTTP/2.0 200 4", "lost", "lost", "HTTP/2.0 200 4"}},
	} {
		t.Run(c.action, func(t *testing.T) {
			story(t, apitest.Options{TLS: true}, func(t *testing.T, srv *apitest.Server) {
				rules, err := faults.Parse("list nth=2: " + c.action)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := faults.Apply(srv, rules); err != nil {
					t.Fatal(err)
				}
				var got []string
				for range 4 {
					got = append(got, met(t, srv))
					time.Sleep(6 * time.Second)
					if len(got) > 1 {
						srv.Client().CloseIdleConnections()
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Without TLS the doors that are about certificates are open ones.
func TestDoorsOfTLSAreOpenWithoutIt(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.Rotate()
		for _, d := range []apitest.Door{apitest.Untrusted, apitest.Outdated, apitest.HTTP1} {
			if err := srv.SetDoor(d); err != nil {
				t.Fatal(err)
			}
			srv.Client().CloseIdleConnections()
			if code, _ := get(t, srv, configMaps); code != 200 {
				t.Errorf("door %d: %d", d, code)
			}
		}
	})
}

func TestTooLargeNamesTheRevisions(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "list"}, faults.TooLarge())
		for rv, want := range map[string]string{"": "104, current: 103", "0": "104, current: 103", "102": "102, current: 101"} {
			start := time.Now()
			code, body := get(t, srv, configMaps+"?resourceVersion="+rv)
			if code != 504 || !strings.Contains(body, "Too large resource version: "+want+`"`) || !strings.Contains(body, `"ResourceVersionTooLarge"`) || time.Since(start) != 0 {
				t.Errorf("at %q: %d %s", rv, code, body)
			}
		}
	})
}

// An object is replaced by a namesake while a client is away; a watch shows it, a
// list has it.
func TestRecreateInTheGap(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "watch", Nth: 2}, faults.Recreate())
		watch(t, srv, configMaps+"?watch=1&resourceVersion=102&timeoutSeconds=1").want("ADDED z 103", "EOF")
		_, before := get(t, srv, configMaps+"/x")
		watch(t, srv, configMaps+"?watch=1&resourceVersion=103&timeoutSeconds=1").want("DELETED x 104", "ADDED x 105", "EOF")
		_, after := get(t, srv, configMaps+"/x")
		if field(t, before, "metadata", "uid") == field(t, after, "metadata", "uid") || field(t, before, "data", "k") != field(t, after, "data", "k") {
			t.Errorf("before %s\nafter %s", before, after)
		}
	})
}

// What a client sends over a connection that is dead does not arrive.
func TestHalfOpenHoldsBothWays(t *testing.T) {
	story(t, apitest.Options{TLS: true}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "list"}, faults.HalfOpen())
		for _, method := range []string{http.MethodGet, http.MethodDelete} { // both on one connection
			path := configMaps
			if method == http.MethodDelete {
				path += "/x"
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if resp, err := send(ctx, srv, method, path, ""); err == nil {
				resp.Body.Close()
				t.Errorf("%s was answered", method)
			}
		}
		if srv.Get(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "x"}) == nil || len(srv.Requests()) != 1 {
			t.Errorf("the server heard %d requests", len(srv.Requests()))
		}
	})
}
