package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestServerThatRepeatsCredentialsIsNotQuoted: what the server, or something before
// it, says of what it was sent.
func TestServerThatRepeatsCredentialsIsNotQuoted(t *testing.T) {
	s := newSecrecy(t)
	heard := func(r *http.Request) string {
		return fmt.Sprint(r.Header.Get("Authorization"), " ", r.Header)
	}
	status := func(code int, text string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q,"details":{"name":%q,"kind":%q,"causes":[{"reason":%q,"message":%q,"field":%q}]}}`,
			code, text, text, text, text, text, text, text)
	}
	answer := func(code int, contentType string, body func(string) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Audit-Id", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			w.Header().Set("X-Kubernetes-Pf-Flowschema-Uid", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			w.WriteHeader(code)
			io.WriteString(w, body(heard(r)))
		}
	}
	plain := func(text string) string { return text }
	for name, fault := range map[string]http.HandlerFunc{
		"401":  answer(401, "application/json", func(text string) string { return status(401, text) }),
		"403":  answer(403, "application/json", func(text string) string { return status(403, text) }),
		"500":  answer(500, "application/json", func(text string) string { return status(500, text) }),
		"html": answer(500, "text/html", plain), "text": answer(400, "text/plain", plain), "200": answer(200, "text/html", plain),
		"not a status": answer(200, "application/json", func(text string) string { return fmt.Sprintf(`{"kind":%q,"items":%q`, text, text) }),
		"a status":     answer(200, "application/json", func(text string) string { return status(200, text) }),
		"an event":     answer(200, "application/json", func(text string) string { return `{"type":"ERROR","object":` + status(500, text) + "}\n" }),
		"an odd event": answer(200, "application/json", func(text string) string { return fmt.Sprintf(`{"type":%q,"object":{}}`, text) + "\n" }),
		"content type": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", heard(r))
			io.WriteString(w, heard(r))
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://elsewhere.invalid/?"+r.Header.Get("Authorization"))
			w.WriteHeader(302)
		},
		"warning": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Warning", fmt.Sprintf("299 - %q", r.Header.Get("Authorization")))
			w.Header().Add("Warning", fmt.Sprintf("299 - %q", strings.Repeat("x", 1010)+r.Header.Get("Authorization")))
			apitest.Continue(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			end := []string{"--max-failures", "1"}
			if name == "warning" { // which is no failure
				end = []string{"--once"}
			}
			for _, match := range []apitest.Match{{}, {Verb: "watch"}} {
				f := s.srv.On(match, fault)
				config, out := s.config(t, "token", ""), t.TempDir()
				for _, args := range [][]string{
					{"list", "configmaps", "-v", "9", "--log-format", "json", "-o", "json"}, {"auth", "check", "secrets", "-o", "json"},
					append([]string{"watch", "secrets", "-v", "9", "--initial-list", "stream"}, end...),
					{"record", "secrets", "--file", filepath.Join(out, "a.lwrec.ndjson"), "--exit-after", "20ms", "-v", "9"},
				} {
					s.run(t, append(args, "--kubeconfig", config)...)
				}
				s.search(t, out)
				if f.Hits() == 0 {
					t.Errorf("%+v: it was not asked", match)
				}
				f.Remove()
			}
		})
	}
}

// TestRepeatedCredentialsAreNotPrinted: an answer that is no error may repeat them, too.
func TestRepeatedCredentialsAreNotPrinted(t *testing.T) {
	for _, token := range []string{"planted/token-of-a-flag", strings.Repeat("planted/token+of-an=account", 40)} {
		testRepeatedCredentials(t, token)
	}
}

func testRepeatedCredentials(t *testing.T, token string) {
	s := newSecrecy(t)
	s.srv.SetToken(token)
	s.planted["plain token"] = []string{token, token[8:23]} // one part is left by what cuts and cleans
	repeat := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			io.WriteString(w, strings.ReplaceAll(body, "TOKEN", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		}
	}
	s.srv.On(apitest.Match{Path: "/version"}, repeat(200, `{"gitVersion":"v1.36.0-`+strings.Repeat("x", 45)+`TOKEN"}`))
	s.srv.On(apitest.Match{Path: "/apis/authentication.k8s.io/v1/selfsubjectreviews"}, repeat(201, `{"status":{"userInfo":{"username":"TOKEN","groups":["TOKEN"],"extra":{"TOKEN":["TOKEN"]}}}}`))
	s.srv.On(apitest.Match{Path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"}, repeat(201, `{"status":{"reason":"TOKEN","evaluationError":"TOKEN"}}`))
	s.srv.On(apitest.Match{Verb: "list", Resource: "pods"}, repeat(200,
		`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"TOKEN\n","namespace":"d","uid":"u"}}]}`))
	s.srv.On(apitest.Match{Path: "/api"}, repeat(200, `{"kind":"APIVersions","versions":["v1"]}`))
	s.srv.On(apitest.Match{Path: "/api/v1"}, repeat(200,
		`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"TOKEN","singularName":"odd","kind":"Odd","namespaced":true,"verbs":["list","watch"]},{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list","watch"]}]}`))
	config := s.config(t, "token", "")
	for _, args := range [][]string{{"auth", "check"}, {"auth", "check", "odd"}, {"auth", "check", "odd", "-o", "json"}, {"list", "odd"}} {
		s.run(t, append(args, "--token", token, "--kubeconfig", config)...)
	}
	for _, format := range []string{"text", "json"} {
		_, _, stderr := runAtHome(t, "list", "pods", "-A", "--log-format", format, "--token", token, "--kubeconfig", config)
		if s.hold(t, "list's stderr", stderr); !strings.Contains(stderr, "(hidden)") {
			t.Errorf("it was not asked: %s", stderr)
		}
	}
}

