package postgres_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/sink/postgres"
	"github.com/listwatch/listwatch/sink/sinktest"
)

var write = flag.String("write", "", "write the example of today's schema into this file of testdata, such as v1.sql")

// TestOpensTheSchemasOfFormerReleases: testdata has one for each version.
func TestOpensTheSchemasOfFormerReleases(t *testing.T) {
	if *write != "" {
		writeExample(t, filepath.Join("testdata", *write))
	}
	files, err := filepath.Glob("testdata/v*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			schema := fmt.Sprint("former ", schemas.Add(1))
			c, err := pgx.Connect(t.Context(), db.URL())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(t.Context())
			if _, err := c.PgConn().Exec(t.Context(), strings.ReplaceAll(string(text), "example_schema", pgx.Identifier{schema}.Sanitize())).ReadAll(); err != nil {
				t.Fatal(err)
			}
			s := open(t, schema)
			checkMark(t, s)
			sinktest.CheckExample(t, s)
		})
	}
}

// checkMark requires that nothing was sent to anybody of what a former release wrote.
func checkMark(t *testing.T, s *postgres.Sink) {
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

// writeExample writes what pg_dump makes of a schema, without the commands of psql.
func writeExample(t *testing.T, file string) {
	s, err := postgres.Open(t.Context(), db.URL(), postgres.Options{Schema: "example_schema"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sinktest.WriteExample(t, s)
	out, err := db.Command("pg_dump", "-h", db.Dir(), "-U", "postgres", "-n", "example_schema", "--inserts", "--no-owner", "postgres").Output()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "\\") && !strings.HasPrefix(line, "--") && line != "\n" {
			text.WriteString(line)
		}
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
