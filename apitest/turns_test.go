package apitest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/internal/intake"
	"github.com/listwatch/listwatch/kube"
)

// stuck is a writer of a response that is made, but not sent for a while.
type stuck struct {
	http.ResponseWriter
	goOn <-chan struct{}
	made chan<- bool // may be nil
	once sync.Once
}

func (w *stuck) Write(b []byte) (int, error) {
	w.once.Do(func() {
		if w.made != nil {
			w.made <- true
		}
		<-w.goOn
	})
	return w.ResponseWriter.Write(b)
}

// TestHeavyRequestsTakeTurns: whatever decodes a large object waits for another request that does,
// even if it sends little itself. Small requests and plain reads wait for none.
func TestHeavyRequestsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // of the bubble: ended connections stay for 500 ms
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoValidation: true})
		const configs, pods = "/api/v1/namespaces/a/configmaps", "/api/v1/namespaces/a/pods"
		large := func(name string) string {
			return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"a":"%s"}}`, name, strings.Repeat("x", 2_500_000))
		}
		ask := func(method, path, body string, header ...string) (code int, took time.Duration) {
			began := time.Now()
			resp, err := send(t.Context(), srv, method, path, body, header...)
			if err != nil {
				t.Error(err)
				return 0, 0
			}
			defer resp.Body.Close()
			io.Copy(io.Discard, resp.Body)
			if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
				t.Errorf("%s %s gets 429 without Retry-After", method, path)
			}
			return resp.StatusCode, time.Since(began)
		}
		for _, name := range []string{"one", "two"} {
			if code, _ := ask(http.MethodPost, configs, large(name)); code != http.StatusCreated {
				t.Fatalf("HTTP %d", code)
			}
		}
		ask(http.MethodPost, configs, `{"metadata":{"name":"small"}}`)
		goOn := make(chan struct{})
		srv.On(apitest.Match{UserAgent: "stuck"}, func(w http.ResponseWriter, r *http.Request) {
			apitest.Continue(&stuck{ResponseWriter: w, goOn: goOn}, r)
		})
		var all sync.WaitGroup
		merge := []string{"Content-Type", "application/merge-patch+json"}
		all.Go(func() {
			if code, _ := ask(http.MethodPatch, configs+"/one", large("one"), append(merge, "User-Agent", "stuck")...); code != http.StatusOK {
				t.Errorf("the first patch gets HTTP %d", code)
			}
		})
		synctest.Wait()
		const strategic, jsonPatch, apply = "application/strategic-merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
		for _, c := range []struct {
			what, method, path, body string
			header                   []string
			waits                    bool
		}{
			{"a small write", http.MethodPatch, configs + "/small", `{"data":{"a":"b"}}`, merge, false},
			{"a read as it is", http.MethodGet, configs + "/two", "", nil, false},
			{"a list as it is", http.MethodGet, configs, "", nil, false},
			{"metadata of a list", http.MethodGet, configs, "", []string{"Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}, false},
			{"a create", http.MethodPost, configs, large("three"), nil, true},
			{"a dry run", http.MethodPost, configs + "?dryRun=All", large("three"), nil, true},
			{"an update", http.MethodPut, configs + "/two", large("two"), nil, true},
			{"a small update of a large object", http.MethodPut, configs + "/two", `{"metadata":{"name":"two"}}`, nil, true},
			{"a small patch of a large object", http.MethodPatch, configs + "/two", `{"metadata":{"labels":{"a":"b"}}}`, merge, true},
			{"a strategic patch", http.MethodPatch, configs + "/two", `{}`, []string{"Content-Type", strategic}, true},
			{"a JSON patch", http.MethodPatch, configs + "/two", `[]`, []string{"Content-Type", jsonPatch}, true},
			{"a JSON patch that copies", http.MethodPatch, configs + "/small", `[{"op":"copy","from":"/data","path":"/a"}]`, []string{"Content-Type", jsonPatch}, true},
			{"an apply", http.MethodPatch, configs + "/two?fieldManager=a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"two"}}`, []string{"Content-Type", apply}, true},
			{"a status", http.MethodPatch, pods + "/none/status", large("none"), merge, true},
			{"a binding", http.MethodPost, pods + "/none/binding", large("none"), nil, true},
			{"a review", http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", large("none"), nil, true},
			{"a deletion", http.MethodDelete, configs + "/two", "", nil, true},
			{"a deletion of all", http.MethodDelete, configs, large("none"), nil, true},
			{"a deletion of all, shown as YAML", http.MethodDelete, configs, "", []string{"Accept", "application/yaml"}, true},
			{"a read as a Table", http.MethodGet, configs + "/two", "", []string{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}, true},
			{"a read in protobuf", http.MethodGet, configs + "/two", "", []string{"Accept", "application/vnd.kubernetes.protobuf"}, true},
			{"a list as a Table", http.MethodGet, configs, "", []string{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}, true},
			{"a list in protobuf", http.MethodGet, configs, "", []string{"Accept", "application/vnd.kubernetes.protobuf"}, true},
			{"a read as YAML", http.MethodGet, configs + "/two", "", []string{"Accept", "application/yaml"}, true},
		} {
			code, took := ask(c.method, c.path, c.body, slices.Clone(c.header)...)
			if waited := took == intake.Patience && code == http.StatusTooManyRequests; waited != c.waits || !c.waits && (took > 0 || code != http.StatusOK) {
				t.Errorf("%s gets HTTP %d after %v", c.what, code, took)
			}
		}
		close(goOn)
		all.Wait()
		if code, took := ask(http.MethodPatch, configs+"/two", large("two"), merge...); code != http.StatusOK || took > 0 {
			t.Errorf("a patch, when no other is made, gets HTTP %d after %v", code, took)
		}
	})
}

