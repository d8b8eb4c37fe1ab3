package events_test

import (
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
)

// BenchmarkEventf is what a reconciler pays, while the server is away.
func BenchmarkEventf(b *testing.B) {
	for name, objects := range map[string]int{"again": 1, "new": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			c, err := client.New(client.Config{Server: "http://127.0.0.1:1"})
			if err != nil {
				b.Fatal(err)
			}
			r := events.New(c, events.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
			pods := make([]kube.Partial, objects)
			for i := range pods {
				pods[i].Meta = kube.Meta{Namespace: "shop", Name: fmt.Sprint("web-", i), UID: fmt.Sprint("0646266b-3f0c-4a43-8a8d-", i)}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.Eventf(events.About(kube.Pods, pods[i%len(pods)]), events.Normal, "Synced", "made %d replicas", 3)
			}
		})
	}
}
