package client_test

import (
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// TestRotatedCertificateIsUsedWithinAMinute, on new connections; a watch on an old
// one goes on, and takes its connection along when it ends.
func TestRotatedCertificateIsUsedWithinAMinute(t *testing.T) {
	onBoth(t, func(t *testing.T, plain bool) {
		ca := newAuthority(t)
		g, m := newGate(t, ca), newMount(t)
		more, ended := make(chan struct{}), make(chan struct{})
		g.serve = func(w http.ResponseWriter, r *http.Request) {
			name := r.TLS.PeerCertificates[0].Subject.CommonName
			say(w, name)
			if r.URL.Path == "/watch" {
				<-more
				say(w, name)
				<-r.Context().Done()
				close(ended)
			}
		}
		m.identity(ca, "one", ca)
		c := g.client(client.Config{TLS: m.tls(), DisableHTTP2: plain})
		watch, err := c.Do(t.Context(), &client.Request{Path: "/watch", Watch: true, Idle: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{get(t, c)}
		m.identity(ca, "two", ca)
		pass(59 * time.Second)
		got = append(got, get(t, c))
		g.check(2, "one", "one", "one")
		pass(time.Second)
		got = append(got, get(t, c), get(t, c))
		g.check(1, "two", "two")
		if diff := cmp.Diff([]string{"one", "one", "two", "two"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}

		close(more)
		b := make([]byte, 6)
		if _, err := io.ReadFull(watch.Body, b); err != nil || string(b) != "oneone" {
			t.Errorf("the watch read %q, %v", b, err)
		}
		watch.Body.Close()
		<-ended
	})
}

// TestRotatedCertificateIsUsedAfter401: a server closes nothing when a certificate
// expires, but answers 401 on the connection that showed it.
func TestRotatedCertificateIsUsedAfter401(t *testing.T) {
	onBoth(t, func(t *testing.T, plain bool) {
		ca := newAuthority(t)
		g, m := newGate(t, ca), newMount(t)
		m.identity(ca, "one", ca)
		c := g.client(client.Config{TLS: m.tls(), DisableHTTP2: plain})
		get(t, c)
		g.check(1, "one")
		g.refuse("one")
		if _, err := do(t.Context(), c, &client.Request{Path: "/"}); !errors.Is(err, kube.ErrUnauthorized) {
			t.Errorf("Do: %v", err)
		}
		g.check(0, "one") // nothing has changed: it is not sent again

		m.identity(ca, "two", ca)
		got, err := do(t.Context(), c, &client.Request{Method: http.MethodPost, Path: "/", Body: []byte("{1}")})
		if got != "two" || err != nil {
			t.Errorf("Do: %q, %v", got, err)
		}
		g.check(1, "one{1}", "two{1}")
		g.refuse("two")
		m.identity(ca, "one", ca)
		if _, err := do(t.Context(), c, &client.Request{Path: "/"}); !errors.Is(err, kube.ErrUnauthorized) {
			t.Errorf("Do: %v", err)
		}
		g.check(1, "two", "one") // once again, and no more
	})
}

// TestRotatedCertificateIsUsedAfterAnAlert of the handshake, in which the request was
// not heard, so that it is sent again whatever it is.
func TestRotatedCertificateIsUsedAfterAnAlert(t *testing.T) {
	onBoth(t, func(t *testing.T, plain bool) {
		before, after := newAuthority(t), newAuthority(t)
		g, m := newGate(t, before), newMount(t)
		m.identity(before, "one", before)
		c := g.client(client.Config{TLS: m.tls(), DisableHTTP2: plain})
		g.trust(before, after)

		_, err := do(t.Context(), c, &client.Request{Path: "/"})
		if err == nil || !strings.Contains(err.Error(), "unknown certificate authority") {
			t.Errorf("Do: %v", err)
		}
		pass(10 * time.Second) // net/http remembers a connection that was lost
		g.check(1)
		m.identity(after, "two", before)
		got, err := do(t.Context(), c, &client.Request{Method: http.MethodPost, Path: "/", Body: []byte("{1}")})
		if got != "two" || err != nil {
			t.Errorf("Do: %q, %v", got, err)
		}
		g.check(2, "two{1}")
	})
}

// TestWriteIsNotSentAgainUponALostConnection: it may have been heard. What is read
// again serves the next.
func TestWriteIsNotSentAgainUponALostConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, plain bool) {
		ca := newAuthority(t)
		g, m := newGate(t, ca), newMount(t)
		cut := true
		g.serve = func(w http.ResponseWriter, r *http.Request) {
			if cut {
				panic(http.ErrAbortHandler)
			}
		}
		m.identity(ca, "one", ca)
		c := g.client(client.Config{TLS: m.tls(), DisableHTTP2: plain})
		m.identity(ca, "two", ca)
		if _, err := do(t.Context(), c, &client.Request{Method: http.MethodPost, Path: "/"}); err == nil {
			t.Error("no error")
		}
		g.check(1, "one")
		cut = false
		get(t, c)
		g.check(1, "two")
	})
}

// TestRotatedAuthoritiesAreTrusted: at the first handshake that needs them.
func TestRotatedAuthoritiesAreTrusted(t *testing.T) {
	onBoth(t, func(t *testing.T, plain bool) {
		before, after := newAuthority(t), newAuthority(t)
		g, m := newGate(t, before), newMount(t)
		m.identity(before, "one", before)
		c := g.client(client.Config{TLS: m.tls(), DisableHTTP2: plain})
		if got := get(t, c); got != "one" {
			t.Error(got)
		}
		g.check(1, "one")
		g.trust(after, before)
		synctest.Wait()
		c.CloseIdleConnections()

		_, err := do(t.Context(), c, &client.Request{Path: "/"})
		if !errors.As(err, new(x509.UnknownAuthorityError)) {
			t.Errorf("Do: %v", err)
		}
		g.check(1)
		m.identity(before, "one", after)
		if got := get(t, c); got != "one" {
			t.Error(got)
		}
		g.check(2, "one")
	})
}

// TestHalfWrittenPairLeavesTheOldInUse until the other half is there.
func TestHalfWrittenPairLeavesTheOldInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		g, dir := newGate(t, ca), t.TempDir()
		write := func(name string, b []byte) {
			if err := os.WriteFile(dir+"/"+name, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cert, key := ca.issue(t, "one")
		write("cert", cert)
		write("key", key)
		var traced []string
		trace := &client.Trace{Rotated: func(err error) {
			if err == nil {
				err = errors.New("rotated")
			}
			traced = append(traced, err.Error())
		}}
		c := g.client(client.Config{Trace: trace, TLS: client.TLS{CAData: ca.pem, CertFile: dir + "/cert", KeyFile: dir + "/key"}})
		get(t, c)
		cert, key = ca.issue(t, "two")
		write("cert", cert)
		pass(time.Minute)
		if got := get(t, c); got != "one" {
			t.Error(got)
		}
		g.refuse("one")
		_, err := do(t.Context(), c, &client.Request{Path: "/"})
		if !errors.Is(err, kube.ErrUnauthorized) || !strings.Contains(err.Error(), "does not match") || strings.Count(err.Error(), "GET") != 1 {
			t.Errorf("Do with nothing to use: %v", err)
		}
		write("key", key)
		if got := get(t, c); got != "two" {
			t.Error(got)
		}
		if len(traced) != 3 || !strings.Contains(traced[0], "does not match") || traced[2] != "rotated" {
			t.Errorf("the trace got %q", traced)
		}
		for _, name := range []string{"cert", "key"} {
			write(name, nil)
			pass(time.Minute)
			if got := get(t, c); got != "two" {
				t.Errorf("with an empty %s: %s", name, got)
			}
		}
	})
}

