package listwatch_test

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// This file keeps the promises of ARCHITECTURE.md: who may import whom, what is
// linked, how large it gets, and a few habits that a tool can check.

const module = "github.com/listwatch/listwatch"

// floors are the packages and how high they stand: imports only point down. Those below
// one package, which nobody else imports, stand between two floors.
var floors = map[string]float64{
	"kube":                       0,
	"jsonpath":                   0,
	"queue":                      0,
	"internal/wait":              -1,
	"internal/warning":           -1,
	"internal/clip":              -1,
	"internal/uid":               -1,
	"codec":                      1,
	"codec/compressed":           2,
	"codec/protobuf":             2,
	"apitest/internal/schema":    1,
	"apitest/internal/network":   1,
	"apitest/internal/certs":     1.1,
	"apitest/internal/object":    1.2,
	"apitest/internal/rules":     1.4,
	"apitest/internal/backlog":   0,
	"apitest/internal/intake":    1.4,
	"apitest/internal/causes":    0.5,
	"apitest/internal/merge":     0,
	"apitest/internal/columns":   1.3,
	"apitest/internal/kinds":     1.5,
	"apitest/internal/wire":      1.3,
	"apitest/internal/store":     1.6,
	"apitest/internal/view":      1.7,
	"apitest/internal/pods":      1.45,
	"apitest/internal/kubelet":   1.4,
	"apitest/internal/traffic":   1.45,
	"apitest/internal/discovery": 1.6,
	"apitest/internal/webhook":   1.45,
	"apitest/internal/eviction":  1.65,
	"apitest/internal/reviews":   1.45,
	"replay":                     4,
	"client":                     2,
	"client/internal/merge":      1.5,
	"client/internal/redirect":   -1,
	"internal/hide":              -1,
	"client/internal/upgrade":    -1,
	"client/internal/alert":      -1,
	"apitest":                    2,
	"list":                       3,
	"watch":                      3,
	"discovery":                  3,
	"config/plugin":              3,
	"config":                     4,
	"events":                     3,
	"lease":                      3,
	"apitest/conform":            3,
	"apitest/connect":            3,
	"apitest/faults":             3,
	"apitest/scenario":           4,
	"apitest/simulate":           3,
	"cache":                      4,
	"crd":                        4,
	"webhook":                    5,
	"webhook/webhooktest":        6,
	"cache/internal/persist":     3,
	"cache/internal/keyset":      1,
	"cache/internal/selection":   3,
	"cache/internal/health":      3.5,
	"cache/internal/mutation":    3,
	"controller":                 5,
	"metrics":                    6,
	"ui":                         6,
	"ui/internal/history":        4,
	"ui/internal/rates":          5,
	"ui/internal/review":         3,
	"ui/internal/refusal":        4,
	"ui/internal/refs":           0,
	"ui/internal/delta":          0,
	"ui/internal/diff":           2,
	"ui/internal/describe":       5,
	"ui/internal/managed":        1,
	"ui/internal/natural":        0,
	"ui/internal/row":            4,
	"ui/internal/sorted":         0,
	"ui/internal/chunks":         0,
	"ui/internal/mount":          0,
	"ui/internal/gaps":           0,
	"ui/internal/section":        4,
	"manager":                    6,
	"operator":                   7,
	"cmd/listwatch/checkpoint":   2,
	"internal/group":             0,
	"internal/compare":           0,
	"internal/edits":             0,
	"internal/disk":              0,
	"internal/yamljson":          0,
	"internal/yamltext":          0,
	"internal/shell":             0,
	"internal/guard":             0,
	"internal/printable":         0,
	"internal/protojson":         0,
	"internal/table":             3,
	"internal/archive":           3,
	"internal/reviews":           2.5,

	// The program.
	"internal/exit":                    0,
	"internal/rollout":                 1,
	"internal/secret":                  1,
	"internal/target":                  5,
	"internal/record":                  6,
	"internal/jq":                      7,
	"internal/filter":                  8,
	"internal/print":                   8,
	"cmd/listwatch/internal/signals":   0,
	"cmd/listwatch/internal/manifest":  5,
	"cmd/listwatch/internal/listen":    5,
	"cmd/listwatch/internal/messages":  4,
	"cmd/listwatch/internal/served":    6,
	"cmd/listwatch/internal/rolling":   11,
	"cmd/listwatch/internal/cli":       5,
	"cmd/listwatch/internal/livepage":  11,
	"cmd/listwatch/hook":               6,
	"cmd/listwatch/internal/debounce":  9,
	"cmd/listwatch/internal/connect":   9,
	"cmd/listwatch/internal/order":     9,
	"cmd/listwatch/internal/objects":   10,
	"cmd/listwatch/internal/until":     10,
	"cmd/listwatch/internal/monitor":   9,
	"cmd/listwatch/internal/live":      10,
	"cmd/listwatch/internal/markers":   6,
	"cmd/listwatch/internal/operator":  6,
	"cmd/listwatch/internal/complete":  10,
	"cmd/listwatch/internal/fake":      11,
	"cmd/listwatch/internal/auth":      11,
	"cmd/listwatch/internal/past":      10.5,
	"cmd/listwatch/internal/refused":   11.5,
	"cmd/listwatch/internal/recording": 12,
	"cmd/listwatch/internal/help":      10,
	"cmd/listwatch/internal/hooking":   9,
	"cmd/listwatch/internal/stage":     7,
	"cmd/listwatch":                    20,

	"examples/minimal":      20,
	"examples/foo":          20,
	"examples/greeting":     20,
	"examples/cloudmanager": 20,
	"examples/database":     20,
	"":                      21,
}

