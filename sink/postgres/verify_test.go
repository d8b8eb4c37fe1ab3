package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// TestVerifyTakesNumbersAsJSONBWritesThem: jsonb writes the same number without an exponent, and
// has no -0.
func TestVerifyTakesNumbersAsJSONBWritesThem(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoManagedFields: true})
	for name, n := range map[string]string{
		"small": "1e-7", "large": "1.2345678901234568e+22", "huge": "1e+130", "zero": "-0", "exact": "9007199254740993", "digits": "0.10", "limit": "1e131071",
	} {
		srv.Put(sinktest.Resource, fmt.Sprintf(`{"metadata":{"namespace":"default","name":%q},"data":{"n":%s}}`, name, n))
	}
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	s := open(t, fmt.Sprint("numbers ", schemas.Add(1)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := sink.Options{Client: c, Sink: s, Scope: sink.Scope{Cluster: "c", Resource: sinktest.Resource}, Logger: slog.New(slog.DiscardHandler)}
	o.Trace.Committed = func(c sink.Committed) {
		if c.Position.Phase == sink.Live {
			cancel()
		}
	}
	r, err := sink.NewRunner(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Run(ctx)

	v, err := sink.Verify(t.Context(), o, s, 0)
	if err != nil || v.Objects != 7 || v.Quarantined != 0 {
		t.Fatalf("%d objects, %d quarantined, error %v, want 7 and none", v.Objects, v.Quarantined, err)
	}
	if diff := cmp.Diff([]sink.Difference(nil), v.Differences); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	rewritten := map[string]bool{}
	for row, err := range s.Rows(t.Context(), "c", sinktest.Resource) {
		if err != nil {
			t.Fatal(err)
		}
		served := string(srv.Get(sinktest.Resource, kube.Key{Namespace: "default", Name: row.Name}))
		_, text, _ := strings.Cut(string(row.Object), `"n": `)
		text, _, _ = strings.Cut(text, "}")
		rewritten[row.Name] = !strings.Contains(served, `"n":`+text)
	}
	want := map[string]bool{"small": true, "large": true, "huge": true, "zero": true, "exact": false, "digits": false, "limit": true}
	if diff := cmp.Diff(want, rewritten); diff != "" {
		t.Errorf("numbers that jsonb rewrites (-want +got):\n%s", diff)
	}
}
