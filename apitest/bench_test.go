package apitest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
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
