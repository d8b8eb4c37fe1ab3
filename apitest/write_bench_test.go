package apitest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// A writing is one write of many to the same object, which bears the name o and is
// there, or to none.
type writing struct {
	name, method, path, media string
	body                      func(n int) string
}

const (
	widgetPath = "/apis/example.com/v1/namespaces/a/widgets"
	podPath    = "/api/v1/namespaces/a/pods"
	mapPath    = "/api/v1/namespaces/a/configmaps"
)

// realPod is a pod of about 5 KB, as its author writes it.
func realPod(name string, n int) string {
	var env strings.Builder
	for i := range 40 {
		fmt.Fprintf(&env, `{"name":"SOME_VARIABLE_%d","value":"some value of some length"},`, i)
	}
	container := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"image":"registry.example.com/team/app:1.%d","args":["--v=2","--leader-elect"],"env":[%s{"name":"Z","value":"z"}],
			"ports":[{"name":"http","containerPort":8080},{"name":"metrics","containerPort":9090}],
			"resources":{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},
			"readinessProbe":{"httpGet":{"path":"/ready","port":"http"},"periodSeconds":5},
			"volumeMounts":[{"name":"config","mountPath":"/etc/app"},{"name":"data","mountPath":"/data"}]}`, name, n, env.String())
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"app":"app","tier":"back"},"annotations":{"n":"%d"}},
		"spec":{"nodeName":"node-1","serviceAccountName":"app","containers":[%s],
		"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
		"volumes":[{"name":"config","configMap":{"name":"app"}},{"name":"data","emptyDir":{}}]}}`, name, n, container("app")+","+strings.ReplaceAll(container("side"), env.String(), ""))
}

func realPodStatus(n int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"o"},"status":{"phase":"Running","podIP":"10.0.0.1","hostIP":"10.1.0.1",
		"podIPs":[{"ip":"10.0.0.1"}],"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:%02dZ"},
		{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}],
		"containerStatuses":[{"name":"app","ready":true,"restartCount":%d,"image":"i","imageID":"i","state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}}`, n%60, n)
}

func widget(name string, n int) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":%q,"labels":{"app":"w"}},
		"spec":{"size":%d,"color":"red","parts":[{"name":"a","weight":1},{"name":"b","weight":2}],"options":{"x":"1","y":"2"}}}`, name, n)
}

const widgetSchema = `{"type":"object","properties":{
	"spec":{"type":"object","required":["size"],"properties":{"size":{"type":"integer","minimum":0},"color":{"type":"string","enum":["red","green"]},
		"mode":{"type":"string","default":"auto"},"options":{"type":"object","additionalProperties":{"type":"string"}},
		"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
			"properties":{"name":{"type":"string"},"weight":{"type":"integer"}}}}}},
	"status":{"type":"object","properties":{"phase":{"type":"string"},"seen":{"type":"integer"}}}}}`

// widgetServer has what the writes below need.
func widgetServer(b testing.TB, o apitest.Options) *apitest.Server {
	o.InMemory = true
	o.Resources = []apitest.ResourceInfo{{Resource: kube.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true},
		Status: true, Schema: []byte(widgetSchema)}}
	return apitest.NewWith(b, o)
}

func writings() []writing {
	const as, js = "?fieldManager=me", "application/json"
	configMap := func(name string, n int) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"data":{"k":"%d","other":"value"}}`, name, n)
	}
	each := func(f func(string, int) string) func(int) string {
		return func(n int) string { return f(fmt.Sprintf("n%d", n), n) }
	}
	one := func(f func(string, int) string) func(int) string { return func(n int) string { return f("o", n) } }
	const merge, strategic, patch, apply = "application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
	image := func(n int) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}},"spec":{"containers":[{"name":"side","image":"other:%d"}]}}`, n, n)
	}
	return []writing{
		{"configmap/create", http.MethodPost, mapPath + as, js, each(configMap)},
		{"configmap/update", http.MethodPut, mapPath + "/o" + as, js, one(configMap)},
		{"pod/create", http.MethodPost, podPath + as, js, each(realPod)},
		{"pod/update", http.MethodPut, podPath + "/o" + as, js, one(realPod)},
		{"pod/status", http.MethodPut, podPath + "/o/status" + as, js, realPodStatus},
		{"pod/merge", http.MethodPatch, podPath + "/o" + as, merge, func(n int) string { return fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n) }},
		{"pod/strategic", http.MethodPatch, podPath + "/o" + as, strategic, image},
		{"pod/json", http.MethodPatch, podPath + "/o" + as, patch, func(n int) string {
			return fmt.Sprintf(`[{"op":"replace","path":"/metadata/annotations/n","value":"%d"}]`, n)
		}},
		{"pod/apply", http.MethodPatch, podPath + "/o?fieldManager=app&force=true", apply, one(realPod)},
		{"pod/statusmerge", http.MethodPatch, podPath + "/o/status" + as, strategic, func(n int) string {
			return fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","message":"%d"}]}}`, n)
		}},
		{"widget/create", http.MethodPost, widgetPath + as, js, each(widget)},
		{"widget/update", http.MethodPut, widgetPath + "/o" + as, js, func(n int) string {
			return strings.Replace(widget("o", n+1), `"name":"o"`, fmt.Sprintf(`"name":"o","resourceVersion":"%d"`, 101+n), 1)
		}},
		{"widget/merge", http.MethodPatch, widgetPath + "/o" + as, merge, func(n int) string { return fmt.Sprintf(`{"spec":{"size":%d}}`, n) }},
		{"widget/apply", http.MethodPatch, widgetPath + "/o?fieldManager=app&force=true", apply, one(widget)},
		{"widget/status", http.MethodPatch, widgetPath + "/o/status" + as, merge, func(n int) string { return fmt.Sprintf(`{"status":{"phase":"Up","seen":%d}}`, n) }},
	}
}

