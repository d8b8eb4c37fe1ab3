package listwatch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unused are the exported names that only their own package uses, and why they are
// exported. The list may only shrink: show what is new in an example.
var unused = map[string]string{
	"apitest.Version":               "the Kubernetes version that the fake server serves, for tests of clients",
	"apitest/faults.Rotated":        "a fault, as the others are",
	"cache.ByLabel":                 "for programs that embed the engine",
	"cache.Funcs":                   "for programs that embed the engine",
	"cache.MatchLabels":             "for programs that embed the engine",
	"cache.NewDeltaFIFO":            "for consumers with a store of their own",
	"client.RetryOnConflict":        "for programs that embed the engine",
	"controller.AnnotationsChanged": "for programs that embed the engine",
	"controller.Any":                "for programs that embed the engine",
	"controller.LabelsChanged":      "for programs that embed the engine",
	"controller.LowPriority":        "for keys that a program adds itself",
	"metrics.Leader":                "for programs that embed the engine",
}

// exported are the names that the public packages of this module declare, by package and
// name, and the names of the same package that stand in what is exported of each.
type exported map[string][]string

// TestExportedNamesAreUsed: a name that a public package exports is used by another
// package of some module, or by an example, is named on a page as package.Name, or is
// part of another exported declaration that is. Errors and typed constants are exempt:
// a program may need any of them.
func TestExportedNamesAreUsed(t *testing.T) {
	declared, used := exported{}, map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		switch name = filepath.ToSlash(name); path.Ext(name) {
		case ".go":
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			declared.add(name, f)
			noteUses(name, f, used)
		case ".md":
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for _, m := range regexp.MustCompile(`\b([a-z]+\.[A-Z]\w*)`).FindAllSubmatch(b, -1) {
				used[string(m[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	needed := map[string]bool{}
	var need func(name string)
	need = func(name string) {
		if !needed[name] {
			needed[name] = true
			for _, part := range declared[name] {
				need(part)
			}
		}
	}
	for name := range declared {
		dir, id, _ := strings.Cut(name, "#")
		if isError(id) || used[name] || used[path.Base(dir)+"."+id] {
			need(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		short := strings.Replace(name, "#", ".", 1)
		if _, excepted := unused[short]; needed[name] && excepted {
			t.Errorf("%s is used: remove it from the list", short)
		} else if !needed[name] && !excepted {
			t.Errorf("%s is exported and nothing else uses it", short)
		}
	}
	for short := range unused {
		dir, id, _ := strings.Cut(short, ".")
		if _, ok := declared[dir+"#"+id]; !ok {
			t.Errorf("%s does not exist: remove it from the list", short)
		}
	}
}

// add adds what the file of a public package declares.
func (e exported) add(file string, f *ast.File) {
	dir := path.Dir(file)
	if f.Name.Name == "main" || strings.HasSuffix(file, "_test.go") || floors[dir] == 0 && dir != "kube" && dir != "jsonpath" && dir != "queue" || strings.Contains("/"+dir+"/", "/internal/") || strings.HasPrefix(dir, "cmd/") {
		return
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name := owner(d); d.Name.IsExported() && ast.IsExported(name) {
				e[dir+"#"+name] = append(e[dir+"#"+name], parts(dir, d.Type)...)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if id := dir + "#" + s.Name.Name; s.Name.IsExported() {
						e[id] = append(e[id], parts(dir, s.Type)...)
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.IsExported() && (d.Tok == token.VAR || s.Type == nil && len(s.Values) > 0) {
							e[dir+"#"+n.Name] = append(e[dir+"#"+n.Name], parts(dir, s.Type)...)
						}
					}
				}
			}
		}
	}
}

func isError(name string) bool {
	return strings.HasPrefix(name, "Err") || strings.HasSuffix(name, "Error")
}

// owner returns the name of a function, and that of the receiver of a method.
func owner(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}

// parts returns the exported names of a package that stand in a type.
func parts(dir string, n ast.Node) (names []string) {
	if n == nil {
		return nil
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return false // of another package
		case *ast.Field:
			names = append(names, parts(dir, n.Type)...)
			return false
		case *ast.Ident:
			if n.IsExported() {
				names = append(names, dir+"#"+n.Name)
			}
		}
		return true
	})
	return names
}

// noteUses notes the names that a file uses of the packages that it imports. Only
// examples count for the package that they are in.
func noteUses(file string, f *ast.File, used map[string]bool) {
	imports := map[string]string{} // by the name in the file
	for _, s := range f.Imports {
		dir, ok := within(strings.Trim(s.Path.Value, `"`))
		if !ok || dir == path.Dir(file) && !strings.HasPrefix(path.Base(file), "example") {
			continue
		}
		name := path.Base(dir)
		if s.Name != nil {
			name = s.Name.Name
		}
		imports[name] = dir
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && imports[x.Name] != "" {
				used[imports[x.Name]+"#"+sel.Sel.Name] = true
			}
		}
		return true
	})
}
