package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/listwatch/listwatch/sink/sinktest"
	"github.com/listwatch/listwatch/sink/sqlite"
)

var write = flag.String("write", "", "write the example of today's schema into this file of testdata, such as v1.db.gz")

// TestOpensTheFilesOfFormerReleases: testdata has one for each version of the schema.
func TestOpensTheFilesOfFormerReleases(t *testing.T) {
	if *write != "" {
		writeExample(t, filepath.Join("testdata", *write))
	}
	files, err := filepath.Glob("testdata/v*.db.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			packed, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(io.LimitReader(r, 1<<20))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "cluster.db")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			checkMark(t, s)
			sinktest.CheckExample(t, s)
		})
	}
}

// checkMark requires that nothing was sent to anybody of what a former release wrote.
func checkMark(t *testing.T, s *sqlite.Sink) {
	t.Helper()
	positions, err := s.Positions(t.Context())
	if err != nil || len(positions) != 1 {
		t.Fatalf("%d positions, error %v", len(positions), err)
	}
	records, _, err := s.Unsent(t.Context(), positions[0], 1<<20)
	if err != nil || len(records) != 6 {
		t.Errorf("%d records were not sent, error %v, want 6", len(records), err)
	}
	if err := s.Sent(t.Context(), positions[0], "", 1); err != nil {
		t.Errorf("there is another receiver than none: %v", err)
	}
}

func writeExample(t *testing.T, file string) {
	path := filepath.Join(t.TempDir(), "cluster.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sinktest.WriteExample(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	w.Write(b)
	w.Close()
	if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
