package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// source is a Source as a function.
type source func(ctx context.Context, refused *client.Credential) (*client.Credential, error)

func (s source) Credential(ctx context.Context, refused *client.Credential) (*client.Credential, error) {
	return s(ctx, refused)
}

// credential has a token and, where name is set, a certificate of ca.
func credential(t *testing.T, ca *authority, name, token string) *client.Credential {
	t.Helper()
	c := &client.Credential{Token: token}
	if name != "" {
		pair, err := tls.X509KeyPair(ca.issue(t, name))
		if err != nil {
			t.Fatal(err)
		}
		c.Certificate = &pair
	}
	return c
}

// TestSourceIsAskedBeforeEachRequest: another token needs no other connection,
// another certificate does, and a watch on the old one goes on.
func TestSourceIsAskedBeforeEachRequest(t *testing.T) {
	onBoth(t, func(t *testing.T, plain bool) {
		ca := newAuthority(t)
		g := newGate(t, ca)
		more := make(chan struct{})
		g.serve = func(w http.ResponseWriter, r *http.Request) {
			say(w, "x")
			if r.URL.Path == "/watch" {
				<-more
				say(w, "y")
			}
		}
		one := credential(t, ca, "one", "a")
		// The same certificate, parsed again, as a plugin does that prints both.
		again := &client.Credential{Token: "b", Certificate: &tls.Certificate{Certificate: one.Certificate.Certificate, PrivateKey: one.Certificate.PrivateKey}}
		now := one
		c := g.client(client.Config{DisableHTTP2: plain, TLS: client.TLS{CAData: ca.pem}, Credentials: source(func(_ context.Context, refused *client.Credential) (*client.Credential, error) {
			if refused != nil {
				t.Error("it gets a refusal")
			}
			return now, nil
		})})
		watch, err := c.Do(t.Context(), &client.Request{Path: "/watch", Watch: true, Idle: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		get(t, c)
		now = again
		get(t, c)
		g.check(2, "one Bearer a", "one Bearer a", "one Bearer b")
		now = credential(t, ca, "two", "")
		get(t, c)
		now = &client.Credential{}
		get(t, c)
		g.check(2, "two", "nobody")
		close(more)
		if b, err := io.ReadAll(watch.Body); string(b) != "xy" || err != nil {
			t.Errorf("the watch read %q, %v", b, err)
		}
		watch.Body.Close()
	})
}

func TestSourceIsAskedOnceAfter401(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		old, fresh, broken := credential(t, ca, "", "old"), credential(t, ca, "two", "new"), errors.New("the plugin failed")
		for _, tt := range []struct {
			name string
			then *client.Credential // what is given in place of old
			err  error
			seen []string
			want []error
		}{
			{"another", fresh, nil, []string{"nobody Bearer old{1}", "two Bearer new{1}"}, nil},
			{"the same", old, nil, []string{"nobody Bearer old{1}"}, []error{kube.ErrUnauthorized}},
			{"another that is refused", &client.Credential{Token: "old"}, nil, []string{"nobody Bearer old{1}", "nobody Bearer old{1}"}, []error{kube.ErrUnauthorized}},
			{"none", nil, broken, []string{"nobody Bearer old{1}"}, []error{kube.ErrUnauthorized, broken}},
		} {
			g := newGate(t, ca)
			g.refuse("nobody Bearer old")
			var asked []*client.Credential
			c := g.client(client.Config{TLS: client.TLS{CAData: ca.pem}, Credentials: source(func(_ context.Context, refused *client.Credential) (*client.Credential, error) {
				asked = append(asked, refused)
				if refused != nil {
					return tt.then, tt.err
				}
				return old, nil
			})})
			_, err := do(t.Context(), c, &client.Request{Method: http.MethodPost, Path: "/", Body: []byte("{1}")})
			for _, want := range tt.want {
				if !errors.Is(err, want) {
					t.Errorf("%s: %v; want %v", tt.name, err, want)
				}
			}
			if tt.want == nil && err != nil || err != nil && strings.Count(err.Error(), "POST https://memory.test/") != 1 {
				t.Errorf("%s: %v", tt.name, err)
			}
			g.check(map[bool]int{false: 1, true: 2}[tt.then == fresh], tt.seen...)
			if len(asked) != 2 || asked[0] != nil || asked[1] != old {
				t.Errorf("%s: asked with %p", tt.name, asked)
			}
		}
	})
}

// TestSourceHandlesARefusedCertificate in the handshake; not of a server
// that we do not trust.
func TestSourceHandlesARefusedCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, other := newAuthority(t), newAuthority(t)
		g := newGate(t, ca)
		old, fresh := credential(t, other, "one", ""), credential(t, ca, "two", "")
		now, refusals := old, 0
		c := g.client(client.Config{DisableHTTP2: true, TLS: client.TLS{CAData: ca.pem}, Credentials: source(func(_ context.Context, refused *client.Credential) (*client.Credential, error) {
			if refused == old {
				now = fresh
				refusals++
			}
			return now, nil
		})})
		if got := get(t, c); got != "two" {
			t.Error(got)
		}
		g.check(2, "two")
		g.trust(other, ca)
		synctest.Wait()
		c.CloseIdleConnections()
		if got := get(t, c); !strings.Contains(got, "unknown authority") || refusals != 1 {
			t.Errorf("%d refusals, %s", refusals, got)
		}
		g.check(1)
	})
}

