package apitest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// configMap returns a ConfigMap of namespace a.
func configMap(name, value string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"data":{"k":%q}}`, name, value)
}

// get returns the status code and body of a GET.
func get(t *testing.T, srv *apitest.Server, path string, header ...string) (int, string) {
	t.Helper()
	return do(t, srv, http.MethodGet, path, "", header...)
}

func do(t *testing.T, srv *apitest.Server, method, path, body string, header ...string) (int, string) {
	t.Helper()
	resp, err := send(t.Context(), srv, method, path, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func send(ctx context.Context, srv *apitest.Server, method, path, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return srv.Client().Do(req)
}

// stream is a watch as a test reads it.
type stream struct {
	t     *testing.T
	resp  *http.Response
	lines *bufio.Reader
}

func watch(t *testing.T, srv *apitest.Server, path string, header ...string) *stream {
	t.Helper()
	resp, err := send(t.Context(), srv, http.MethodGet, path, "", header...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &stream{t, resp, bufio.NewReader(resp.Body)}
}

// line returns the next line, "" and the error at the end.
func (s *stream) line() (string, error) {
	line, err := s.lines.ReadString('\n')
	return line, err
}

// next returns the next event as "ADDED name rv" or "BOOKMARK rv", and how the
// stream ended otherwise.
func (s *stream) next() string {
	s.t.Helper()
	line, err := s.line()
	if err != nil {
		if line != "" {
			return fmt.Sprintf("%d bytes, then %v", len(line), err)
		}
		return err.Error()
	}
	var e struct {
		Type   string
		Object struct {
			Metadata struct {
				Name, ResourceVersion string
				Annotations           map[string]string
			}
			Reason string
			Code   int
		}
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		return "not JSON: " + line
	}
	m := e.Object.Metadata
	switch {
	case e.Type == "ERROR":
		return fmt.Sprintf("ERROR %d %s", e.Object.Code, e.Object.Reason)
	case m.Annotations["k8s.io/initial-events-end"] != "":
		return "END " + m.ResourceVersion
	case e.Type == "BOOKMARK":
		return "BOOKMARK " + m.ResourceVersion
	}
	return fmt.Sprintf("%s %s %s", e.Type, m.Name, m.ResourceVersion)
}

// want checks the next events.
func (s *stream) want(events ...string) {
	s.t.Helper()
	for _, want := range events {
		if got := s.next(); got != want {
			s.t.Fatalf("event: got %q, want %q", got, want)
		}
	}
}

func TestWatchDeliversWritesAfterList(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: configMap("x", "1")})
	code, body := get(t, srv, "/api/v1/configmaps")
	if code != 200 || !strings.HasPrefix(body, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"101"},"items":[{"metadata":{"name":"x","namespace":"a","uid":"`) {
		t.Fatalf("list: %d %s", code, body)
	}
	w := watch(t, srv, "/api/v1/configmaps?watch=1&resourceVersion=101")
	srv.Put(kube.ConfigMaps, configMap("y", "1"))
	srv.Put(kube.ConfigMaps, configMap("x", "2"))
	srv.Put(kube.ConfigMaps, configMap("x", "2"))
	srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "y"})
	w.want("ADDED y 102", "MODIFIED x 103", "DELETED y 104")
	srv.CloseWatches()
	w.want("EOF")
}

// field returns the text at a path in a JSON document.
func field(t *testing.T, doc string, path ...string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	s, ok := v.(string)
	if !ok {
		t.Fatalf("no text at %v: %s", path, doc)
	}
	return s
}
