package client_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// planted is in every secret.
const planted = "sesame-street-4711"

// plant sets every string and byte slice that v has, however deep, to a secret, but
// for the fields that are named, which are no secrets.
func plant(v reflect.Value, open map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		plant(v.Elem(), open)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !open[f.Name] {
				plant(v.Field(i), open)
			}
		}
	case reflect.String:
		v.SetString(planted)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(planted))
			return
		}
		one := reflect.New(v.Type().Elem()).Elem()
		plant(one, open)
		v.Set(reflect.Append(v, one))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		plant(key, open)
		plant(value, open)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

// texts returns v in all the forms in which it may come to be printed.
func texts(vs ...any) []string {
	var all []string
	for _, v := range vs {
		wrapped := []any{v, []any{v}, map[string]any{"v": v}, struct{ V any }{v}}
		if err, ok := v.(error); ok {
			wrapped = append(wrapped, fmt.Errorf("x: %w", err), errors.Join(err))
		}
		for _, w := range wrapped {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
				all = append(all, fmt.Sprintf(verb, w))
			}
			if b, err := json.Marshal(w); err == nil {
				all = append(all, string(b))
			}
			var log bytes.Buffer
			slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", w)
			slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", w)
			all = append(all, log.String())
		}
		func() {
			defer func() { all = append(all, fmt.Sprint(recover())) }()
			panic(v)
		}()
	}
	return all
}

// forms are a secret as it is, and as bytes are printed.
func forms(secret string) []string {
	b := []byte(secret)
	return []string{
		secret, base64.StdEncoding.EncodeToString(b), fmt.Sprintf("%x", b), strings.Trim(fmt.Sprintf("%d", b), "[]"),
		strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", b), "[]byte{"), "}"),
	}
}

func checkSecret(t *testing.T, secret string, printed []string) {
	t.Helper()
	for _, f := range forms(secret) {
		for _, p := range printed {
			if strings.Contains(p, f) {
				t.Fatalf("%q is in %.2000q", f, p)
			}
		}
	}
}

// TestSecretsAreNotPrinted: of what can hold a secret, all fields.
func TestSecretsAreNotPrinted(t *testing.T) {
	open := map[string]bool{"CAFile": true, "CertFile": true, "KeyFile": true, "ServerName": true, "Method": true, "Path": true, "Trace": true}
	cfg := new(client.Config)
	plant(reflect.ValueOf(cfg), open)
	cfg.Server = "https://" + planted + ":" + planted + "@h/?" + planted
	var tlsOptions client.TLS
	plant(reflect.ValueOf(&tlsOptions), open)
	request := &client.Request{Path: "/p"}
	plant(reflect.ValueOf(request), open)
	cred := &client.Credential{Token: planted, Certificate: &tls.Certificate{Certificate: [][]byte{[]byte(planted)}, OCSPStaple: []byte(planted)}}
	token := &client.ServiceAccountToken{Token: planted}
	for _, v := range []any{*cfg, cfg, tlsOptions, &tlsOptions, *request, request, *cred, cred, *token, token} {
		checkSecret(t, planted, texts(v))
		if diff := cmp.Diff(fmt.Sprintf("%v", v), fmt.Sprintf("%#v", v)); diff != "" {
			t.Errorf("%T: %%v and %%#v differ:\n%s", v, diff)
		}
	}
	if !strings.Contains(fmt.Sprint(request), "GET /p") {
		t.Errorf("a request is %v", request)
	}
}

// TestSecretsAreNotReported: a client with each kind of credential, what it returns and
// what it traces, against a server that repeats what it hears and one that is away.
func TestSecretsAreNotReported(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "me")
	dir := t.TempDir()
	writeToken(t, filepath.Join(dir, "token"), planted)
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path != "/200" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		user, password, _ := r.BasicAuth()
		fmt.Fprintln(w, "you sent", r.Header, user, password)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	given := &client.Credential{Token: planted, Certificate: &pair}
	withCert := client.TLS{CAData: ca.pem, CertData: cert, KeyData: key}
	for _, cfg := range []client.Config{
		{Token: planted, TLS: withCert},
		{TokenFile: filepath.Join(dir, "token"), TLS: withCert},
		{Username: "u", Password: planted, TLS: withCert},
		{Credentials: source(func(context.Context, *client.Credential) (*client.Credential, error) { return given, nil }), TLS: client.TLS{CAData: ca.pem}},
		{Token: planted, TLS: client.TLS{CAData: newAuthority(t).pem}},
		{Token: planted + "\x00", TLS: withCert},
		{Token: planted + "\n", TLS: withCert},
		{Token: planted, TLS: client.TLS{CAData: ca.pem, CertData: key, KeyData: cert}},
		{Token: planted, Proxy: func(*http.Request) (*url.URL, error) { return url.Parse("http://u:" + planted + "@127.0.0.1:1") }},
	} {
		var seen []any
		cfg.Trace = &client.Trace{
			Start:   func(r client.RoundTrip) { seen = append(seen, r) },
			Done:    func(r client.RoundTrip) { seen = append(seen, r) },
			Rotated: func(err error) { seen = append(seen, err) },
		}
		for _, server := range []string{ca.serve(t, echo), "https://127.0.0.1:1"} {
			cfg.Server = server
			c, err := client.New(cfg)
			seen = append(seen, cfg, err)
			if err != nil {
				continue
			}
			t.Cleanup(c.CloseIdleConnections)
			for _, path := range []string{"/200", "/401"} {
				query := map[string][]string{"continue": {planted}}
				_, err = do(t.Context(), c, &client.Request{Path: path, Query: query})
				seen = append(seen, err)
			}
			seen = append(seen, c, c.Isolated(), client.Of[kube.Partial](c, kube.Pods), struct{ c *client.Client }{c})
		}
		printed := texts(seen...)
		checkSecret(t, planted, printed)
		checkSecret(t, string(key[40:80]), printed)
	}
}

// TestSecretsAreNotQuoted: net/http quotes a header that it cannot parse, as Go does.
func TestSecretsAreNotQuoted(t *testing.T) {
	const password = `sesame-"street"\4711`
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, heard, _ := r.BasicAuth()
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", heard)
	}))
	defer ts.Close()
	c, err := client.New(client.Config{Server: ts.URL, Username: "u", Password: password, PlainHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = do(t.Context(), c, &client.Request{Path: "/200"})
	if err == nil || !strings.Contains(err.Error(), "Content-Length") || strings.Contains(err.Error(), "4711") {
		t.Errorf("error %v: want one about the header, without the password", err)
	}
}
