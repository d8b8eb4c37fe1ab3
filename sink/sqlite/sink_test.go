package sqlite_test

import (
	"path/filepath"
	"testing"

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
