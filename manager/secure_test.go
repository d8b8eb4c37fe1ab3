package manager_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// writePair writes a certificate for localhost with a serial number, and its key.
func writePair(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	leaf := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSecureListener: over TLS, probes need no token, and metrics one that may read them.
func TestSecureListener(t *testing.T) {
	srv := apitest.New(t)
	srv.SetToken("good")
	c, err := client.New(client.Config{Server: srv.URL, Token: "good", PlainHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	m := manager.New(manager.Options{
		Listen: "127.0.0.1:0", Secure: &manager.Secure{Client: c},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics\n") }),
	})
	ctx, stop := context.WithCancel(t.Context())
	running := make(chan struct{})
	m.Add(partFunc(func(ctx context.Context) error {
		close(running)
		<-ctx.Done()
		return nil
	}))
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	<-running
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	get := func(path, token string) string {
		r, err := http.NewRequestWithContext(ctx, "GET", "https://"+m.Address()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status + ": " + strings.TrimSpace(string(b))
	}
	for _, tt := range []struct{ path, token, want string }{
		{"/healthz", "", "200 OK: ok"},
		{"/readyz", "", "200 OK: ok"},
		{"/metrics", "", "401 Unauthorized: Unauthorized"},
		{"/metrics", "wrong", "401 Unauthorized: Unauthorized"},
		{"/metrics", "good", "200 OK: metrics"},
	} {
		if got := get(tt.path, tt.token); got != tt.want {
			t.Errorf("%s with token %q: %s, want %s", tt.path, tt.token, got, tt.want)
		}
	}
	plain, err := http.NewRequestWithContext(ctx, "GET", "http://"+m.Address()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := transport.RoundTrip(plain); err == nil {
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Error("it answers without TLS")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// partFunc is a part of a Manager.
type partFunc func(context.Context) error

func (f partFunc) Run(ctx context.Context) error { return f(ctx) }

// TestSecureAsksForWhatItNeeds: the answers are kept for a minute and refusals for ten
// seconds; a server that does not answer is no refusal, and its errors are logged once.
func TestSecureAsksForWhatItNeeds(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.SetToken("good")
		c, err := client.New(client.Config{Server: w.URL, Dial: w.Dial, Token: "good", PlainHTTP: true})
		if err != nil {
			t.Fatal(err)
		}
		log := newJournal()
		h, end := (&manager.Secure{Client: c}).Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), log.Logger)
		defer end()
		code := func(authorization string) int {
			r := httptest.NewRequest("GET", "/metrics", nil)
			if authorization != "" {
				r.Header.Set("Authorization", authorization)
			}
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			return rec.Code
		}
		want := func(what string, wanted, reviews int) {
			t.Helper()
			before := len(w.Requests())
			if got := code("Bearer good"); got != wanted {
				t.Errorf("%s: %d, want %d", what, got, wanted)
			}
			if got := len(w.Requests()) - before; got != reviews {
				t.Errorf("%s: %d reviews, want %d", what, got, reviews)
			}
		}
		want("at first", 200, 2)
		refusal := w.On(apitest.Match{Resource: "subjectaccessreviews"}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":false}}`)
		})
		<-time.After(59 * time.Second)
		want("within a minute", 200, 0)
		<-time.After(2 * time.Second)
		want("after a minute", 403, 2)
		refusal.Remove()
		<-time.After(9 * time.Second)
		want("within ten seconds of a refusal", 403, 0)
		<-time.After(2 * time.Second)
		want("after ten seconds", 200, 2)
		<-time.After(time.Hour)
		broken := w.On(apitest.Match{Resource: "tokenreviews"}, faults.Answer(&kube.Status{Code: 500, Message: "broken"}))
		want("while the server fails", 503, 1)
		want("while the server fails, again", 503, 1)
		if n := log.counts("it is not known who may read the metrics"); n["it is not known who may read the metrics"] != 1 {
			t.Errorf("the failures are logged %v", n)
		}
		broken.Remove()
		want("when it works again", 200, 2)
		before := len(w.Requests())
		for authorization, wanted := range map[string]int{"": 401, "Bearer": 401, "Bearer ": 401, "Basic Z29vZA==": 401, "bearer good": 200, "good": 401} {
			if got := code(authorization); got != wanted {
				t.Errorf("Authorization %q: %d, want %d", authorization, got, wanted)
			}
		}
		if got := len(w.Requests()) - before; got != 0 {
			t.Errorf("%d reviews without a token", got)
		}
		for n := range 3000 { // tokens that somebody invents do not displace those that pass
			if got := code("Bearer " + strings.Repeat("x", n%100+1) + string(rune('a'+n%26)) + time.Duration(n).String()); got != 401 {
				t.Fatalf("an invented token: %d", got)
			}
		}
		want("among invented ones", 200, 0)
		c.CloseIdleConnections()
	})
}

// TestSecureAudiences: a token for others is refused, and a server that compares no
// audiences is no proof.
func TestSecureAudiences(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.SetToken("good")
		c, err := client.New(client.Config{Server: w.URL, Dial: w.Dial, Token: "good", PlainHTTP: true})
		if err != nil {
			t.Fatal(err)
		}
		for audiences, wanted := range map[string]int{`["metrics","other"]`: 200, `["other"]`: 401, `[]`: 401} {
			answer := w.On(apitest.Match{Resource: "tokenreviews"}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, `{"status":{"authenticated":true,"user":{"username":"jane"},"audiences":`+audiences+`}}`)
			})
			h, end := (&manager.Secure{Client: c, Audiences: []string{"metrics"}}).Guard(http.NotFoundHandler(), newJournal().Logger)
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.Header.Set("Authorization", "Bearer good")
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			if rec.Code == 404 {
				rec.Code = 200 // it passed
			}
			if rec.Code != wanted {
				t.Errorf("audiences %s: %d, want %d", audiences, rec.Code, wanted)
			}
			answer.Remove()
			end()
		}
		c.CloseIdleConnections()
	})
}

