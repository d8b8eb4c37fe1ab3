package cache_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
)

// TestSavesThatFailAreLogged once, and that the state is saved again. OnError gets each one.
func TestSavesThatFailAreLogged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	inWorld(t, func(t *testing.T, w *world) {
		var text bytes.Buffer
		errs := 0
		i := cache.New(w.maps, options{
			Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c", Every: time.Minute},
			Logger:   slog.New(slog.NewTextHandler(&text, nil)),
			OnError:  func(error) { errs++ },
		})
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- i.Run(w.ctx) }()
		w.pass(2 * time.Minute)
		if err := os.Rename(dir, dir+"2"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // where the folder was
			t.Fatal(err)
		}
		for _, value := range []string{"1", "2", "3"} {
			w.put("a", "x", value)
			w.pass(2 * time.Minute)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+"2", dir); err != nil {
			t.Fatal(err)
		}
		w.put("a", "x", "4")
		w.pass(2 * time.Minute)
		fails, again := strings.Count(text.String(), "level=WARN"), strings.Count(text.String(), "the state is saved again")
		if errs < 3 || fails != 1 || again != 1 {
			t.Errorf("%d errors, %d warnings, want one, and %d times saved again, want one:\n%s", errs, fails, again, &text)
		}
		w.cancel()
		<-ended
	})
}
