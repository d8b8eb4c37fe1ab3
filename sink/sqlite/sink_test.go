package sqlite_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/sink"
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

// TestALinkToNoFileIsRefused: SQLite would make its file, readable by everybody.
func TestALinkToNoFileIsRefused(t *testing.T) {
	folder := t.TempDir()
	link, file := filepath.Join(folder, "link.db"), filepath.Join(folder, "file.db")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), link, sqlite.Options{})
	if _, made := os.Stat(file); err == nil || made == nil {
		t.Errorf("got %v, and the file: %v", err, made)
	}
	open(t, file)
	open(t, link)
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

// sqlOn runs statements on a file, past the sink.
func sqlOn(t *testing.T, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, text := range statements {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return db
}

// TestOpenWritesNothingToACurrentFile: readers need neither the lock of the writer nor room
// on the disk.
func TestOpenWritesNothingToACurrentFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.db")
	open(t, path)
	sqlOn(t, path, `BEGIN IMMEDIATE`)
	reader, err := sqlite.Open(t.Context(), path, sqlite.Options{Busy: time.Millisecond})
	if err != nil {
		t.Fatalf("while another process writes: %v", err)
	}
	defer reader.Close()
	if _, err := reader.Positions(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOpenReplacesViews: they belong to the program.
func TestOpenReplacesViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.db")
	open(t, path)
	db := sqlOn(t, path, `DROP VIEW pods`, `CREATE VIEW pods AS SELECT 1 AS one`, `DROP VIEW nodes`)
	open(t, path)
	for _, view := range []string{"pods", "nodes"} {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM (SELECT namespace FROM ` + view + `)`).Scan(&n); err != nil {
			t.Errorf("view %s: %v", view, err)
		}
	}
}

// TestLaterSchemaIsRefused: and nothing is changed.
func TestLaterSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.db")
	open(t, path)
	db := sqlOn(t, path, `UPDATE schema_version SET version = version + 1`, `DROP VIEW pods`)
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, sink.ErrRefused) {
		t.Errorf("error %v, want ErrRefused", err)
	}
	var n int
	if err := db.QueryRow(`SELECT count(*) FROM sqlite_schema WHERE name = 'pods'`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d views pods, error %v, want none", n, err)
	}
}