func TestErrorOfASourceIsNotRetried(t *testing.T) {
	broken := errors.New("aws: command not found")
	asked := 0
	c := newClient(t, client.Config{Server: "https://127.0.0.1:1", Credentials: source(func(context.Context, *client.Credential) (*client.Credential, error) {
		asked++
		return nil, broken
	})})
	_, err := c.Do(t.Context(), &client.Request{Path: "/x"})
	if !errors.Is(err, broken) || err.Error() != "GET https://127.0.0.1:1/x: "+broken.Error() || asked != 1 {
		t.Errorf("Do: %v, asked %d times", err, asked)
	}
}

func TestSourceThatGivesNonsense(t *testing.T) {
	for _, tt := range []struct {
		cred *client.Credential
		want string
	}{
		{nil, "neither a credential nor an error"},
		{&client.Credential{Token: "sesame\nX"}, "line break"},
		{&client.Credential{Token: "sesame\x00"}, "printable ASCII"},
	} {
		c := newClient(t, client.Config{Server: "https://127.0.0.1:1", Credentials: source(func(context.Context, *client.Credential) (*client.Credential, error) {
			return tt.cred, nil
		})})
		_, err := c.Do(t.Context(), &client.Request{Path: "/x"})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("Do: %v; want an error with %q", err, tt.want)
		}
	}
}

// TestCancelInterruptsTheWaitForASource, before a request and after a 401.
func TestCancelInterruptsTheWaitForASource(t *testing.T) {
	enough := errors.New("enough")
	for _, after401 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ca := newAuthority(t)
			g := newGate(t, ca)
			g.refuse("nobody")
			c := g.client(client.Config{TLS: client.TLS{CAData: ca.pem}, Credentials: source(func(ctx context.Context, refused *client.Credential) (*client.Credential, error) {
				if after401 && refused == nil {
					return &client.Credential{}, nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			})})
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := time.AfterFunc(10*time.Second, func() { cancel(enough) })
			defer stop.Stop()
			start := time.Now()
			if _, err := do(ctx, c, &client.Request{Path: "/"}); !errors.Is(err, enough) {
				t.Errorf("Do: %v; want the cause", err)
			}
			if got := time.Since(start); got != 10*time.Second {
				t.Errorf("it took %v", got)
			}
		})
	}
}

// TestSourceTakesThePlaceOfOtherCredentials, which are refused beside it; an
// authority is none.
func TestSourceTakesThePlaceOfOtherCredentials(t *testing.T) {
	give := source(func(context.Context, *client.Credential) (*client.Credential, error) {
		return &client.Credential{}, nil
	})
	ca := newAuthority(t)
	cert, key := ca.issue(t, "me")
	var got []bool
	for _, cfg := range []client.Config{
		{},
		{TLS: client.TLS{CAData: ca.pem, ServerName: "x"}, Impersonate: client.Impersonate{User: "u"}},
		{Token: "t"},
		{TokenFile: "f"},
		{Username: "u"},
		{Password: "p"},
		{TLS: client.TLS{CertFile: "f"}},
		{TLS: client.TLS{KeyFile: "f"}},
		{TLS: client.TLS{CertData: cert}},
		{TLS: client.TLS{KeyData: key}},
	} {
		cfg.Server, cfg.Credentials = "https://h", give
		_, err := client.New(cfg)
		if err != nil && !strings.Contains(err.Error(), "Config.Credentials is set, and so is") {
			t.Error(err)
		}
		got = append(got, err == nil)
	}
	if diff := cmp.Diff([]bool{true, true, false, false, false, false, false, false, false, false}, got); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
}

// TestSourceWithAuthoritiesThatRotate: the two come from different places.
func TestSourceWithAuthoritiesThatRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := newAuthority(t), newAuthority(t)
		g, m := newGate(t, before), newMount(t)
		m.put(map[string][]byte{"ca": before.pem})
		cred := credential(t, before, "one", "a")
		c := g.client(client.Config{TLS: client.TLS{CAFile: m.path("ca")}, Credentials: source(func(context.Context, *client.Credential) (*client.Credential, error) {
			return cred, nil
		})})
		get(t, c)
		g.trust(after, before)
		m.put(map[string][]byte{"ca": after.pem})
		synctest.Wait()
		c.CloseIdleConnections()
		if got := get(t, c); got != "one Bearer a" {
			t.Error(got)
		}
		g.check(3, "one Bearer a", "one Bearer a")
	})
}
