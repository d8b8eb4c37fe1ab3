package apitest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// BenchmarkTable lists 10,000 pods of about 4 KB, as kubectl get does.
func BenchmarkTable(b *testing.B) {
	const pods = 10_000
	srv := apitest.NewInMemory(b)
	for i := range pods {
		status := fmt.Sprintf(`"status":{"phase":"Running","podIPs":[{"ip":"10.0.0.%d"}],"conditions":[{"type":"Ready","status":"True"}],
			"containerStatuses":[{"name":"c","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-03-01T10:00:05Z"}}}]}}`, i%256)
		srv.Put(kube.Pods, strings.TrimSuffix(bigPod(i, 0), "}")+","+status)
	}
	b.ReportAllocs()
	for b.Loop() {
		resp, err := send(b.Context(), srv, http.MethodGet, "/api/v1/pods", "",
			"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io", "Accept-Encoding", "identity")
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/pods, "µs/row")
}
