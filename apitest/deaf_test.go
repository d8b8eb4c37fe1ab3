package apitest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// heapMiB returns how many bytes are in use, in MiB.
func heapMiB() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}

// rewrite gives each of n ConfigMaps a new state of 16 KiB.
func rewrite(srv *apitest.Server, n, round int) {
	text := strings.Repeat(fmt.Sprint(round%10), 16<<10)
	for i := range n {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"c%03d"},"data":{"a":%q}}`, i, text))
	}
}

// askHead sends a request and reads the head of the answer only.
func askHead(t *testing.T, srv *apitest.Server, path string) *http.Response {
	t.Helper()
	c, err := srv.Dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// TestWatchesThatNobodyReadsHoldLittle: each begins at another state of all objects, and
// sends none of it. What the server has forgotten, a watch does not keep: it ends.
func TestWatchesThatNobodyReadsHoldLittle(t *testing.T) {
	for name, query := range map[string]string{
		"initial events": "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		"from 0":         "watch=1&resourceVersion=0",
		"from now":       "watch=1&resourceVersion=%d",
	} {
		t.Run(name, func(t *testing.T) {
			srv := apitest.NewWith(t, apitest.Options{InMemory: true, History: 50, NoManagedFields: true})
			const objects, rounds = 200, 30 // 3 MiB a round
			rewrite(srv, objects, 0)
			var first *http.Response
			before := heapMiB()
			for round := range rounds {
				at := query
				if strings.Contains(at, "%d") {
					_, rv := srv.List(kube.ConfigMaps)
					at = fmt.Sprintf(at, rv)
				}
				resp := askHead(t, srv, "/api/v1/configmaps?"+at)
				if first == nil {
					first = resp
				}
				rewrite(srv, objects, round)
			}
			if held := heapMiB() - before; held > 30 {
				t.Errorf("%d watches hold %d MiB", rounds, held)
			}
			b, err := io.ReadAll(first.Body)
			if n := strings.Count(string(b), `"type":"ADDED"`); err != nil || n >= objects || strings.Contains(string(b), "initial-events-end") {
				t.Errorf("the first one sent %d objects, %v; the end mark: %t", n, err, strings.Contains(string(b), "initial-events-end"))
			}
		})
	}
}

// TestWatchesShareWhatTheyHaveYetToSend: events that the server has forgotten are kept once
// for all watches that lag, and each sends them all.
func TestWatchesShareWhatTheyHaveYetToSend(t *testing.T) {
	const watches, history = 300, 3000
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, History: history, NoManagedFields: true})
	change := func(n int) {
		for i := range n {
			srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"a"},"data":{"a":"%d"}}`, i))
		}
	}
	_, rv := srv.List(kube.ConfigMaps)
	change(history)
	var first *http.Response
	for range watches {
		resp := askHead(t, srv, fmt.Sprintf("/api/v1/configmaps?watch=1&resourceVersion=%v", rv))
		if first == nil {
			first = resp
		}
	}
	before := heapMiB()
	change(history - 10)
	if held := heapMiB() - before; held > 15 {
		t.Errorf("%d watches that lag by %d events hold %d MiB", watches, history, held)
	}
	lines := bufio.NewReader(first.Body)
	for n := range history + history - 10 {
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, fmt.Sprintf(`"a":"%d"`, n%history)) {
			t.Fatalf("event %d: %s, %v", n, line, err)
		}
	}
}

