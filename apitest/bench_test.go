package apitest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
	for b.Loop() {
		srv := apitest.NewInMemory(b)
		for i := range 50_000 {
			srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"m%d"},"data":{"k":"v"}}`, i))
		}
		srv.Close()
	}
}

// BenchmarkWrites are creates and updates through the handler, in process, with
// who owns which field and without.
func BenchmarkWrites(b *testing.B) {
	for _, managed := range []bool{false, true} {
		b.Run(fmt.Sprintf("managedFields=%t", managed), func(b *testing.B) {
			srv := apitest.NewWith(b, apitest.Options{InMemory: true, NoManagedFields: !managed})
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				method, path := http.MethodPost, "/api/v1/namespaces/a/configmaps"
				if n%2 == 1 {
					method, path = http.MethodPut, fmt.Sprintf("%s/m%d", path, n/2)
				}
				w := httptest.NewRecorder()
				r := httptest.NewRequest(method, path, strings.NewReader(fmt.Sprintf(`{"metadata":{"name":"m%d"},"data":{"k":"%d"}}`, n/2, n)))
				srv.ServeHTTP(w, r)
				if w.Code > 201 {
					b.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
				}
			}
		})
	}
}

// BenchmarkHundredWatchers: an event, to each of them.
func BenchmarkHundredWatchers(b *testing.B) {
	srv := apitest.NewInMemory(b)
	var readers []*bufio.Reader
	for range 100 {
		resp, err := send(b.Context(), srv, http.MethodGet, "/api/v1/configmaps?watch=1&resourceVersion=100", "")
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		readers = append(readers, bufio.NewReaderSize(resp.Body, 64<<10))
	}
	for n := 0; b.Loop(); n++ {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"m"},"data":{"k":"%d"}}`, n))
		for _, r := range readers {
			if _, err := r.ReadString('\n'); err != nil {
				b.Fatal(err)
			}
		}
	}
}
