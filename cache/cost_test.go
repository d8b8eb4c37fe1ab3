package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestAnEventTakesOneAllocation counts what all goroutines allocate between two
// events, from the bytes on the connection to the handler: the object itself, and
// nothing else. The server writes what is prepared.
func TestAnEventTakesOneAllocation(t *testing.T) {
	const first, events = 500, 2000
	var stream bytes.Buffer
	for i := range first + events {
		fmt.Fprintf(&stream, `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a%d","namespace":"n","uid":"u%d",`+
			`"resourceVersion":"%d","managedFields":[{"manager":"m"}]},"spec":{"nodeName":"x"},"status":{"phase":"Running"}}}`+"\n", i%10, i%10, i+2)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.FormValue("watch") == "" {
			io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
			return
		}
		w.Write(stream.Bytes())
	}))
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()

	ctx, cancel := context.WithCancel(t.Context())
	inf := cache.New(client.Of[codec.Raw](c, kube.Pods), cache.Options[codec.Raw]{Watch: watch.Options{Initial: watch.Paged}})
	var before, after runtime.MemStats
	seen := 0
	inf.Handle(func(cache.Delta[codec.Raw]) {
		switch seen++; seen {
		case first:
			runtime.ReadMemStats(&before)
		case first + events:
			runtime.ReadMemStats(&after)
			cancel()
		}
	})
	_ = inf.Run(ctx) // it ends as ctx does
	if n := after.Mallocs - before.Mallocs; seen != first+events || n < events || n > events+events/50 {
		t.Errorf("%d of %d events were handled; the last %d took %d allocations", seen, first+events, events, n)
	}
}
