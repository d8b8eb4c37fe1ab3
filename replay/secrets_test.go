package replay_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

const planted = "hunter2-do-not-keep"

var planted64 = base64.StdEncoding.EncodeToString([]byte(planted))

// unzipped is the text of a recording.
func unzipped(t *testing.T, b []byte) string {
	t.Helper()
	if !bytes.HasPrefix(b, []byte("\x1f\x8b")) {
		return string(b)
	}
	gz, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(gz)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func secretObject(name string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"d","name":%q,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}},"data":{"k":%q},"stringData":{"k":%q}}`,
		name, `{"data":{"k":"`+planted64+`"}}`, planted64, planted)
}

// TestSecretsNeverReachTheFile: the traffic of a watch of Secrets with broken
// frames, of events, and of whatever else could carry one.
func TestSecretsNeverReachTheFile(t *testing.T) {
	for _, o := range []replay.Options{{}, {Gzip: true}, {IncludeEnv: true}} {
		for _, fault := range []http.HandlerFunc{faults.CutEvent(400), faults.Chop(7), faults.Pretty(), faults.CRLF(), faults.Reset()} {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewInMemory(t)
				srv.Put(kube.Secrets, secretObject("a"))
				srv.Put(kube.Secrets, secretObject("b"))
				srv.On(apitest.Match{Verb: "watch"}, fault).Times(2)
				var f file
				w := newWriter(t, &f, o)
				cfg := proxied(t, w, srv)
				cfg.Token, cfg.PlainHTTP = planted, true
				c := newClient(t, cfg)
				s := w.Stream(replay.Target{Resource: kube.Secrets})
				secrets := client.Of[codec.RawFull](c, kube.Secrets)
				l := newLog(false)
				stop := watching(t.Context(), l, recorded{s, watch.New(secrets, watch.Options{Trace: s.Trace(watch.Trace{})})})
				paged := watching(t.Context(), newLog(false), watch.New(secrets, watch.Options{Initial: watch.Paged, Limit: 1}))
				table := secrets
				table.Accept.Object = "application/json;as=Table;g=meta.k8s.io;v=v1;includeObject=Object"
				tables := watching(t.Context(), newLog(false), watch.New(table, watch.Options{}))
				pass(time.Minute)
				srv.Put(kube.Secrets, secretObject("c"))
				srv.Delete(kube.Secrets, kube.Key{Namespace: "d", Name: "b"})
				if _, err := secrets.Get(t.Context(), kube.Key{Namespace: "d", Name: "a"}); err != nil {
					t.Fatal(err)
				}
				pass(time.Minute)
				stop()
				paged()
				tables()
				synctest.Wait()
				closed(t, w)
				if !strings.Contains(strings.Join(l.all(), ""), planted64) {
					t.Fatal("the watcher did not see the secret: the test tests nothing")
				}
				text := unzipped(t, f.bytes())
				for _, s := range []string{planted, planted64, planted64[:12]} {
					if i := strings.Index(text, s); i >= 0 {
						t.Fatalf("the file holds %q: ...%s", s, text[max(0, i-200):i])
					}
				}
				if !strings.Contains(text, `REDACTED`) || !strings.Contains(text, `\"name\":\"c\"`) && !strings.Contains(text, `"name":"c"`) {
					t.Errorf("the file lacks what is no secret")
				}
			})
		}
	}
}