// TestSmallRequestsAreLimitedTogether: while many light requests are decoded, a further one waits,
// but neither a tiny nor a heavy one. Tiny ones are limited in the same way.
func TestSmallRequestsAreLimitedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // of the bubble: ended connections stay for 500 ms
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoValidation: true})
		goOn := make(chan struct{})
		srv.On(apitest.Match{UserAgent: "stuck"}, func(w http.ResponseWriter, r *http.Request) {
			apitest.Continue(&stuck{ResponseWriter: w, goOn: goOn}, r)
		})
		create := func(size int, header ...string) (code int, took time.Duration) {
			began := time.Now()
			body := `{"metadata":{"generateName":"a"},"data":{"a":"` + strings.Repeat("x", size) + `"}}`
			resp, err := send(t.Context(), srv, http.MethodPost, "/api/v1/namespaces/a/configmaps?dryRun=All", body, header...)
			if err != nil {
				t.Error(err)
				return 0, 0
			}
			defer resp.Body.Close()
			io.Copy(io.Discard, resp.Body)
			return resp.StatusCode, time.Since(began)
		}
		var all sync.WaitGroup
		busy := map[int]bool{}
		for _, size := range []int{60 << 10, 500} {
			for range intake.AtATime {
				all.Go(func() { create(size, "User-Agent", "stuck") })
			}
			synctest.Wait()
			busy[size] = true
			for _, size := range []int{500, 60 << 10, 2_000_000} {
				code, took := create(size)
				if waits := code == http.StatusTooManyRequests; waits != busy[size] || (took > 0) != waits {
					t.Errorf("a request with %d bytes gets HTTP %d after %v", size, code, took)
				}
			}
		}
		close(goOn)
		all.Wait()
		if code, took := create(60 << 10); code != http.StatusCreated || took > 0 {
			t.Errorf("a request, when no other is made, gets HTTP %d after %v", code, took)
		}
	})
}