// TestSecureFilesRotate: a new pair is served within ten seconds, and the last one as long
// as the files do not match.
func TestSecureFilesRotate(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		dir := t.TempDir()
		cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
		secure := &manager.Secure{CertFile: cert, KeyFile: key}
		log := newJournal()
		if _, err := secure.Certificate(log.Logger); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without files: %v", err)
		}
		writePair(t, cert, key, 1)
		get, err := secure.Certificate(log.Logger)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		look := func() {
			t.Helper()
			served, err := get(nil)
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := x509.ParseCertificate(served.Certificate[0])
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, leaf.SerialNumber.Int64())
		}
		look()
		writePair(t, cert, key, 2)
		look() // not read again yet
		<-time.After(10 * time.Second)
		look()
		writePair(t, cert, filepath.Join(dir, "other"), 3) // the key is not there yet
		for range 3 {
			<-time.After(10 * time.Second)
			look()
		}
		writePair(t, cert, key, 4)
		<-time.After(10 * time.Second)
		look()
		if diff := cmp.Diff([]int64{1, 1, 2, 2, 2, 2, 4}, got); diff != "" {
			t.Errorf("serial numbers (-want +got):\n%s", diff)
		}
		if n := log.counts("cannot be renewed"); n["cannot be renewed"] != 1 {
			t.Errorf("logged %v", n)
		}
		for _, s := range []*manager.Secure{{CertFile: cert}, {KeyFile: key}, {CertFile: cert, KeyFile: key, GetCertificate: get}} {
			if _, err := s.Certificate(log.Logger); err == nil {
				t.Errorf("%+v is accepted", s)
			}
		}
	})
}

// TestSecureRemembersALimitedNumberOfTokens: invented ones displace each other, and not a
// permission.
func TestSecureRemembersALimitedNumberOfTokens(t *testing.T) {
	srv := apitest.NewInMemory(t)
	srv.SetToken("good")
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial, Token: "good", PlainHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	metrics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	h, known, end := (&manager.Secure{Client: c}).GuardOf(metrics, slog.New(slog.DiscardHandler))
	defer end()
	ask := func(token string, want int) {
		t.Helper()
		r, w := httptest.NewRequest("GET", "/metrics", nil), httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer "+token)
		if h.ServeHTTP(w, r); w.Code != want {
			t.Fatalf("%s: %d, want %d", token, w.Code, want)
		}
	}
	ask("good", http.StatusOK)
	for n := range 2100 {
		ask(fmt.Sprint("invented-", n), http.StatusUnauthorized)
	}
	if n := known(); n > 1000 {
		t.Errorf("%d tokens are remembered", n)
	}
	srv.ForgetRequests()
	ask("good", http.StatusOK)
	if n := len(srv.Requests()); n > 0 {
		t.Errorf("the permission was forgotten: %d requests", n)
	}
}