// TestAnswersThatCarrySecrets: one by one, with what must be left of them.
func TestAnswersThatCarrySecrets(t *testing.T) {
	var zipped bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	_, _ = gz.Write([]byte(`{"kind":"Secret","data":{"k":"` + planted64 + `"}}`))
	_ = gz.Close()
	tests := []struct {
		name, method, path, typ, encoding, body string
		code                                    int
		want                                    string // the body as it is recorded; "" = filler
		o                                       replay.Options
	}{
		{name: "token review", method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews", body: `{"kind":"TokenReview","spec":{"token":"hunter2-do-not-keep"},"status":{"authenticated":true}}`,
			want: `{"kind":"TokenReview","spec":{"token":"REDACTEDREDACTEDRED"},"status":{"authenticated":true}}`, o: replay.Options{IncludeSecrets: true}},
		{name: "token request", method: "POST", path: "/api/v1/namespaces/d/serviceaccounts/x/token", body: `{"status":{"token":"hunter2-do-not-keep"}}`,
			want: `{"status":{"token":"REDACTEDREDACTEDRED"}}`},
		{name: "environment", path: "/api/v1/pods", body: `{"items":[{"spec":{"containers":[{"env":[{"value":"hunter2-do-not-keep"}]}]}}]}`,
			want: `{"items":[{"spec":{"containers":[{"env":[{"value":"REDACTEDREDACTEDRED"}]}]}}]}`},
		{name: "environment that is asked for", path: "/api/v1/pods", body: `{"items":[{"spec":{"containers":[{"env":[{"value":"plain"}]}]}}]}`,
			want: `{"items":[{"spec":{"containers":[{"env":[{"value":"plain"}]}]}}]}`, o: replay.Options{IncludeEnv: true}},
		{name: "protobuf", path: "/api/v1/secrets", typ: "application/vnd.kubernetes.protobuf", body: "k8s\x00" + planted},
		{name: "gzip that the caller asked for", path: "/api/v1/namespaces/d/secrets/a", encoding: "gzip", body: zipped.String()},
		{name: "a log", path: "/api/v1/namespaces/d/pods/a/log", typ: "text/plain", body: "password is " + planted},
		{name: "a log in JSON", path: "/api/v1/namespaces/d/pods/a/log", typ: "text/plain", body: `{"level":"info","password":"hunter2-do-not-keep"}` + "\n"},
		{name: "what a service answers", path: "/api/v1/namespaces/d/services/a:http/proxy/oauth", body: `{"access_token":"hunter2-do-not-keep"}`},
		{name: "a page of a pod", path: "/api/v1/namespaces/d/pods/a/proxy/", typ: "text/html", body: "<p>" + planted},
		{name: "what a node answers", path: "/api/v1/nodes/a/proxy/logs/", typ: "text/html", body: "<p>" + planted},
		{name: "a parameter of a service", path: "/api/v1/namespaces/d/services/a/proxy/x?key=" + planted, body: "{}"},
		{name: "a refused log", path: "/api/v1/namespaces/d/pods/a/log", code: 404, body: `{"kind":"Status"}`, want: `{"kind":"Status"}`},
		{name: "an object called proxy", path: "/api/v1/namespaces/pods/configmaps/proxy", body: `{"kind":"ConfigMap"}`, want: `{"kind":"ConfigMap"}`},
		{name: "a patch that was refused", method: "PATCH", path: "/api/v1/namespaces/d/secrets/a", code: 422,
			body: `{"kind":"Status","message":" \"\" is invalid: patch: Invalid value: \"{\\\"data\\\":{\\\"k\\\":\\\"` + planted64 + `\\\"}}\": no","details":{"causes":[{"message":"Invalid value: \"map[data:map[k:` + planted + `]]\": no","field":"patch"}]},"code":422}`,
			want: `{"kind":"Status","message":" \"\" is invalid: patch: Invalid value: \"{REDACTEDREDACTEDREDACTEDREDACTEDREDACTEDREDACTEDREDACTEDREDACTEDREDA","details":{"causes":[{"message":"Invalid value: \"map[REDACTEDREDACTEDREDACTEDREDACTEDREDACT","field":"patch"}]},"code":422}`},
		{name: "a Secret that was refused", method: "POST", path: "/api/v1/namespaces/d/secrets", code: 400,
			body: `{"kind":"Status","message":"unrecognized (hunter2-do-not-keep ...)","code":400}`,
			want: `{"kind":"Status","message":"unrecognized (REDACTEDREDACTEDREDACTED","code":400}`},
		{name: "the environment in a refusal", method: "PATCH", path: "/apis/apps/v1/namespaces/d/deployments/a", code: 422,
			body: `{"message":"Deployment (a): Invalid value: \"{\\\"value\\\":\\\"hunter2-do-not-keep\\\"}","kind":"Status"}`,
			want: `{"message":"Deployment (a): Invalid value: \"{REDACTEDREDACTEDREDACTEDREDACTEDREDACTEDRE","kind":"Status"}`},
		{name: "a refusal that quotes nothing", path: "/api/v1/namespaces/d/secrets/a", code: 404, body: `{"kind":"Status","message":"secrets \"a\" not found","code":404}`,
			want: `{"kind":"Status","message":"secrets \"a\" not found","code":404}`},
		{name: "no type", path: "/api/v1/secrets", typ: "nonsense;;", body: planted},
		{name: "text where JSON should be", path: "/api/v1/secrets", body: planted},
		{name: "text among secrets", path: "/api/v1/secrets", typ: "text/html", body: planted},
		{name: "YAML", path: "/api/v1/namespaces/d/configmaps", typ: "application/yaml", body: "kind: Secret\ndata: " + planted},
		{name: "a parameter", path: "/api/v1/pods?token=" + planted + "&x_secret=" + planted + "&limit=5", body: `{}`, want: `{}`},
		{name: "a proxy's page", path: "/api/v1/pods", typ: "text/html", code: 502, body: "<html>no</html>", want: "<html>no</html>"},
		{name: "health", path: "/readyz", typ: "text/plain", body: "ok", want: "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if tt.typ == "" {
						tt.typ = "application/json"
					}
					w.Header().Set("Content-Type", tt.typ)
					if tt.encoding != "" {
						w.Header().Set("Content-Encoding", tt.encoding)
					}
					w.Header().Set("Set-Cookie", planted)
					w.Header().Set("Location", "/?token="+planted)
					w.WriteHeader(max(200, tt.code))
					_, _ = io.WriteString(w, tt.body)
				}))
				var f file
				w := newWriter(t, &f, tt.o)
				transport := &http.Transport{DialContext: cfg.Dial}
				defer transport.CloseIdleConnections()
				req, err := http.NewRequestWithContext(t.Context(), tt.method, cfg.Server+tt.path, strings.NewReader(planted))
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"Authorization", "Cookie", "X-Remote-User", "Impersonate-User", "Proxy-Authorization"} {
					req.Header.Set(name, planted)
				}
				req.Header.Set("Accept-Encoding", "gzip")
				resp, err := w.Transport(transport).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if err != nil || string(got) != tt.body {
					t.Errorf("the caller got %q, %v", got, err)
				}
				resp.Body.Close()
				closed(t, w)
				if text := string(f.bytes()); strings.Contains(text, planted) || strings.Contains(text, planted64) {
					t.Errorf("the file holds it:\n%s", text)
				}
				var kept []byte
				for _, e := range load(t, f.bytes()).Entries {
					if e.Kind == replay.KindChunk {
						b, _ := e.Body()
						kept = append(kept, b...)
					}
				}
				if want := tt.want; want != "" && string(kept) != want || len(kept) != len(tt.body) {
					t.Errorf("%q is kept of %q", kept, tt.body)
				}
			})
		})
	}
}

