package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
)

// TestJournalWithADamagedLengthIsReported: a length that reaches beyond the end of the
// file is damage, and not the end of what was written before a kill.
func TestJournalWithADamagedLengthIsReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		path := filepath.Join(t.TempDir(), "maps")
		var errs []error
		live := func(act func()) {
			i := cache.New(w.maps, options{
				Snapshot: cache.Snapshot{Path: path, Cluster: "c", Every: time.Hour},
				OnError:  func(err error) { errs = append(errs, err) },
			})
			ctx, cancel := context.WithCancel(w.ctx)
			ended := make(chan error)
			go func() { ended <- i.Run(ctx) }()
			takes(t, func(ctx context.Context) error { return i.WaitSynced(ctx) })
			act()
			cancel()
			<-ended
		}
		live(func() {})
		var name string
		var journal, snapshot []byte
		live(func() {
			for n := range 5 {
				w.put("a", fmt.Sprint("x", n), "1")
			}
			w.pass(time.Second)
			names, err := filepath.Glob(path + ".journal-*")
			if err != nil || len(names) != 1 {
				t.Fatal(names, err)
			}
			name = names[0]
			if journal, err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
			if snapshot, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		})
		record := bytes.Index(journal, []byte("ax1")) // the second
		for at := record - 28; at < record; at++ {    // its lengths
			bad := bytes.Clone(journal)
			bad[at] ^= 1
			for file, b := range map[string][]byte{name: bad, path: snapshot} {
				if err := os.WriteFile(file, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			errs = nil
			live(func() {})
			if err := errors.Join(errs...); !errors.Is(err, cache.ErrSnapshotDamaged) {
				t.Errorf("byte %d of the lengths: got %v, want a damaged journal", at-record+28, err)
			}
		}
	})
}