// TestRepeatedCredentialsAreNotRecorded: neither with events nor with the traffic of another
// client, which does not see those of an error.
func TestRepeatedCredentialsAreNotRecorded(t *testing.T) {
	s := newSecrecy(t)
	heard := func(r *http.Request) string {
		_, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		return sent
	}
	s.srv.On(apitest.Match{Path: "/version"}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"gitVersion":"v1.36.0-%s"}`, heard(r))
	})
	s.srv.On(apitest.Match{Resource: "configmaps"}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Audit-Id", heard(r))
		if r.URL.Query().Get("refuse") != "" {
			w.WriteHeader(403)
		}
		half := heard(r)[:9]
		fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"message":"you sent %s`, half)
		http.NewResponseController(w).Flush()
		fmt.Fprintf(w, `%s","items":[{"metadata":{"name":"a","namespace":"default","uid":"u","labels":{"a":%q}}}]}`, heard(r)[9:], heard(r))
	})
	for _, user := range []string{"token", "basic"} {
		config, out := s.config(t, user, ""), t.TempDir()
		s.run(t, "record", "configmaps", "--file", filepath.Join(out, "a.lwrec.ndjson"), "--max-events", "1", "--initial-list", "paged", "--kubeconfig", config)
		file := filepath.Join(out, "b.lwrec.ndjson")
		rec := serveProgram(t, "record", "proxy", "127.0.0.1:0", "--file", file, "--kubeconfig", config)
		for query, code := range map[string]int{"": 200, "?refuse=1": 403} {
			got, body := get(t, rec.url+kube.ConfigMaps.Path("default")+query)
			if got != code {
				t.Errorf("%s: %d %s", user, got, body)
			}
			if code != 200 {
				s.hold(t, "an error of the proxy", body)
			}
		}
		rec.stop()
		s.search(t, out)
		if b, err := os.ReadFile(file); err != nil || strings.Count(string(b), `{\"a\":\"REDACTED`) != 2 {
			t.Errorf("it was not asked (%v): %s", err, b)
		}
	}
}
