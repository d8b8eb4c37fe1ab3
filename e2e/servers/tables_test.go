package servers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

var updateTables = flag.Bool("update-tables", false, "write what the server prints to apitest/testdata/tables")

// TestTables: kube-apiserver prints as the fixture has it.
func TestTables(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("not within 20 s"))
	defer cancel()
	script, err := os.ReadFile(setup.Tables + "objects.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]printedTable)
	lines := bufio.NewScanner(bytes.NewReader(script))
	for lines.Scan() {
		if line := lines.Text(); line != "" && line[0] != '#' {
			method, rest, _ := strings.Cut(line, " ")
			path, body, _ := strings.Cut(rest, " ")
			answer, err := setup.SendTable(ctx, c, method, path, body)
			if err != nil {
				t.Errorf("%s %s: %v", method, path, err)
			} else if method == http.MethodGet {
				if got[path], err = printed(answer); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if *updateTables {
		b, err := encodeTables(got)
		if err == nil {
			err = os.WriteFile(setup.Tables+"tables.json", b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(setup.Tables + "tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]printedTable
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-fixture +server):\n%s", diff)
	}
}

// printedTable is a Table as it is compared.
type printedTable struct {
	Columns []string // name, type, format, priority
	Rows    []string // of the objects of the fixture: name, cells, conditions
}

var (
	printedAge  = regexp.MustCompile(`^([0-9]+[smhdy]){1,2}$`)
	printedAgo  = regexp.MustCompile(`\(([0-9]+[smhdy]){1,2} ago\)`)
	printedTime = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$`)

	// recordedName is the name of an Event that the server itself records: of a
	// Service, say, whose address its repair loop met before it was allocated.
	recordedName = regexp.MustCompile(`^t-.+\.[0-9a-f]{15,16}$`)
)

// printed reads a Table; what passes between two requests is masked.
func printed(b []byte) (printedTable, error) {
	var table struct {
		ColumnDefinitions []struct {
			Name, Type, Format string
			Priority           int
		}
		Rows []struct {
			Cells      []any
			Conditions []map[string]string
			Object     struct {
				Kind     string
				Metadata struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal(b, &table); err != nil {
		return printedTable{}, err
	}
	var p printedTable
	for _, c := range table.ColumnDefinitions {
		p.Columns = append(p.Columns, fmt.Sprintf("%s %s %q %d", c.Name, c.Type, c.Format, c.Priority))
	}
	for _, r := range table.Rows {
		name := r.Object.Metadata.Name
		if !strings.HasPrefix(name, "t-") && !strings.HasSuffix(name, ".tables.example.com") || recordedName.MatchString(name) {
			continue // the server's own
		}
		for i, c := range r.Cells {
			if s, ok := c.(string); ok {
				s = printedAge.ReplaceAllString(s, "AGE")
				s = printedAgo.ReplaceAllString(s, "(AGE ago)")
				r.Cells[i] = printedTime.ReplaceAllString(s, "TIME")
			}
		}
		row := []any{r.Object.Kind, name, r.Cells}
		if r.Conditions != nil {
			row = append(row, r.Conditions)
		}
		text, err := json.Marshal(row)
		if err != nil {
			return printedTable{}, err
		}
		p.Rows = append(p.Rows, string(text))
	}
	return p, nil
}

func encodeTables(all map[string]printedTable) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(all)
	return b.Bytes(), err
}