// sideways are the imports within a floor.
var sideways = map[string]string{"watch": "list", "lease": "list", "client": "codec/protobuf"}

// What packages may link besides the standard library and this module.
var (
	engine  = []string{"github.com/json-iterator/go", "github.com/modern-go/concurrent", "github.com/modern-go/reflect2", "golang.org/x/time/rate"}
	library = []string{"go.yaml.in/yaml/v3", "go.yaml.in/yaml/v2", "github.com/evanphx/json-patch/v5", "sigs.k8s.io/structured-merge-diff/v6"}
	fake    = slices.Concat(library, engine[:3])
	scraped = slices.Concat([]string{"github.com/prometheus", "github.com/beorn7/perks", "github.com/cespare/xxhash", "github.com/munnerz/goautoneg", "google.golang.org/protobuf", "golang.org/x/sys"}, engine)
	program = slices.Concat([]string{"github.com/klauspost/compress", "github.com/inconshreveable/mousetrap", "github.com/itchyny/gojq", "github.com/itchyny/timefmt-go", "charm.land/bubbletea/v2", "github.com/charmbracelet", "github.com/clipperhouse", "github.com/lucasb-eyer/go-colorful", "github.com/mattn/go-runewidth", "github.com/muesli/cancelreader", "github.com/rivo/uniseg", "github.com/xo/terminfo", "golang.org/x/sync", "github.com/aymanbagabas/go-udiff", "gomodules.xyz/jsonpatch/v2", "sigs.k8s.io/yaml", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys", "golang.org/x/term"}, library, scraped)

	links = map[string][]string{
		"":                           nil,
		"kube":                       nil,
		"jsonpath":                   nil,
		"queue":                      engine[3:],
		"codec":                      engine[:3],
		"codec/protobuf":             engine[:3],
		"codec/compressed":           append([]string{"github.com/klauspost/compress"}, engine[:3]...),
		"apitest":                    fake,
		"apitest/faults":             fake,
		"apitest/connect":            slices.Concat([]string{"golang.org/x/time/rate"}, fake),
		"apitest/scenario":           fake,
		"apitest/simulate":           fake,
		"apitest/internal/schema":    fake,
		"apitest/internal/object":    fake,
		"apitest/internal/kubelet":   fake,
		"apitest/internal/kinds":     fake,
		"apitest/internal/rules":     fake,
		"apitest/internal/columns":   fake,
		"apitest/internal/discovery": fake,
		"apitest/internal/webhook":   fake,
		"apitest/internal/eviction":  fake,
		"apitest/internal/reviews":   fake,
		"apitest/internal/store":     fake,
		"apitest/internal/view":      fake,
		"apitest/internal/pods":      fake,
		"apitest/internal/traffic":   fake,
		"apitest/internal/wire":      fake,
		"apitest/internal/intake":    fake,
		"replay":                     slices.Concat([]string{"golang.org/x/time/rate"}, fake),
		"apitest/conform":            append([]string{"github.com/google/go-cmp"}, engine[:3]...),
		"webhook/webhooktest":        slices.Concat([]string{"golang.org/x/time/rate"}, fake),
		"internal/yamljson":          {"go.yaml.in/yaml/v3"},
		"config":                     append([]string{"go.yaml.in/yaml/v3"}, engine...),
		"config/plugin":              append([]string{"go.yaml.in/yaml/v3"}, engine...),
		"metrics":                    scraped,
		"operator":                   append([]string{"go.yaml.in/yaml/v3"}, engine...),
		"internal/archive":           append([]string{"github.com/klauspost/compress"}, engine[:3]...),
		"ui/internal/history":        append([]string{"github.com/klauspost/compress"}, engine[:3]...),
		"ui/internal/rates":          append([]string{"github.com/klauspost/compress"}, engine[:3]...),
		"internal/edits":             {"github.com/aymanbagabas/go-udiff"},
		"ui/internal/diff":           append([]string{"github.com/aymanbagabas/go-udiff"}, engine...),
		"ui/internal/describe":       append([]string{"github.com/aymanbagabas/go-udiff", "github.com/klauspost/compress"}, engine...),
		"ui":                         append([]string{"github.com/aymanbagabas/go-udiff", "github.com/klauspost/compress"}, engine...),
		"cmd/listwatch":              program,
		"examples/foo":               append([]string{"go.yaml.in/yaml/v3"}, engine...),
		"examples/greeting":          append([]string{"go.yaml.in/yaml/v3"}, engine...),
		"examples/cloudmanager":      append([]string{"go.yaml.in/yaml/v3"}, engine...),
		"examples/database":          append([]string{"go.yaml.in/yaml/v3"}, engine...),

		// What the program shares with the live page and the sinks.
		"internal/target": program,
		"internal/record": program,
		"internal/jq":     program,
		"internal/table":  engine,
		"internal/filter": program,
		"internal/print":  program,
	}
)

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Name, Dir              string
	Imports, TestImports, XTestImports []string
	Deps                               []string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func (p pkg) short() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

// packages asks go list once.
var packages = sync.OnceValues(func() ([]pkg, error) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Imports,TestImports,XTestImports,Deps,GoFiles,TestGoFiles,XTestGoFiles", "./...").Output()
	if err != nil {
		return nil, err
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

func eachPackage(t *testing.T, f func(*testing.T, pkg)) {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		t.Run(p.short(), func(t *testing.T) { f(t, p) })
	}
}

func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// within returns the path inside the module.
func within(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func TestImportsPointDown(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		floor, ok := floors[p.short()]
		if !ok {
			t.Fatal("this package has no floor: add it to the table, and to ARCHITECTURE.md")
		}
		for _, imp := range p.Imports {
			if other, ok := within(imp); ok && floors[other] >= floor && sideways[p.short()] != other {
				t.Errorf("imports %s, which does not stand below it", other)
			}
		}
	})
}

func TestPackagesLinkOnlyWhatTheyMay(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		may, ok := links[p.short()]
		switch {
		case ok:
		case strings.HasPrefix(p.short(), "cmd/listwatch/internal/"):
			may = program
		default:
			may = engine
		}
		for _, dep := range p.Deps {
			if _, ours := within(dep); ours || standard(dep) {
				continue
			}
			if !slices.ContainsFunc(may, func(m string) bool { return dep == m || strings.HasPrefix(dep, m+"/") }) {
				t.Errorf("links %s", dep)
			}
		}
		if p.Name == "main" && slices.Contains(p.Deps, "testing") {
			t.Error("a program links package testing")
		}
	})
}

