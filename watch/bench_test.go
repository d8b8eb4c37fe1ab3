package watch_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// struct8 is a pod as a program would want it: eight fields.
type struct8 struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		NodeName           string `json:"nodeName"`
		ServiceAccountName string `json:"serviceAccountName"`
	} `json:"spec"`
	Status struct {
		Phase  string `json:"phase"`
		PodIP  string `json:"podIP"`
		HostIP string `json:"hostIP"`
	} `json:"status"`
}

// events renders n MODIFIED events of pods of 6 KB, a third of it managedFields.
func events(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"pod-%03d","namespace":"d","uid":"0646266b-cea9-4e94-ad3f-%012d","resourceVersion":"%d","labels":{"app":"web"},"managedFields":[{"manager":"m","fieldsV1":{%q:{}}}]},"spec":{"nodeName":"node-1","serviceAccountName":"default","text":%q},"status":{"phase":"Running","podIP":"10.0.0.1"}}}`+"\n",
			i%100, i%100, 1000+i, strings.Repeat("m", 2000), strings.Repeat("s", 3500))
	}
	return b.Bytes()
}

// stream serves every watch with body, and ends it.
func stream(tb testing.TB, body []byte) *client.Client {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	}))
	tb.Cleanup(srv.Close)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.CloseIdleConnections)
	return c
}

// follow reads one watch into a store and returns the number of changes.
func follow[T kube.Object](tb testing.TB, c *client.Client, store *cache.RWStore[T]) (n int) {
	for ev, err := range watch.Once(tb.Context(), client.Of[T](c, kube.Pods), "1000", watch.Options{}) {
		if err != nil {
			tb.Fatal(err)
		}
		store.Apply(ev)
		n++
	}
	return n
}

// TestEventAllocations guards the line from the wire into a store: an event kept
// as its bytes costs one allocation, that of the bytes.
func TestEventAllocations(t *testing.T) {
	const n = 2000
	c := stream(t, events(n))
	store := cache.NewStore[codec.Raw]()
	follow(t, c, store) // the connection, the map
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got := follow(t, c, store); got != n {
		t.Fatalf("%d events, want %d", got, n)
	}
	runtime.ReadMemStats(&after)
	if per := float64(after.Mallocs-before.Mallocs) / n; per > 1.2 {
		t.Errorf("%.2f allocations an event, want 1 and what the request costs", per)
	}
}

func BenchmarkEvents(b *testing.B) {
	const n = 2000
	body := events(n)
	b.Run("raw", func(b *testing.B) { benchEvents[codec.Raw](b, body, n) })
	b.Run("partial", func(b *testing.B) { benchEvents[kube.Partial](b, body, n) })
	b.Run("struct8", func(b *testing.B) { benchEvents[struct8](b, body, n) })
	b.Run("struct8-pointer", func(b *testing.B) { benchEvents[*struct8](b, body, n) })
}

func benchEvents[T kube.Object](b *testing.B, body []byte, n int) {
	c := stream(b, body)
	store := cache.NewStore[T]()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		follow(b, c, store)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
}
