package apitest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
)

// printedTable is a Table as it is compared.
type printedTable struct {
	Columns []string // name, type, format, priority
	Rows    []string // of the objects of the fixture: kind, name, cells, conditions
}

// TestTablesAreTheRealOnes: for the objects in testdata/tables the server prints
// what kube-apiserver printed for them, as TestTables in e2e has seen it.
func TestTablesAreTheRealOnes(t *testing.T) {
	script, err := os.ReadFile("testdata/tables/objects.txt")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/tables/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]printedTable
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]printedTable{}
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		for line := range strings.Lines(string(script)) {
			if line == "\n" || line[0] == '#' {
				continue
			}
			method, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			path, body, _ := strings.Cut(rest, " ")
			query, header := "", []string{"Content-Type", "application/json"}
			switch method {
			case http.MethodGet:
				query, header = "?includeObject=Metadata", []string{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}
			case http.MethodPatch:
				header = []string{"Content-Type", "application/merge-patch+json"}
			}
			code, answer := do(t, srv, method, path+query, body, header...)
			if code >= 300 {
				t.Errorf("%s %s: %d %s", method, path, code, answer)
			}
			if method == http.MethodGet {
				got[path] = printed(t, answer)
			}
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-real +fake):\n%s", diff)
	}
}

var (
	printedAge  = regexp.MustCompile(`^([0-9]+[smhdy]){1,2}$`)
	printedAgo  = regexp.MustCompile(`\(([0-9]+[smhdy]){1,2} ago\)`)
	printedTime = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$`)
)

// printed reads a Table; times and what passed since them are masked.
func printed(t *testing.T, answer string) printedTable {
	t.Helper()
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
	if err := json.Unmarshal([]byte(answer), &table); err != nil {
		t.Fatal(err)
	}
	var p printedTable
	for _, c := range table.ColumnDefinitions {
		p.Columns = append(p.Columns, fmt.Sprintf("%s %s %q %d", c.Name, c.Type, c.Format, c.Priority))
	}
	for _, r := range table.Rows {
		name := r.Object.Metadata.Name
		if !strings.HasPrefix(name, "t-") && !strings.HasSuffix(name, ".tables.example.com") {
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
			t.Fatal(err)
		}
		p.Rows = append(p.Rows, string(text))
	}
	return p
}
