package sqlite_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/listwatch/listwatch/sink/sinktest"
	"github.com/listwatch/listwatch/sink/sqlite"
)

func open(t *testing.T, path string) *sqlite.Sink {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestSink(t *testing.T) {
	sinktest.Test(t, func(t *testing.T) sinktest.Store {
		path := filepath.Join(t.TempDir(), "cluster.db")
		return sinktest.Store{Connect: func(t *testing.T) sinktest.Sink { return open(t, path) }}
	})
}

var (
	soakRounds = flag.Int("soak.rounds", 150, "rounds of the soak")
	soakSeeds  = flag.Int("soak.seeds", 2, "seeds of the soak")
)

// TestSoak runs in virtual time, so that faults of the network last as long as they may.
func TestSoak(t *testing.T) {
	for seed := range *soakSeeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "cluster.db")
				store := sinktest.Store{Connect: func(t *testing.T) sinktest.Sink { return open(t, path) }}
				sinktest.Soak(t, store, sinktest.SoakOptions{Seed: uint64(seed), Rounds: *soakRounds, Virtual: true})
			})
		})
	}
}

// TestFilesAreForTheirOwnerOnly: what is in a cluster is for nobody else on the machine.
func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.db")
	open(t, path)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", filepath.Base(path+suffix), mode)
		}
	}
}
