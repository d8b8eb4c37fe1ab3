package cache_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestAnEventTakesOneAllocation counts what all goroutines allocate between two
// events, from the bytes on the connection to the handler: the object itself, and
// nothing else. The server is a goroutine that writes what is prepared.
func TestAnEventTakesOneAllocation(t *testing.T) {
	const first, events = 500, 2000
	list := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`
	var stream strings.Builder
	for i := range first + events {
		frame := fmt.Sprintf(`{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a%d","namespace":"n","uid":"u%d",`+
			`"resourceVersion":"%d","managedFields":[{"manager":"m"}]},"spec":{"nodeName":"x"},"status":{"phase":"Running"}}}`+"\n", i%10, i%10, i+2)
		fmt.Fprintf(&stream, "%x\r\n%s\r\n", len(frame), frame)
	}
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	answers := map[bool][]byte{ // is it a watch?
		false: []byte(ok + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(list), list)),
		true:  []byte(ok + "Transfer-Encoding: chunked\r\n\r\n" + stream.String()),
	}

	serve := func(conn net.Conn) {
		for in := bufio.NewReader(conn); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := conn.Write(answers[r.FormValue("watch") != ""]); err != nil {
				return
			}
		}
	}
	dial := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go serve(there)
		return here, nil
	}
	c, err := client.New(client.Config{Server: "http://in.memory", Dial: dial})
	if err != nil {
		t.Fatal(err)
	}

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