func TestOnlyCodecKnowsJSONIterator(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if strings.HasPrefix(imp, "github.com/json-iterator/") && p.short() != "codec" {
				t.Errorf("imports %s", imp)
			}
			if imp == "unsafe" {
				t.Error("imports unsafe")
			}
		}
	})
}

func TestModuleDoesNotRequireKubernetes(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			line := strings.ReplaceAll(line, "sigs.k8s.io/structured-merge-diff/", "") // for the fake server's apply
			line = strings.ReplaceAll(line, "sigs.k8s.io/yaml ", "")                   // for -o kyaml
			line = strings.ReplaceAll(line, "sigs.k8s.io/yaml@", "")
			line = strings.ReplaceAll(line, "sigs.k8s.io/randfill ", "") // which its tests use
			line = strings.ReplaceAll(line, "sigs.k8s.io/randfill@", "")
			if strings.Contains(line, "k8s.io/") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// parsed are the files that were read so far, by path: several tests look at each.
var parsed = map[string]*ast.File{}

// parse reads the files of one folder. Nobody changes what it returns.
func parse(t *testing.T, dir string, names ...[]string) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, name := range slices.Concat(names...) {
		path := filepath.Join(dir, name)
		f := parsed[path]
		if f == nil {
			var err error
			if f, err = parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution); err != nil {
				t.Fatal(err)
			}
			parsed[path] = f
		}
		files = append(files, f)
	}
	return files
}