// TestAuthoritiesThatCannotBeReadLeaveTheOldInUse, and are no reason to pass over the
// rest.
func TestAuthoritiesThatCannotBeReadLeaveTheOldInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		g, m := newGate(t, ca), newMount(t)
		m.identity(ca, "one", ca)
		c := g.client(client.Config{TLS: m.tls()})
		get(t, c)
		m.identity(ca, "two", &authority{pem: []byte("half")})
		pass(time.Minute)
		if got := get(t, c); got != "two" {
			t.Error(got)
		}
	})
}

// TestSameContentKeepsConnections: that a file was written says nothing.
func TestSameContentKeepsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		g, m := newGate(t, ca), newMount(t)
		cert, key := ca.issue(t, "one")
		m.put(map[string][]byte{"ca": ca.pem, "cert": cert, "key": key, "token": []byte("a")})
		c := g.client(client.Config{TLS: m.tls(), TokenFile: m.path("token")})
		get(t, c)
		for _, token := range []string{"a", "b"} { // a token is no matter of connections either
			m.put(map[string][]byte{"ca": ca.pem, "cert": cert, "key": key, "token": []byte(token)})
			pass(time.Minute)
			get(t, c)
		}
		g.check(1, "one Bearer a", "one Bearer a", "one Bearer b")
	})
}

func TestInlineDataNeverChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		g, m := newGate(t, ca), newMount(t)
		m.identity(ca, "file", ca)
		cfg := client.Config{TLS: m.tls()}
		cert, key := ca.issue(t, "inline")
		cfg.TLS.CAData, cfg.TLS.CertData, cfg.TLS.KeyData = bytes.Clone(ca.pem), cert, key
		c := g.client(cfg)
		m.identity(ca, "other", newAuthority(t))
		pass(time.Hour)
		if got := get(t, c); got != "inline" {
			t.Error(got)
		}
	})
}

// TestIsolatedRotatesToo: it is the same user with connections of its own.
func TestIsolatedRotatesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		g, m := newGate(t, ca), newMount(t)
		m.identity(ca, "one", ca)
		c := g.client(client.Config{TLS: m.tls()})
		isolated := c.Isolated()
		t.Cleanup(isolated.CloseIdleConnections)
		got := []string{get(t, c), get(t, isolated)}
		m.identity(ca, "two", ca)
		pass(time.Minute)
		got = append(got, get(t, c), get(t, isolated), get(t, c.Isolated()))
		g.check(5, got...)
		if diff := cmp.Diff([]string{"one", "one", "two", "two", "two"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		pass(2 * time.Minute) // until idle connections of the last are closed
	})
}