// serve sends the nth request of w to srv.
func (w writing) serve(b testing.TB, srv *apitest.Server, n int) {
	r := httptest.NewRequest(w.method, w.path, strings.NewReader(w.body(n)))
	r.Header.Set("Content-Type", w.media)
	answer := httptest.NewRecorder()
	answer.Body = new(bytes.Buffer)
	if srv.ServeHTTP(answer, r); answer.Code > 201 {
		b.Fatalf("%s %s: %d %s", w.method, w.path, answer.Code, answer.Body)
	}
}

// prepare creates the object to which w writes.
func (w writing) prepare(b testing.TB, srv *apitest.Server) {
	at := strings.Index(w.path, "/o")
	if at < 0 {
		return
	}
	create := writings()[0]
	for _, c := range writings() {
		if strings.HasPrefix(c.path, w.path[:at]+"?") {
			create = c
		}
	}
	body := realPod("o", 0)
	switch create.name {
	case "configmap/create":
		body = `{"metadata":{"name":"o"}}`
	case "widget/create":
		body = widget("o", 0)
	}
	create.body = func(int) string { return body }
	create.serve(b, srv, 0)
}

// BenchmarkWriteKinds are writes of every kind through the handler, in process.
func BenchmarkWriteKinds(b *testing.B) {
	for _, w := range writings() {
		b.Run(w.name, func(b *testing.B) {
			srv := widgetServer(b, apitest.Options{NoValidation: true})
			w.prepare(b, srv)
			b.ReportAllocs()
			start := spent(b)
			for n := 0; b.Loop(); n++ {
				w.serve(b, srv, n)
			}
			cpu(b, start, b.N)
		})
	}
}

// BenchmarkParallelWrites are updates from several goroutines at once, each of its
// own object.
func BenchmarkParallelWrites(b *testing.B) {
	srv := widgetServer(b, apitest.Options{})
	var names atomic.Int64
	start := spent(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		name := fmt.Sprintf("p%d", names.Add(1))
		create := writing{method: http.MethodPost, path: podPath, media: "application/json", body: func(int) string { return realPod(name, 0) }}
		update := writing{method: http.MethodPatch, path: podPath + "/" + name, media: "application/merge-patch+json",
			body: func(n int) string { return fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n) }}
		create.serve(b, srv, 0)
		for n := 1; pb.Next(); n++ {
			update.serve(b, srv, n)
		}
	})
	cpu(b, start, b.N)
}

// BenchmarkCreate50000: through the handler.
func BenchmarkCreate50000(b *testing.B) {
	start := spent(b)
	create := writings()[0]
	for b.Loop() {
		srv := widgetServer(b, apitest.Options{})
		for n := range 50_000 {
			create.serve(b, srv, n)
		}
		srv.Close()
	}
	cpu(b, start, b.N)
}
