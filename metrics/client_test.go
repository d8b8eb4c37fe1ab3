package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/metrics"
)

// requestLines are the lines of rest_client_requests_total.
func requestLines(r *metrics.Registry) []string {
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "rest_client_requests_total") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	return got
}

func TestRequests(t *testing.T) {
	srv := apitest.NewInMemory(t)
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"b"}}`)
	r := metrics.New()
	own := 0
	cfg := client.Config{Server: srv.URL, Dial: srv.Dial, Trace: &client.Trace{Done: func(client.RoundTrip) { own++ }}}
	metrics.Requests(r, &cfg)
	other := client.Config{Server: "http://other:1", Dial: srv.Dial}
	metrics.Requests(r, &other)
	for _, cfg := range []client.Config{cfg, other} {
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		maps := client.Of[kube.Partial](c, kube.ConfigMaps)
		for _, name := range []string{"b", "b", "none"} {
			_, _ = maps.Get(t.Context(), kube.Key{Namespace: "a", Name: name})
		}
		_ = maps.Delete(t.Context(), kube.Key{Namespace: "a", Name: "b"}, client.DeleteOptions{})
		srv.SetDoor(apitest.Refusing)
	}
	host := strings.TrimPrefix(srv.URL, "http://")
	want := []string{
		`rest_client_requests_total{code="200",host="` + host + `",method="DELETE"} 1`,
		`rest_client_requests_total{code="200",host="` + host + `",method="GET"} 2`,
		`rest_client_requests_total{code="404",host="` + host + `",method="GET"} 1`,
		`rest_client_requests_total{code="<error>",host="other:1",method="DELETE"} 1`,
		`rest_client_requests_total{code="<error>",host="other:1",method="GET"} 3`,
	}
	if diff := cmp.Diff(want, requestLines(r)); diff != "" || own != 4 {
		t.Errorf("%d calls of the own hook, (-want +got):\n%s", own, diff)
	}
}

func ExampleRequests() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	r := metrics.New()
	cfg := client.Config{Server: srv.URL, Dial: srv.Dial}
	metrics.Requests(r, &cfg)
	c, err := client.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Of[kube.Partial](c, kube.ConfigMaps).Get(context.Background(), kube.Key{Namespace: "a", Name: "b"})
	fmt.Println(err != nil)
	for _, line := range requestLines(r) {
		fmt.Println(strings.ReplaceAll(line, strings.TrimPrefix(srv.URL, "http://"), "HOST"))
	}
	// Output:
	// true
	// rest_client_requests_total{code="404",host="HOST",method="GET"} 1
}