func TestEveryPackageIsDocumented(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		lines := 0
		for _, f := range parse(t, p.Dir, p.GoFiles) {
			if f.Doc != nil {
				lines += strings.Count(f.Doc.Text(), "\n")
			}
		}
		if strings.Contains("/"+p.short(), "/internal/") && lines > 0 {
			return // for us only: a sentence may do
		}
		if lines < 5 || lines > 30 {
			t.Errorf("the package doc has %d lines, want 5 to 30", lines)
		}
	})
}

func TestEveryPackageHasARunnableExample(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		if p.Name == "main" || strings.Contains("/"+p.short(), "/internal/") || p.short() == "apitest/conform" { // which needs a *testing.T
			return
		}
		for _, ex := range doc.Examples(parse(t, p.Dir, p.TestGoFiles, p.XTestGoFiles)...) {
			if ex.Output != "" || ex.EmptyOutput {
				return
			}
		}
		t.Error("no Example with Output")
	})
}

func TestNoInit(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		for _, f := range parse(t, p.Dir, p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Error("has an init function")
				}
			}
		}
	})
}

// TestTestsNeitherSkipNorWait: a test sleeps in virtual time only, that is,
// inside a call of synctest.Test, or of a function that calls it.
func TestTestsNeitherSkipNorWait(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		files := parse(t, p.Dir, p.TestGoFiles, p.XTestGoFiles)
		bubbles := []string{"synctest.Test"}
		for _, f := range files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && calls(fn, "synctest.Test") {
					bubbles = append(bubbles, fn.Name.Name)
				}
			}
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := callee(call)
				if slices.Contains(bubbles, name) {
					return false
				}
				switch name {
				case "time.Sleep", "t.Skip", "t.Skipf", "t.SkipNow", "b.Skip", "f.Skip":
					t.Errorf("calls %s", name)
				}
				return true
			})
		}
	})
}

func calls(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && callee(call) == name
		return !found
	})
	return found
}

// callee returns the name of what is called, "f" or "x.f".
func callee(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok {
			return x.Name + "." + fun.Sel.Name
		}
	}
	return ""
}

// build builds a program as it is shipped and returns its size and the modules
// in it.
func build(t *testing.T, path string) (size int64, modules []string) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", exe, path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	fi, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		modules = append(modules, m.Path)
	}
	return fi.Size(), modules
}

// TestArchitectureIsTrue: ARCHITECTURE.md is a map of at most 15 KB, and neither it
// nor a page of docs names a test that does not exist.
func TestArchitectureIsTrue(t *testing.T) {
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{"TestConform": true} // of the module e2e
	for _, p := range all {
		for _, f := range parse(t, p.Dir, p.TestGoFiles, p.XTestGoFiles) {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					tests[fn.Name.Name] = true
				}
			}
		}
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("docs has %d pages: %v", len(pages), err)
	}
	for _, name := range append(pages, "ARCHITECTURE.md") {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllSubmatch(page, -1) {
			if !tests[string(test[1])] {
				t.Errorf("%s: there is no %s", name, test[1])
			}
		}
		if name == "ARCHITECTURE.md" && len(page) > 15_000 {
			t.Errorf("ARCHITECTURE.md has %d bytes, want at most 15,000", len(page))
		}
	}
}

// TestLinksOfPagesLead: each relative link of a page leads to a file.
func TestLinksOfPagesLead(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md", "*/*/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\\n]*`")
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		page = code.ReplaceAll(page, nil)
		for _, l := range link.FindAllStringSubmatch(string(page), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), l[1])); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, l[1])
			}
		}
	}
}

const megabyte = 1_000_000

func TestMinimalProgramIsSmall(t *testing.T) {
	size, modules := build(t, "./examples/minimal")
	want := []string{"github.com/json-iterator/go", "github.com/modern-go/concurrent", "github.com/modern-go/reflect2", "golang.org/x/time"}
	if diff := cmp.Diff(want, modules); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	if t.Logf("%.1f MB", float64(size)/megabyte); size > 8*megabyte {
		t.Errorf("it has %d bytes, want at most 8 MB", size)
	}
}

func TestProgramIsSmall(t *testing.T) {
	size, _ := build(t, "./cmd/listwatch")
	// Go's templates cost two of these: they keep the linker from leaving out methods.
	if t.Logf("%.1f MB", float64(size)/megabyte); size > 29_500_000 {
		t.Errorf("it has %d bytes, want at most 29.5 MB", size)
	}
}