// TestWebhooksHoldNoTurn: while a webhook is called for some requests, others are decoded: those
// that the webhook sends itself, and as many light ones as there are.
func TestWebhooksHoldNoTurn(t *testing.T) {
	srv, h := apitest.NewWith(t, apitest.Options{NoValidation: true}), newHookServer(t)
	const inner, light = "/api/v1/namespaces/a/secrets", 9 // of which 8 have turns at a time
	post := func(path, typ, body string) int {
		resp, err := send(t.Context(), srv, http.MethodPost, path, body, "Content-Type", typ)
		if err != nil {
			t.Error(err)
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	large := `{"metadata":{"generateName":"a"},"data":{"a":"` + strings.Repeat("x", 2_500_000) + `"}}`
	h.answers["/writes"] = func(map[string]any) any {
		return map[string]any{"allowed": post(inner, "application/json", large) == http.StatusCreated}
	}
	called, goOn, codes := make(chan bool, light), make(chan bool), make(chan int, light)
	h.answers["/waits"] = func(map[string]any) any {
		called <- true
		<-goOn
		return map[string]any{"allowed": true}
	}
	h.configure(srv, "Mutating", "/writes", strings.Replace(aboutConfigMaps, "configmaps", "podtemplates", 1), `,"timeoutSeconds":20`)
	h.configure(srv, "Validating", "/waits", aboutConfigMaps, `,"timeoutSeconds":30`)
	if code := post("/api/v1/namespaces/a/podtemplates", "application/json", large); code != http.StatusCreated {
		t.Errorf("a write whose webhook writes gets HTTP %d", code)
	}
	small := "metadata: {generateName: a}\ndata: {a: " + strings.Repeat("x", 60_000) + "}\n"
	var all sync.WaitGroup
	for range light {
		all.Go(func() { codes <- post("/api/v1/namespaces/a/configmaps", "application/yaml", small) })
	}
	for range light {
		select {
		case <-called:
		case code := <-codes:
			t.Errorf("while a webhook is called for others, one gets HTTP %d", code)
		}
	}
	close(goOn)
	all.Wait()
}

// TestHooksHoldNoTurn: more tiny writes than there are turns wait in a hook of the test at a time.
func TestHooksHoldNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // of the bubble: ended connections stay for 500 ms
		srv, goOn, began := apitest.NewWith(t, apitest.Options{InMemory: true}), make(chan struct{}), time.Now()
		srv.Mutate(apitest.Match{}, func(*apitest.Admission) error {
			<-goOn
			return nil
		})
		var all sync.WaitGroup
		for range intake.AtATime + 1 {
			all.Go(func() {
				resp, err := send(t.Context(), srv, http.MethodPost, "/api/v1/namespaces/a/configmaps", `{"metadata":{"generateName":"a"}}`, "Content-Type", "application/json")
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusCreated || time.Since(began) != time.Minute {
					t.Errorf("HTTP %d after %v", resp.StatusCode, time.Since(began))
				}
			})
		}
		time.Sleep(time.Minute)
		close(goOn)
		all.Wait()
	})
}

// TestWritesThatWaitHoldLittle: while its webhook is called, a write holds its JSON, and not what
// it decoded.
func TestWritesThatWaitHoldLittle(t *testing.T) {
	const writes = 4 // one after the other: none waits for the turn of another
	srv, called := apitest.New(t), make(chan bool)
	goOn := map[string]chan bool{"/mutates": make(chan bool), "/validates": make(chan bool)}
	h := &hookServer{t: t, Server: httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<10))
		io.Copy(io.Discard, r.Body)
		_, uid, _ := strings.Cut(string(b), `"uid":"`)
		called <- true
		<-goOn[r.URL.Path]
		fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"%.36s","allowed":true}}`, uid)
	}))}
	t.Cleanup(h.Close)
	srv.AddResource(apitest.ResourceInfo{Resource: kube.Resource{Group: "x.io", Version: "v1", Plural: "ks", Kind: "K", Namespaced: true},
		Schema: json.RawMessage(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`)})
	about := strings.NewReplacer(`""`, `"*"`, "configmaps", `ks","pods`).Replace(aboutConfigMaps)
	h.configure(srv, "Mutating", "/mutates", about, `,"timeoutSeconds":30`)
	h.configure(srv, "Validating", "/validates", about, `,"timeoutSeconds":30`)
	many := func(part string, n int) string { return strings.Repeat(part+",", n) + part }
	for path, body := range map[string]string{
		"/apis/x.io/v1/namespaces/a/ks": `{"apiVersion":"x.io/v1","kind":"K","metadata":{"generateName":"a"},"x":[` + many(`{"a":0}`, 200_000) + `]}`,
		"/api/v1/namespaces/a/pods":     `{"metadata":{"generateName":"a"},"spec":{"containers":[{"name":"a","image":"b","env":[` + many(`{"name":"x","value":"y"}`, 50_000) + `]}]}}`,
	} {
		before := heapMiB()
		var all sync.WaitGroup
		post := func() {
			resp, err := send(t.Context(), srv, http.MethodPost, path+"?dryRun=All", body, "Content-Type", "application/json")
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusCreated {
				t.Errorf("HTTP %d", resp.StatusCode)
			}
		}
		check := func(what string) {
			if held, most := heapMiB()-before, 15*writes*len(body)>>20; held > most { // they decode 25 to 45 times their JSON
				t.Errorf("%d writes of %d bytes to %s hold %d MiB while the webhook %s, want at most %d", writes, len(body), path, held, what, most)
			}
		}
		for range writes {
			all.Go(post)
			<-called
		}
		check("mutates")
		for range writes {
			goOn["/mutates"] <- true
			<-called
		}
		check("validates")
		for range writes {
			goOn["/validates"] <- true
		}
		all.Wait()
	}
}

