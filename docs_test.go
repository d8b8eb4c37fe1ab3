package listwatch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesForMigrationNameWhatExists checks the right column of each table of
// docs/from-*.md: the package-level names of this module.
func TestPagesForMigrationNameWhatExists(t *testing.T) {
	pages, err := filepath.Glob("docs/from-*.md")
	if err != nil || len(pages) < 2 {
		t.Fatalf("%d pages, want at least 2 (%v)", len(pages), err)
	}
	others := map[string]bool{"errors": true, "informer": true} // of the standard library, and a variable
	dirs := map[string]string{"webhooktest": "webhook/webhooktest", "compressed": "codec/compressed"}
	name := regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)`)
	code := regexp.MustCompile("`[^`]+`")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(line, " | ")
			if !strings.HasPrefix(line, "| ") || len(cells) < 2 {
				continue
			}
			for _, m := range name.FindAllStringSubmatch(strings.Join(code.FindAllString(cells[len(cells)-1], -1), " "), -1) {
				dir, ok := dirs[m[1]]
				if !ok {
					dir = m[1]
				}
				if !others[m[1]] && !declares(t, dir, m[2]) {
					t.Errorf("%s: there is no %s.%s", page, m[1], m[2])
				}
			}
		}
	}
}

// declares reports whether the package in dir has the name.
func declares(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == name {
					return true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.Name == name {
							return true
						}
					case *ast.ValueSpec:
						for _, n := range s.Names {
							if n.Name == name {
								return true
							}
						}
					}
				}
			}
		}
	}
	return false
}
