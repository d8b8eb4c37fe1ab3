package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

func TestStatusOfAnError(t *testing.T) {
	for _, tt := range []struct {
		name   string
		code   int
		header map[string]string
		body   string
		want   kube.Status
	}{
		{
			"Status", 403, nil,
			`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods is forbidden","reason":"Forbidden","details":{"kind":"pods"},"code":403}`,
			kube.Status{Code: 403, Reason: "Forbidden", Message: "pods is forbidden", Details: &kube.StatusDetails{Kind: "pods"}},
		},
		{
			"expired list", 410, nil,
			`{"kind":"Status","metadata":{"continue":"next"},"reason":"Expired","code":410}`,
			kube.Status{Code: 410, Reason: "Expired", Metadata: kube.StatusMeta{Continue: "next"}},
		},
		{"the code of HTTP counts", 503, nil, `{"code":200,"message":"m"}`, kube.Status{Code: 503, Message: "m"}},
		{
			"pause in the details", 504, nil, `{"details":{"retryAfterSeconds":3}}`,
			kube.Status{Code: 504, Details: &kube.StatusDetails{RetryAfterSeconds: 3}, RetryAfter: 3 * time.Second},
		},
		{
			"the header outweighs the details", 429, map[string]string{"Retry-After": "7"}, `{"details":{"retryAfterSeconds":3}}`,
			kube.Status{Code: 429, Details: &kube.StatusDetails{RetryAfterSeconds: 3}, RetryAfter: 7 * time.Second},
		},
		{
			"absurd pause in the details", 504, nil, `{"details":{"retryAfterSeconds":-3}}`,
			kube.Status{Code: 504, Details: &kube.StatusDetails{RetryAfterSeconds: -3}},
		},
		{"broken JSON", 500, nil, `{"message":"secr`, kube.Status{Code: 500}},
		{"JSON of another shape", 500, nil, `[1]`, kube.Status{Code: 500}},
		{"no body", 500, nil, ``, kube.Status{Code: 500}},
		{"HTML of a proxy", 502, map[string]string{"Content-Type": "text/html"}, `<h1>Bad Gateway</h1>`, kube.Status{Code: 502}},
		{
			"path that nobody serves", 404, map[string]string{"Content-Type": "text/plain; charset=utf-8"}, "404 page not found\n",
			kube.Status{Code: 404, Message: "the server does not serve this path"},
		},
		{"other text", 500, map[string]string{"Content-Type": "text/plain"}, "stack trace", kube.Status{Code: 500}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for k, v := range tt.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, tt.body)
			})
			_, err := newClient(t, client.Config{Server: url}).Do(t.Context(), &client.Request{Path: "/x"})
			var st *kube.Status
			if !errors.As(err, &st) {
				t.Fatalf("Do: %v; want a *kube.Status", err)
			}
			if diff := cmp.Diff(tt.want, *st); diff != "" {
				t.Errorf("Status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorBodyIsLimited(t *testing.T) {
	gone := make(chan struct{})
	url := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, err := io.WriteString(w, `{"message":"`)
		for line := strings.Repeat("x", 32<<10); err == nil; {
			_, err = io.WriteString(w, line) // until the client has had enough
		}
	})
	_, err := newClient(t, client.Config{Server: url}).Do(t.Context(), &client.Request{Path: "/x"})
	if !errors.Is(err, kube.ErrUnavailable) || len(err.Error()) > 1000 {
		t.Errorf("Do: %.1000v", err)
	}
	<-gone
}

func TestRetryAfter(t *testing.T) {
	// The server's clock is what a date is relative to: this one stands in 1999.
	const date = "Fri, 31 Dec 1999 23:59:30 GMT"
	for _, tt := range []struct {
		in   string
		want time.Duration
	}{
		{"", 0},
		{"0", 0},
		{"1", time.Second},
		{" 90 ", 90 * time.Second},
		{"-1", 0},
		{"-99999999999999999999", 0},
		{"1.5", 0},
		{"soon", 0},
		{"86401", 24 * time.Hour},
		{"9223372036854775807", 24 * time.Hour},
		{"99999999999999999999", 24 * time.Hour},
		{"Sat, 01 Jan 2000 00:00:00 GMT", 30 * time.Second},
		{"Fri, 31 Dec 1999 23:59:00 GMT", 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour},
		{"Friday, 31-Dec-99 23:59:40 GMT", 10 * time.Second},
	} {
		url := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", date)
			w.Header().Set("Retry-After", tt.in)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := newClient(t, client.Config{Server: url}).Do(t.Context(), &client.Request{Path: "/x"})
		var st *kube.Status
		if !errors.As(err, &st) || !errors.Is(err, kube.ErrThrottled) || st.RetryAfter != tt.want {
			t.Errorf("Retry-After %q: %#v; want %v", tt.in, st, tt.want)
		}
	}
}

func TestContentType(t *testing.T) {
	for _, tt := range []struct {
		in   string
		good bool
	}{
		{"application/json", true},
		{"application/json;stream=watch", true},
		{"application/json;as=Table;g=meta.k8s.io;v=v1", true},
		{"application/apply-patch+json", true},
		{"text/plain; charset=utf-8", true},
		{";", true}, // unreadable: the body decides
		{"text/html", false},
		{"text/html; charset=utf-8", false},
		{"application/yaml", false},
		{"application/vnd.kubernetes.protobuf", false},
		{"text/html; x=" + strings.Repeat("y", 4000), false},
	} {
		url := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.in)
			_, _ = io.WriteString(w, "<title>log in</title>")
		})
		body, err := do(t.Context(), newClient(t, client.Config{Server: url}), &client.Request{Path: "/x"})
		var ce *client.ContentError
		if tt.good {
			if err != nil || body == "" {
				t.Errorf("%q: %q, %v", tt.in, body, err)
			}
			continue
		}
		if !errors.As(err, &ce) || ce.Request != "GET "+url+"/x" || !strings.HasPrefix(tt.in, strings.TrimSuffix(ce.ContentType, "...")) || len(err.Error()) > 500 {
			t.Errorf("%.80q: %v; want a ContentError", tt.in, err)
		}
	}
}