// TestIncludeSecretsKeepsThem, but no credentials.
func TestIncludeSecretsKeepsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		srv.Put(kube.Secrets, secretObject("a"))
		var f file
		w := newWriter(t, &f, replay.Options{IncludeSecrets: true})
		cfg := proxied(t, w, srv)
		cfg.Token, cfg.PlainHTTP = "credential-of-ours", true
		c := newClient(t, cfg)
		if _, err := client.Of[codec.Raw](c, kube.Secrets).Get(t.Context(), kube.Key{Namespace: "d", Name: "a"}); err != nil {
			t.Fatal(err)
		}
		closed(t, w)
		text := string(f.bytes())
		if !strings.Contains(text, planted64) || strings.Contains(text, "credential-of-ours") {
			t.Errorf("%s", text)
		}
	})
}

// TestRecordingsAreJSON: a collection that would come in protobuf, of which a recording
// holds nothing but filler, comes in JSON.
func TestRecordingsAreJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		srv.Put(kube.ConfigMaps, `{"metadata":{"name":"kept","namespace":"d"}}`)
		var f file
		w := newWriter(t, &f, replay.Options{})
		cfg := proxied(t, w, srv)
		c := newClient(t, cfg)
		for ev, err := range watch.Once(t.Context(), client.Of[kube.Partial](c, kube.ConfigMaps), "", watch.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type == watch.Synced {
				break
			}
		}
		closed(t, w)
		if text := string(f.bytes()); !strings.Contains(text, `\"name\":\"kept\"`) || strings.Contains(text, "protobuf") {
			t.Errorf("%s", text)
		}
	})
}
