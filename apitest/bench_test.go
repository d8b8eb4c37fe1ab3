package apitest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// bigPod returns a pod of about 4 KB.
func bigPod(i, n int) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"a","name":"p%d","labels":{"n":"%d"}},"spec":{"containers":[{"name":"c","env":[%s{"name":"Z"}]}]}}`,
		i, n, strings.Repeat(`{"name":"SOME_VARIABLE","value":"some value"},`, 85))
}

func BenchmarkPut(b *testing.B) {
	srv := apitest.NewInMemory(b)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		srv.Put(kube.Pods, bigPod(n%1000, n))
	}
}

func BenchmarkList10000Pods(b *testing.B) {
	srv := apitest.NewInMemory(b)
	for i := range 10_000 {
		srv.Put(kube.Pods, bigPod(i, 0))
	}
	b.ReportAllocs()
	for b.Loop() {
		resp, err := send(b.Context(), srv, http.MethodGet, "/api/v1/pods", "", "Accept-Encoding", "identity")
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
	}
}

func BenchmarkWatch(b *testing.B) {
	srv := apitest.NewInMemory(b)
	resp, err := send(b.Context(), srv, http.MethodGet, "/api/v1/pods?watch=1&resourceVersion=100", "")
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		srv.Put(kube.Pods, bigPod(0, n))
		if _, err := lines.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad50000: how long until a server has them.
func BenchmarkLoad50000(b *testing.B) {
	start := spent(b)
	for b.Loop() {
		srv := apitest.NewInMemory(b)
		load(srv, 50_000)
		srv.Close()
	}
	cpu(b, start, b.N)
}

func load(srv *apitest.Server, n int) {
	for i := range n {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"m%d"},"data":{"k":"v"}}`, i))
	}
}

// write creates the (n/2)th ConfigMap, or changes it, through the handler.
func write(b *testing.B, srv *apitest.Server, n int) {
	method, path := http.MethodPost, "/api/v1/namespaces/a/configmaps"
	if n%2 == 1 {
		method, path = http.MethodPut, fmt.Sprintf("%s/w%d", path, n/2)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(fmt.Sprintf(`{"metadata":{"name":"w%d"},"data":{"k":"%d"}}`, n/2, n)))
	srv.ServeHTTP(w, r)
	if w.Code > 201 {
		b.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

// BenchmarkWrites are creates and updates through the handler, in process, with
// who owns which field and without.
func BenchmarkWrites(b *testing.B) {
	for _, managed := range []bool{false, true} {
		b.Run(fmt.Sprintf("managedFields=%t", managed), func(b *testing.B) {
			srv := apitest.NewWith(b, apitest.Options{InMemory: true, NoManagedFields: !managed})
			b.ReportAllocs()
			start := spent(b)
			for n := 0; b.Loop(); n++ {
				write(b, srv, n)
			}
			cpu(b, start, b.N)
		})
	}
}

// BenchmarkHundredWatchers: an event, to each of them; none may be lost. What
// stays of it in memory is reported too.
func BenchmarkHundredWatchers(b *testing.B) {
	const watchers, ahead = 100, 1000
	srv := apitest.NewInMemory(b)
	took := make(chan error, watchers*ahead)
	for range watchers {
		resp, err := send(b.Context(), srv, http.MethodGet, "/api/v1/configmaps?watch=1&resourceVersion=100", "")
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewReaderSize(resp.Body, 64<<10)
		go func() {
			for n := 101; ; n++ {
				line, err := lines.ReadSlice('\n')
				if err == nil && !bytes.Contains(line, fmt.Appendf(nil, `"resourceVersion":"%d"`, n)) {
					err = fmt.Errorf("want the event of %d, got %s", n, line)
				}
				took <- err
				if err != nil {
					return
				}
			}
		}()
	}
	before := heap()
	start, sent := spent(b), 0
	await := func(n int) {
		for range n * watchers {
			if err := <-took; err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"m"},"data":{"k":"%d"}}`, b.N+sent))
		if sent++; sent%ahead == 0 {
			await(ahead)
		}
	}
	await(sent % ahead)
	b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "events/s")
	cpu(b, start, sent)
	b.ReportMetric(float64(heap()-before)/(1<<20), "MB-kept")
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkWritesBesideReaders: how long writes take while somebody lists 50,000
// objects over and over, whole or in pages, beside how long they take alone. The
// reader throws away what it reads, as soon as it is rendered.
func BenchmarkWritesBesideReaders(b *testing.B) {
	for _, c := range []struct{ name, query string }{{"alone", "-"}, {"unpaged", ""}, {"paged", "?limit=500"}} {
		b.Run(c.name, func(b *testing.B) {
			srv := apitest.NewWith(b, apitest.Options{InMemory: true, NoManagedFields: true})
			load(srv, 50_000)
			done, stopped := make(chan struct{}), make(chan int)
			go func() {
				lists := 0
				for ; c.query != "-"; lists++ {
					for query := c.query; ; {
						select {
						case <-done:
							stopped <- lists
							return
						default:
						}
						w := httptest.NewRecorder()
						srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/configmaps"+query, nil))
						token, more := continued(w.Body.Bytes())
						if query = c.query + "&continue=" + token; !more {
							break
						}
					}
				}
				<-done
				stopped <- lists
			}()
			var each []time.Duration
			for n := 0; b.Loop(); n++ {
				at := time.Now()
				write(b, srv, n)
				each = append(each, time.Since(at))
			}
			close(done)
			b.ReportMetric(float64(<-stopped), "lists")
			slices.Sort(each)
			b.ReportMetric(float64(each[len(each)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(each[len(each)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// continued returns the token of a list, which is near its beginning.
func continued(list []byte) (token string, more bool) {
	_, rest, found := bytes.Cut(list[:min(len(list), 500)], []byte(`"continue":"`))
	if !found {
		return "", false
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value), true
}
