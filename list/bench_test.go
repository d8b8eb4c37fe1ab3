package list_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// BenchmarkListPeak lists 50,000 objects of 6 KB over HTTP, keeps them, and
// reports how far memory rises above what is kept in the end: live-peak/kept is
// what was reachable at the worst moment, heap-peak/kept what the heap held,
// garbage that GOGC=100 tolerates included.
func BenchmarkListPeak(b *testing.B) {
	const objects = 50_000
	for _, limit := range []int{500, -1} {
		b.Run(fmt.Sprint("limit=", limit), func(b *testing.B) {
			srv := httptest.NewServer(pages(objects))
			defer srv.Close()
			c, err := client.New(client.Config{Server: srv.URL})
			if err != nil {
				b.Fatal(err)
			}
			pods := client.Of[codec.Raw](c, kube.Pods)
			b.ReportAllocs()
			for b.Loop() {
				before := live()
				kept := make([]codec.Raw, 0, objects)
				var livePeak, heapPeak uint64
				for o, err := range list.New(pods, list.Options{Limit: limit}).All(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
					kept = append(kept, o)
					if len(kept)%500 == 0 {
						heapPeak = max(heapPeak, heap()-before)
					}
					if len(kept)%12_345 == 0 {
						livePeak = max(livePeak, live()-before)
					}
				}
				if len(kept) != objects {
					b.Fatalf("%d objects, want %d", len(kept), objects)
				}
				size := live() - before
				livePeak = max(livePeak, size)
				b.ReportMetric(float64(size)/objects, "kept-bytes/object")
				b.ReportMetric(float64(livePeak)/float64(size), "live-peak/kept")
				b.ReportMetric(float64(heapPeak)/float64(size), "heap-peak/kept")
				runtime.KeepAlive(kept)
			}
		})
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func live() uint64 {
	runtime.GC()
	return heap()
}

// pages serves a list of n pods without holding it.
func pages(n int) http.Handler {
	pod := fmt.Sprintf(`{"metadata":{"name":"NAME","namespace":"default","uid":"0646266b-cea9-4e94-ad3f-146558d09fa8","resourceVersion":"12345","managedFields":[{"manager":"m","fieldsV1":{%q:%q}}]},"spec":{"text":%q}}`,
		"f", strings.Repeat("m", 1500), strings.Repeat("s", 4300))
	head, tail, _ := strings.Cut(pod, "NAME")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		from, _ := strconv.Atoi(q.Get("continue"))
		to := n
		if limit, err := strconv.Atoi(q.Get("limit")); err == nil {
			to = min(n, from+limit)
		}
		token := ""
		if to < n {
			token = strconv.Itoa(to)
		}
		w.Header().Set("Content-Type", "application/json")
		var buf bytes.Buffer
		fmt.Fprintf(&buf, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"99","continue":%q},"items":[`, token)
		for i := from; i < to; i++ {
			if i > from {
				buf.WriteByte(',')
			}
			buf.WriteString(head)
			fmt.Fprintf(&buf, "pod-%06d", i)
			buf.WriteString(tail)
			if buf.Len() > 32<<10 {
				w.Write(buf.Bytes())
				buf.Reset()
			}
		}
		buf.WriteString("]}")
		w.Write(buf.Bytes())
	})
}