// TestListsInAnotherVersionTakeTheWholeTurn: defaults may make small objects large. A list to which
// they add too much is refused, and comes in pages.
func TestListsInAnotherVersionTakeTheWholeTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // of the bubble: ended connections stay for 500 ms
		srv := apitest.NewWith(t, apitest.Options{InMemory: true})
		version := func(name, schema string) string {
			return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","properties":{%s}}}}`, name, name == "v1", schema)
		}
		accept := ""
		ask := func(method, path, body, agent string) (code int, took time.Duration, answer string) {
			began := time.Now()
			resp, err := send(t.Context(), srv, method, path, body, "Content-Type", "application/json", "User-Agent", agent, "Accept", accept)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, time.Since(began), string(b)
		}
		ask(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"ks.x.io"},"spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"ks","kind":"K","singular":"k","listKind":"KList"},"versions":[`+
			version("v1", "")+`,`+version("v2", `"a":{"type":"string","default":"`+strings.Repeat("x", 250_000)+`"}`)+`]}}`, "")
		for i := range 200 {
			if code, _, body := ask(http.MethodPost, "/apis/x.io/v1/namespaces/a/ks", fmt.Sprintf(`{"apiVersion":"x.io/v1","kind":"K","metadata":{"name":"k%d"}}`, i), ""); code != http.StatusCreated {
				t.Fatalf("HTTP %d %.300s", code, body)
			}
		}
		const table, yaml = "application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml"
		for _, c := range []struct {
			method, path, accept string
			code                 int
		}{
			{http.MethodGet, "v1/ks", "", http.StatusOK},
			{http.MethodGet, "v2/ks", "", http.StatusRequestEntityTooLarge},
			{http.MethodGet, "v2/ks", yaml, http.StatusRequestEntityTooLarge},
			{http.MethodGet, "v2/ks?includeObject=Object", table, http.StatusRequestEntityTooLarge},
			{http.MethodGet, "v2/ks", table, http.StatusOK},
			{http.MethodDelete, "v2/namespaces/a/ks", "", http.StatusRequestEntityTooLarge},
			{http.MethodGet, "v2/ks?limit=100", "", http.StatusOK},
			{http.MethodGet, "v2/namespaces/a/ks/k199", "", http.StatusOK},
		} {
			accept = c.accept
			if code, _, body := ask(c.method, "/apis/x.io/"+c.path, "", ""); code != c.code {
				t.Errorf("%s: HTTP %d %.300s", c.path, code, body)
			} else if code != http.StatusOK && !strings.Contains(body, "The defaults of version v2 add more than 33554432 bytes to this list") {
				t.Errorf("%s: %.300s", c.path, body)
			}
		}
		goOn := make(chan struct{})
		srv.On(apitest.Match{UserAgent: "stuck"}, func(w http.ResponseWriter, r *http.Request) {
			apitest.Continue(&stuck{ResponseWriter: w, goOn: goOn}, r)
		})
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				ask(http.MethodPost, "/api/v1/namespaces/a/configmaps?dryRun=All", `{"metadata":{"name":"a"},"data":{"a":"`+strings.Repeat("x", 1_000_000)+`"}}`, "stuck")
			})
		}
		synctest.Wait()
		for path, want := range map[string]int{"v1/ks": http.StatusOK, "v2/ks?limit=2": http.StatusTooManyRequests, "v2/namespaces/a/ks/k1": http.StatusOK} {
			for _, accept = range []string{"", table, yaml} {
				if code, took, _ := ask(http.MethodGet, "/apis/x.io/"+path, "", ""); code != want || (took > 0) != (code != http.StatusOK) {
					t.Errorf("%s as %q beside heavy writes: HTTP %d after %v", path, accept, code, took)
				}
			}
		}
		close(goOn)
		all.Wait()
	})
}

