package plugin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// A credential that a real command gave is refused in mid-watch: the command is run
// again, and no event is lost, told twice or listed again.
func TestRotationInMidWatchLosesNoEvent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	runs := filepath.Join(t.TempDir(), "runs")
	srv := apitest.NewWith(t, apitest.Options{})
	rotate := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		srv.SetToken(token)
		srv.DropWatches()
	}
	rotate("one")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Options{APIVersion: v1, Command: self, Interactive: never, Env: []string{role + "=file", say + "=" + file, "PLUGIN_TEST_RUNS=" + runs}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Server: srv.URL, Credentials: p, PlainHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	want := []string{"RESTART ", "SYNCED "}
	var got []string
	n := 0
	more := func(count int) {
		for range count {
			name := fmt.Sprint("c", n)
			srv.Put(kube.ConfigMaps, map[string]any{"metadata": map[string]any{"namespace": "a", "name": name}})
			want = append(want, "ADDED "+name)
			n++
		}
	}
	for ev, err := range watch.New(client.Of[kube.Partial](c, kube.ConfigMaps), watch.Options{Backoff: 20 * time.Millisecond}).Events(ctx) {
		if ctx.Err() != nil {
			t.Fatalf("not all was told: %v, last %v", got, err)
		}
		if err != nil || ev.Type == watch.Bookmark {
			continue // the watch was cut: it is mended
		}
		got = append(got, fmt.Sprintf("%s %s", ev.Type, ev.Object.GetName()))
		switch len(got) {
		case 2: // SYNCED
			more(10)
			rotate("two")
			more(10)
		case 2 + 20:
			rotate("three")
			more(10)
		}
		if len(got) == 2+30 {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	b, err := os.ReadFile(runs)
	if err != nil || string(b) != "xxx" {
		t.Errorf("the command was run %d times, want 3 (%v)", len(b), err)
	}
}
