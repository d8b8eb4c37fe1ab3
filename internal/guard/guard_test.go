package guard_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/internal/guard"
)

func ExampleHandler() {
	h := guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "pods") }), guard.Options{Bound: "127.0.0.1:8001"})
	for _, host := range []string{"127.0.0.1:8001", "rebound.example:8001"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://"+host+"/api/v1/pods", nil))
		fmt.Println(host, w.Code)
	}
	// Output:
	// 127.0.0.1:8001 200
	// rebound.example:8001 403
}

// TestHosts: DNS rebinding serves a page under a name that leads to the loopback.
func TestHosts(t *testing.T) {
	for _, test := range []struct {
		o     guard.Options
		host  string
		taken bool
	}{
		{guard.Options{}, "localhost", true},
		{guard.Options{}, "LOCALHOST.:8080", true},
		{guard.Options{}, "api.localhost:1", true},
		{guard.Options{}, "127.0.0.1:8080", true},
		{guard.Options{}, "127.9.9.9", true},
		{guard.Options{}, "[::1]:8080", true},
		{guard.Options{}, "[::1]", true},
		{guard.Options{}, "", false},
		{guard.Options{}, "example.com", false},
		{guard.Options{}, "127.0.0.1.nip.io:8080", false},
		{guard.Options{}, "localhost.example.com", false},
		{guard.Options{}, "xlocalhost", false},
		{guard.Options{}, "192.168.1.7", false},
		{guard.Options{}, "2130706433", false},
		{guard.Options{Bound: "127.0.0.1:8080"}, "10.0.0.1:8080", false},
		{guard.Options{Bound: "0.0.0.0:8080"}, "10.0.0.1:8080", true},
		{guard.Options{Bound: "[::]:8080"}, "[fe80::1%25eth0]:8080", true},
		{guard.Options{Bound: "0.0.0.0:8080"}, "example.com", false},
		{guard.Options{Hosts: []string{"monitor.shop.svc"}}, "Monitor.shop.svc:8080", true},
		{guard.Options{Hosts: []string{"monitor.shop.svc"}}, "svc", false},
		{guard.Options{Hosts: []string{"*"}}, "example.com", true},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = test.host
		if why := test.o.Check(r); (why == nil) != test.taken {
			t.Errorf("%+v, host %q: %v", test.o, test.host, why)
		}
	}
}

// TestPages: what browsers send for a page of another origin, and what programs send.
func TestPages(t *testing.T) {
	for _, test := range []struct {
		name, method, body string
		header             []string
		code               int
	}{
		{"curl", "GET", "", nil, 200},
		{"kubectl create", "POST", "{}", []string{"Content-Type", "application/json"}, 200},
		{"kubectl patch", "PATCH", "{}", []string{"Content-Type", "application/merge-patch+json"}, 200},
		{"client-go, a scale", "PUT", "{}", []string{"Content-Type", ""}, 200},
		{"kubectl create --raw", "POST", "{}", []string{"Content-Type", "", "User-Agent", "kubectl/v1.37.0 (linux/amd64) kubernetes/abcdef0"}, 200},
		{"client-go", "POST", "x", []string{"Content-Type", "application/vnd.kubernetes.protobuf"}, 200},
		{"delete without a body", "DELETE", "", nil, 200},
		{"typed into the address bar", "GET", "", []string{"Sec-Fetch-Site", "none"}, 200},
		{"a script of our own page", "GET", "", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://localhost:8080"}, 200},

		{"an image", "GET", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		{"a link", "GET", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"a page on another port", "GET", "", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"two values", "GET", "", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Site", "cross-site"}, 403},
		{"a script", "GET", "", []string{"Origin", "https://example.com"}, 403},
		{"a script on another port", "GET", "", []string{"Origin", "http://localhost:3000"}, 403},
		{"a file or a sandbox", "GET", "", []string{"Origin", "null"}, 403},
		{"a form", "POST", "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"a form with files", "POST", "x", []string{"Content-Type", "multipart/form-data; boundary=x"}, 415},
		{"a form of text", "POST", "{}", []string{"Content-Type", "text/plain;charset=utf-8"}, 415},
		{"a blob", "POST", "{}", nil, 415},
		{"a beacon", "POST", "{}", []string{"Content-Type", ""}, 415},
		{"a beacon of a browser", "POST", "{}", []string{"Content-Type", "", "User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0"}, 415},
		{"a wrong type", "PUT", "{}", []string{"Content-Type", "application/json; ;"}, 415},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(test.method, "http://localhost:8080/", strings.NewReader(test.body))
			for i := 0; i < len(test.header); i += 2 {
				r.Header.Add(test.header[i], test.header[i+1])
			}
			w := httptest.NewRecorder()
			guard.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), guard.Options{}).ServeHTTP(w, r)
			if w.Code != test.code {
				t.Errorf("%d %s, want %d", w.Code, w.Body, test.code)
			}
		})
	}
}