// postTo returns a function that posts, and sends the code of the answer, 0 for none.
func postTo(t *testing.T, srv *apitest.Server, done chan<- int) func(path, agent, body string) {
	return func(path, agent, body string) {
		resp, err := send(t.Context(), srv, http.MethodPost, path, body, "User-Agent", agent, "Content-Type", "application/json")
		if err != nil {
			t.Error(err)
			done <- 0
			return
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		done <- resp.StatusCode
	}
}

// TestWhatAWebhookAddsTakesATurn, as if the client had sent it: before its patch is decoded, and
// when the write goes on after the last webhook.
func TestWhatAWebhookAddsTakesATurn(t *testing.T) {
	for _, when := range []string{"before the patch", "before the last webhook returns"} {
		srv, h := apitest.NewWith(t, apitest.Options{NoValidation: true}), newHookServer(t)
		goOn, done, called, last, made := make(chan struct{}), make(chan int, 2), make(chan bool, 1), make(chan bool, 1), make(chan bool, 1)
		srv.On(apitest.Match{UserAgent: "stuck"}, func(w http.ResponseWriter, r *http.Request) {
			apitest.Continue(&stuck{ResponseWriter: w, goOn: goOn, made: made}, r)
		})
		post := postTo(t, srv, done)
		hold := func() { // most of the turns
			go post("/api/v1/namespaces/a/secrets", "stuck", `{"metadata":{"name":"a"},"data":{"a":"`+strings.Repeat("x", 2_500_000)+`"}}`)
			<-made
		}
		h.answers["/adds"] = func(map[string]any) any {
			patch := `[{"op":"add","path":"/data","value":{"a":"` + strings.Repeat("x", 2_000_000) + `"}}]`
			called <- true
			return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": []byte(patch)}
		}
		h.answers["/last"] = func(map[string]any) any {
			if when != "before the patch" {
				hold()
			}
			last <- true
			return map[string]any{"allowed": true}
		}
		h.configure(srv, "Mutating", "/adds", aboutConfigMaps, `,"timeoutSeconds":20`)
		h.configure(srv, "Mutating", "/last", aboutConfigMaps, `,"timeoutSeconds":20`)
		if when == "before the patch" {
			hold()
		}
		go post("/api/v1/namespaces/a/configmaps", "", `{"metadata":{"name":"a"}}`)
		<-called
		if when != "before the patch" {
			<-last
		}
		select {
		case <-last:
			t.Errorf("%s: it is decoded while another request has the turn", when)
		case code := <-done:
			t.Errorf("%s: HTTP %d while another request has the turn", when, code)
			done <- code
		case <-time.After(500 * time.Millisecond):
		}
		close(goOn)
		for range 2 {
			if code := <-done; code != http.StatusCreated {
				t.Errorf("%s: HTTP %d", when, code)
			}
		}
	}
}

// TestWhatASecondWebhookSeesTakesATurn, if it gets the object in another version.
func TestWhatASecondWebhookSeesTakesATurn(t *testing.T) {
	srv, h := apitest.NewWith(t, apitest.Options{NoValidation: true}), newHookServer(t)
	goOn, made, last, done := make(chan struct{}), make(chan bool, 1), make(chan bool, 1), make(chan int, 2)
	srv.On(apitest.Match{UserAgent: "stuck"}, func(w http.ResponseWriter, r *http.Request) {
		apitest.Continue(&stuck{ResponseWriter: w, goOn: goOn, made: made}, r)
	})
	post := postTo(t, srv, done)
	post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", twoVersions("v1"))
	if code := <-done; code != http.StatusCreated {
		t.Fatalf("HTTP %d", code)
	}
	h.answers["/first"] = func(map[string]any) any {
		go post("/api/v1/namespaces/a/secrets", "stuck", `{"metadata":{"name":"a"},"data":{"a":"`+strings.Repeat("x", 2_500_000)+`"}}`)
		<-made
		return map[string]any{"allowed": true}
	}
	h.answers["/last"] = func(map[string]any) any {
		last <- true
		return map[string]any{"allowed": true}
	}
	about := func(version string) string {
		return strings.NewReplacer(`""`, `"example.com"`, `"v1"`, `"`+version+`"`, "configmaps", "widgets").Replace(aboutConfigMaps)
	}
	h.configure(srv, "Mutating", "/first", about("v1"), `,"timeoutSeconds":20`)
	h.configure(srv, "Mutating", "/last", about("v1alpha1"), `,"timeoutSeconds":20,"matchPolicy":"Equivalent"`)
	go post(fmt.Sprintf(widgets, "v1"), "", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"color":"`+strings.Repeat("x", 2_000_000)+`"}}`)
	select {
	case <-last:
		t.Error("the object is converted for the second webhook while another request has the turn")
	case code := <-done:
		t.Errorf("HTTP %d while another request has the turn", code)
		done <- code
	case <-time.After(time.Second):
	}
	close(goOn)
	for range 2 {
		if code := <-done; code != http.StatusCreated {
			t.Errorf("HTTP %d", code)
		}
	}
	if len(last) != 1 {
		t.Error("the second webhook was not called")
	}
}