// TestWatchesThatReadLargeObjectsAreNotEnded: there are many of them at a time, each of
// which sends other bytes than the others.
func TestWatchesThatReadLargeObjectsAreNotEnded(t *testing.T) {
	srv := apitest.New(t)
	const objects, watches = 20, 40
	text := strings.Repeat("x", 1<<20)
	for i := range objects {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"c%03d","annotations":{"a":%q}}}`, i, text))
	}
	var all sync.WaitGroup
	for range watches {
		all.Go(func() {
			resp, err := send(t.Context(), srv, http.MethodGet, "/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=600", "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			lines := bufio.NewReader(resp.Body)
			for n := range objects {
				for part := true; part; {
					if _, part, err = lines.ReadLine(); err != nil {
						t.Errorf("a watch ends after %d of %d objects: %v", n, objects, err)
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// TestAnswersThatNobodyReadsHoldLittle: those that find no place wait.
func TestAnswersThatNobodyReadsHoldLittle(t *testing.T) {
	const objects = 400 // 16 KiB each
	large := fmt.Sprintf(`{"metadata":{"namespace":"a","name":"large"},"data":{"a":%q}}`, strings.Repeat("x", 1<<20))
	for _, c := range []struct {
		path string
		n    int
	}{
		{"/api/v1/configmaps", 60},
		{"/api/v1/namespaces/a/configmaps/large", 300},
		{"/api/v1/namespaces/a/configmaps/large?pretty=1", 300},
	} {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, History: 50, NoManagedFields: true})
		rewrite(srv, objects, 0)
		srv.Put(kube.ConfigMaps, large)
		before := heapMiB()
		for range c.n {
			c1, err := srv.Dial(t.Context(), "tcp", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c1.Close() })
			if _, err := io.WriteString(c1, "GET "+c.path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		for last, n := -1, 0; n < c.n || heapMiB() != last; n = len(srv.Requests()) {
			last = heapMiB()
			<-time.After(100 * time.Millisecond)
		}
		if held := heapMiB() - before; held > 200 {
			t.Errorf("%d of %s hold %d MiB", c.n, c.path, held)
		}
	}
}

// TestRequestsThatHangAreLimited: further ones are refused at once, without a body.
func TestRequestsThatHangAreLimited(t *testing.T) {
	const most = 6000
	srv := apitest.NewInMemory(t)
	entered, leave := make(chan bool), make(chan bool)
	srv.On(apitest.Match{Path: "/hang"}, func(http.ResponseWriter, *http.Request) {
		entered <- true
		<-leave
	})
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	var all sync.WaitGroup
	for range most {
		all.Go(func() { ask("/hang") })
	}
	for range most {
		<-entered
	}
	if w := ask("/api"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || w.Body.Len() != 0 {
		t.Errorf("beside %d requests: HTTP %d %v %q", most, w.Code, w.Header(), w.Body)
	}
	if w := ask("/api/v1/configmaps?watch=1&timeoutSeconds=1"); w.Code != http.StatusOK {
		t.Errorf("a watch beside %d requests: HTTP %d", most, w.Code)
	}
	close(leave)
	all.Wait()
	if w := ask("/api"); w.Code != http.StatusOK {
		t.Errorf("after they have ended: HTTP %d", w.Code)
	}
}

// TestHistoryIsLimitedInBytes: past states of all resources, also of removed ones, take no
// more than HistoryBytes. Whoever resumes below them gets a 410, and whoever resumes above
// does not; a watch that has yet to send what is forgotten ends.
func TestHistoryIsLimitedInBytes(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, HistoryBytes: 4 << 20, NoManagedFields: true, Gone: apitest.GoneStatus})
	srv.Put(kube.CustomResourceDefinitions, stateCRD)
	const objects, rounds = 100, 30 // 1.6 MiB a round
	rewrite(srv, objects, 0)
	first := srv.Put(kube.Secrets, `{"metadata":{"namespace":"a","name":"s"}}`)
	deaf := askHead(t, srv, fmt.Sprintf("/api/v1/configmaps?watch=1&resourceVersion=%v", first))
	before := heapMiB()
	for round := range rounds {
		rewrite(srv, objects, round+1)
		askHead(t, srv, "/api/v1/configmaps?limit=1") // later pages are of this moment
		srv.Put(widgetsV1, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"f"},"spec":{"round":%d,"text":%q}}`, round, strings.Repeat("x", 256<<10)))
	}
	srv.Delete(kube.CustomResourceDefinitions, kube.Key{Name: "widgets.example.com"})
	rewrite(srv, objects, rounds+1)
	if held := heapMiB() - before; held > 10 {
		t.Errorf("%d rounds of 2 MiB hold %d MiB", rounds, held)
	}
	last := srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"last"}}`)
	for rv, want := range map[any]int{first: http.StatusGone, last: http.StatusOK} {
		path := fmt.Sprintf("/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion=%v", rv)
		if resp := askHead(t, srv, path); resp.StatusCode != want {
			t.Errorf("a watch from %v: HTTP %d, want %d", rv, resp.StatusCode, want)
		}
	}
	if t.Failed() {
		return // the watch below might not end
	}
	if _, err := io.ReadAll(deaf.Body); err != nil {
		t.Errorf("the watch that read nothing ends with %v", err)
	}
}
