package client_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// TestRepeatedCredentialIsHidden: of what a server says of what it was sent, each
// credential is left out, and the rest is kept.
func TestRepeatedCredentialIsHidden(t *testing.T) {
	const secret = "planted+se/cret=of.1-2"
	basic := base64.StdEncoding.EncodeToString([]byte("jane:" + secret))
	var warned []string
	var roundTrips []client.RoundTrip
	for name, tt := range map[string]struct {
		cfg   client.Config
		heard string // what the server repeats
	}{
		"token":    {client.Config{Token: secret}, "Bearer " + secret},
		"escaped":  {client.Config{Token: secret}, "token=" + url.QueryEscape(secret)},
		"basic":    {client.Config{Username: "jane", Password: secret}, "Basic " + basic},
		"password": {client.Config{Username: "jane", Password: secret}, secret},
		"source": {client.Config{Credentials: source(func(context.Context, *client.Credential) (*client.Credential, error) {
			return &client.Credential{Token: secret}, nil
		})}, "Bearer " + secret},
	} {
		t.Run(name, func(t *testing.T) {
			warned, roundTrips = nil, nil
			srv := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Warning", fmt.Sprintf("299 - %q", strings.Repeat("x", 1015)+tt.heard))
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Audit-Id", secret)
				w.WriteHeader(http.StatusInternalServerError)
				fmt.Fprintf(w, `{"kind":"Status","code":500,"reason":%[1]q,"message":"you said %[1]s, or not","details":{"name":%[1]q,"causes":[{"message":%[1]q}]}}`, tt.heard)
			})
			cfg := tt.cfg
			cfg.Server = srv
			cfg.Warn = func(text string) { warned = append(warned, text) }
			cfg.Trace = &client.Trace{Done: func(r client.RoundTrip) { roundTrips = append(roundTrips, r) }}
			_, err := do(t.Context(), newClient(t, cfg), &client.Request{Path: "/"})
			var st *kube.Status
			if !errors.As(err, &st) || len(warned) != 1 || len(roundTrips) != 1 {
				t.Fatalf("%v, warnings %q, roundTrips %v", err, warned, roundTrips)
			}
			all := fmt.Sprint(err, *st, *st.Details, warned, roundTrips[0])
			for _, s := range []string{secret, url.QueryEscape(secret), basic, secret[:8]} {
				if strings.Contains(all, s) {
					t.Errorf("%q is shown: %s", s, all)
				}
			}
			if !strings.Contains(st.Message, "you said ") || !strings.Contains(st.Message, "(hidden), or not") {
				t.Errorf("message %q", st.Message)
			}
		})
	}
}

// TestRepeatedCredentialIsHiddenInWhatNetHTTPQuotes, and errors.Is looks through.
func TestRepeatedCredentialIsHiddenInWhatNetHTTPQuotes(t *testing.T) {
	const secret = "planted-secret"
	for name, answer := range map[string]string{
		"malformed": secret + "\r\n\r\n",
		"code":      "HTTP/1.1 " + secret + "\r\n\r\n",
		"type":      "HTTP/1.1 200 OK\r\nContent-Type: text/" + secret + "\r\nContent-Length: 0\r\n\r\n",
		"encoding":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + secret + "\r\n\r\n",
	} {
		addr := listen(t, func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, answer)
			}
		})
		_, err := do(t.Context(), newClient(t, client.Config{Server: "http://" + addr, Token: secret}), &client.Request{Path: "/"})
		if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "(hidden)") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConceal(t *testing.T) {
	c := newClient(t, client.Config{Server: "http://h", Token: "sesame", Username: "u", Password: "p", Proxy: proxyAt(t, "http://u:open-up@proxy")})
	status := &kube.Status{Message: "sesame"}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("said sesame and open-up: %w", io.ErrUnexpectedEOF), "said (hidden) and (hidden): unexpected EOF"},
		{fmt.Errorf("pup: %w", io.ErrUnexpectedEOF), "pup: unexpected EOF"}, // p is too short to be looked for
		{fmt.Errorf("%w: %w", status, io.ErrUnexpectedEOF), "server: (hidden): unexpected EOF"},
	} {
		got := c.Conceal(tt.err)
		if diff := cmp.Diff(tt.want, got.Error()); diff != "" || !errors.Is(got, io.ErrUnexpectedEOF) {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if err := c.Conceal(nil); err != nil {
		t.Error(err)
	}
}

// A text is clipped after the credential in it is hidden: a part of one would not be found.
func TestCredentialAtTheEndOfAClippedTextIsHidden(t *testing.T) {
	const secret = "planted-secret-0123456789"
	c := newClient(t, client.Config{Server: "https://h", Token: secret})
	for _, st := range []*kube.Status{
		{Code: 403, Message: strings.Repeat("x", 4096-20) + secret},
		{Code: 403, Reason: strings.Repeat("x", 80-20) + secret},
		{Code: 500, AuditID: strings.Repeat("x", 64-20) + secret},
	} {
		err := c.Conceal(fmt.Errorf("get: %w", st))
		if text := err.Error(); strings.Contains(text, secret[:8]) || !strings.HasPrefix(text, "get: server: ") || !errors.Is(err, kube.ErrForbidden) && st.Code == 403 {
			t.Errorf("%v", err)
		}
	}
}

// TestTokensBeforeAreHiddenToo: a server may repeat what it had before others were in use. The
// latest eight tokens are hidden.
func TestTokensBeforeAreHiddenToo(t *testing.T) {
	var now *client.Credential
	c := newClient(t, client.Config{Server: newServer(t, whatever), Credentials: source(func(context.Context, *client.Credential) (*client.Credential, error) { return now, nil })})
	token := func(i int) string { return fmt.Sprintf("%d-token-of-a-test", i) }
	for _, i := range []int{1, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9} {
		now = &client.Credential{Token: token(i)}
		get(t, c)
	}
	for i := 1; i <= 9; i++ {
		want := "(hidden)"
		if i == 1 {
			want = token(1)
		}
		if got := c.Conceal(errors.New(token(i))).Error(); got != want {
			t.Errorf("%s: %s", token(i), got)
		}
	}
}

func whatever(http.ResponseWriter, *http.Request) {}

// TestConcealLeavesASharedStatusAlone: many may end by the same cause, each with its own
// idea of what is secret.
func TestConcealLeavesASharedStatusAlone(t *testing.T) {
	const secret = "planted-secret"
	shared := &kube.Status{Code: 401, Reason: "Unauthorized", Message: "not " + secret,
		Details: &kube.StatusDetails{Name: secret, Causes: []kube.StatusCause{{Message: secret}}}}
	c := newClient(t, client.Config{Server: "https://api.example.com", Token: secret})
	errs := make(chan error)
	for range 4 {
		go func() { errs <- c.Conceal(fmt.Errorf("the cause: %w", shared)) }()
	}
	for range 4 {
		err := <-errs
		var st *kube.Status
		if !errors.As(err, &st) || !errors.Is(err, kube.ErrUnauthorized) || st.Code != 401 {
			t.Fatalf("%v is no 401", err)
		}
		if all := fmt.Sprint(err, *st, *st.Details); strings.Contains(all, secret) {
			t.Errorf("the secret is in %s", all)
		}
	}
	if shared.Message != "not "+secret || shared.Details.Name != secret || shared.Details.Causes[0].Message != secret {
		t.Errorf("it is %+v %+v now", *shared, *shared.Details)
	}
	if other := errors.New("no secret"); c.Conceal(other) != other {
		t.Error("an error without a secret is another now")
	}
}
