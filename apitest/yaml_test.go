package apitest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
)

// asYAML sends a request and returns the code, the media type and the body of the
// answer.
func asYAML(t *testing.T, srv *apitest.Server, method, path, body string, header ...string) (int, string, string) {
	t.Helper()
	header = append([]string{"Content-Type", "application/yaml", "Accept", "application/yaml"}, header...)
	resp, err := send(t.Context(), srv, method, path, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(b)
}

// words are scalars of which readers of YAML think differently, in and out as
// kube-apiserver 1.37 has them.
const (
	wordsIn = `kind: ConfigMap
metadata: {name: w, labels: {"n": "1", e: ""}}
data:
  a: |
    line one
    line two
  b: "yes"
  d: "x: y"
  e: "  lead"
  h: "tab\there"
  j: "1e3"
  k: "a long line that goes on and on and on past eighty columns of text so that it might be folded by the writer of YAML"
  m: "2020-01-01"
  "n": "line\n\n"
  r: "a\"b'c"
  s: "é <&>"
  t: "\u0001x"
  v: "1_000"
  x: "{{ a }}"
  y: "y"
  z: "😀"
`
	wordsOut = `apiVersion: v1
data:
  a: |
    line one
    line two
  b: "yes"
  d: 'x: y'
  e: '  lead'
  h: "tab\there"
  j: "1e3"
  k: a long line that goes on and on and on past eighty columns of text so that it
    might be folded by the writer of YAML
  m: "2020-01-01"
  "n": |+
    line

  r: a"b'c
  s: é <&>
  t: "\x01x"
  "true": "y"
  v: "1_000"
  x: '{{ a }}'
  z: "\U0001F600"
kind: ConfigMap
metadata:
  creationTimestamp: "2000-01-01T00:00:00Z"
  labels:
    e: ""
    "n": "1"
  name: w
  namespace: a
  resourceVersion: "104"
  uid: 00000000-0000-4000-8000-000000000000
`
)

func TestYAMLIsThatOfTheRealServer(t *testing.T) {
	story(t, apitest.Options{NoManagedFields: true}, func(t *testing.T, srv *apitest.Server) {
		code, typ, created := asYAML(t, srv, "POST", configMaps, wordsIn)
		uid := strings.TrimSpace(created[strings.LastIndex(created, "uid: ")+5:])
		if diff := cmp.Diff(wordsOut, strings.ReplaceAll(created, uid, "00000000-0000-4000-8000-000000000000")); diff != "" || code != 201 || typ != "application/yaml" {
			t.Errorf("%d %s (-want +got):\n%s", code, typ, diff)
		}
		_, _, got := asYAML(t, srv, "GET", configMaps+"/w", "")
		if diff := cmp.Diff(created, got); diff != "" {
			t.Error(diff)
		}
		_, _, list := asYAML(t, srv, "GET", configMaps+"?labelSelector=e", "", "Accept", "text/html, application/yaml")
		item := strings.ReplaceAll(created[strings.Index(created, "data:"):strings.Index(created, "kind:")]+created[strings.Index(created, "metadata:"):], "\n", "\n  ")
		want := "apiVersion: v1\nitems:\n- " + strings.TrimSuffix(item, "  ") + "kind: ConfigMapList\nmetadata:\n  resourceVersion: \"104\"\n"
		want = strings.Replace(want, "that it\n      might", "that\n      it might", 1)
		want = strings.ReplaceAll(want, "\n  \n", "\n\n")
		if diff := cmp.Diff(want, list); diff != "" {
			t.Error(diff)
		}
		if _, typ, _ := asYAML(t, srv, "GET", configMaps+"/w", "", "Accept", "application/json, application/yaml"); typ != "application/json" {
			t.Errorf("JSON was preferred: %s", typ)
		}
	})
}

func TestYAMLAnswers(t *testing.T) {
	const notFound = "apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: nope\nkind: Status\nmessage: configmaps \"nope\" not found\nmetadata: {}\nreason: NotFound\nstatus: Failure\n"
	const partial = "application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	for _, c := range []struct {
		method, path, body, accept string
		code                       int
		typ, want                  string // a part of the answer
	}{
		{"GET", configMaps + "/nope", "", "", 404, "application/yaml", notFound},
		{"GET", configMaps + "/nope", "", partial, 404, "application/json", `"reason": "NotFound"`},
		{"GET", configMaps + "/x", "", partial, 200, "application/yaml", "kind: PartialObjectMetadata\nmetadata:\n"},
		{"GET", configMaps + "?watch=1", "", "", 406, "application/yaml", "'only the following media types are accepted: application/json;stream=watch,\n  application/vnd.kubernetes.protobuf;stream=watch'"},
		{"GET", configMaps + "?watch=1&timeoutSeconds=1", "", "application/yaml, application/json", 200, "application/json", `{"type":"ADDED"`},
		{"GET", "/api", "", "", 200, "application/yaml", "kind: APIVersions\n"},
		{"GET", "/openapi/v3", "", "", 200, "text/plain; charset=utf-8", `{"paths":{`},
		{"GET", "/nope", "", "", 404, "text/plain; charset=utf-8", "404 page not found\n"},
		{"POST", configMaps, "metadata: {name: y}", "", 400, "application/yaml", "cannot be handled as a ConfigMap"}, // y is a boolean
		{"POST", configMaps, "metadata: {name: x}", "", 409, "application/yaml", "reason: AlreadyExists\n"},
		{"POST", configMaps, "a: b: c", "", 400, "application/yaml", "yaml: mapping\n  values are not allowed in this context (613a20623a2063)'\n"},
		{"POST", configMaps, "", "", 422, "application/yaml", "name or generateName is required"},
		{"POST", configMaps, "[a]: b", "", 400, "application/yaml", "reason: BadRequest\n"},
		{"POST", configMaps, "metadata: {name: num}\ndata: {1: a, true: b, 1.5: c}", "", 201, "application/yaml", "data:\n  \"1\": a\n  \"1.5\": c\n  \"true\": b\n"},
		{"DELETE", configMaps + "/x", "propagationPolicy: Bogus", "", 422, "application/yaml", "reason: Invalid\n"},
		{"DELETE", configMaps + "/x", "propagationPolicy: Background", "", 200, "application/yaml", "status: Success\n"},
	} {
		story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
			var header []string
			if c.accept != "" {
				header = []string{"Accept", c.accept}
			}
			code, typ, body := asYAML(t, srv, c.method, c.path, c.body, header...)
			if code != c.code || typ != c.typ || !strings.Contains(body, c.want) {
				t.Errorf("%s %s %q as %q: %d %s\n%s", c.method, c.path, c.body, c.accept, code, typ, body)
			}
		})
	}
}

// TestYAMLThatExpands: what aliases make of a body has a limit in bytes.
func TestYAMLThatExpands(t *testing.T) {
	srv := apitest.NewInMemory(t)
	bomb := "metadata: {name: x}\ndata:\n  a: &a " + strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("  b: *a\n", 3000)
	code, body := do(t, srv, http.MethodPost, configMaps, bomb, "Content-Type", "application/yaml")
	if code != http.StatusBadRequest || !strings.Contains(body, "its aliases expand to more than") {
		t.Errorf("%d %.300s", code, body)
	}
	code, body = do(t, srv, http.MethodPost, configMaps, "metadata: {name: x}\ndata:\n  a: &a few\n  b: *a\n", "Content-Type", "application/yaml")
	if code != http.StatusCreated {
		t.Errorf("%d %.300s", code, body)
	}
}
