package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
)

// TestProxyIsAskedOnceARequest: it may return another one each time, and the error of a request
// names the one that the request was sent to.
func TestProxyIsAskedOnceARequest(t *testing.T) {
	proxies := []string{closedPort(t), closedPort(t)}
	var asked []string
	c := newClient(t, client.Config{Server: "https://" + faraway, Proxy: func(r *http.Request) (*url.URL, error) {
		if r.Method == "" { // for an error
			return nil, nil
		}
		asked = append(asked, r.URL.Path)
		return &url.URL{Scheme: "http", Host: proxies[len(asked)%2]}, nil
	}})
	paths := []string{"/a", "/b"}
	for _, path := range paths {
		_, err := do(t.Context(), c, &client.Request{Path: path})
		var pe *client.ProxyError
		if want := proxies[len(asked)%2]; !errors.As(err, &pe) || pe.Proxy != "http://"+want || !strings.Contains(pe.Err.Error(), want) {
			t.Errorf("%s: error %v, want one of %s", path, err, want)
		}
	}
	if diff := cmp.Diff(paths, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

// TestProxyThatIsNotKnown: the error of the function ends the request, whose body is closed.
func TestProxyThatIsNotKnown(t *testing.T) {
	unknown := errors.New("no proxy is known")
	c := newClient(t, client.Config{Server: "https://" + faraway, Proxy: func(*http.Request) (*url.URL, error) { return nil, unknown }})
	r, w := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+faraway+"/a", r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.RoundTripper().RoundTrip(req); !errors.Is(err, unknown) {
		t.Errorf("error %v, want %v", err, unknown)
	}
	if _, err := io.WriteString(w, "{}"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the body is open: %v", err)
	}
}
