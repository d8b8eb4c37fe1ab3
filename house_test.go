package listwatch_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// This file holds the sizes of CONTRIBUTING.md, in every module: of files, functions
// and packages, tests aside. Each exception has a bound and may only shrink; one that
// is not needed any more is an error.

const (
	maxFile    = 400  // lines
	maxFunc    = 80   // lines
	maxFiles   = 35   // of a package
	maxPackage = 5000 // lines of a package
	maxEngine  = 4000 // the same, of a package that a program embeds
)

// embedded are the packages that a program embeds.
var embedded = map[string]bool{"kube": true, "codec": true, "client": true, "list": true, "watch": true, "cache": true, "controller": true, "manager": true, "queue": true, "lease": true, "events": true, "crd": true, "webhook": true, "operator": true}

// larger are the exceptions: what is larger than it should be, and how large it may be.
var larger = map[string]int{
	"apitest/internal/schema: lines":     5550,
	"codec/skip.go: skip":                109,
	"bench/cmd/bench/case.go: cases":     100,
	"bench/probe/main.go: run":           95,
	"bench/cmd/bench/target.go: targets": 82,
}

// generated matches what a program has written, in the words that go generate asks for.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func TestSizes(t *testing.T) {
	needed := map[string]bool{}
	check := func(what string, is, most int) {
		if is <= most {
			return
		}
		bound, ok := larger[what]
		if !ok {
			t.Errorf("%s: %d, want at most %d", what, is, most)
		} else if needed[what] = true; is > bound {
			t.Errorf("%s: %d, and this exception may not grow beyond %d", what, is, bound)
		}
	}
	files, lines := map[string]int{}, map[string]int{} // by folder
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		path = filepath.ToSlash(path)
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n := bytes.Count(src, []byte("\n"))
		files[filepath.Dir(path)]++
		lines[filepath.Dir(path)] += n
		if generated.Match(src) {
			return nil
		}
		check(path, n, maxFile)
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				check(path+": "+fn.Name.Name, set.Position(fn.End()).Line-set.Position(fn.Pos()).Line+1, maxFunc)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range files {
		check(dir+": files", n, maxFiles)
		most := maxPackage
		if embedded[dir] {
			most = maxEngine
		}
		check(dir+": lines", lines[dir], most)
	}
	for what := range larger {
		if !needed[what] {
			t.Errorf("%s is no exception any more: remove it from the list", what)
		}
	}
}

// TestCommentsFitTheirLine: a line that is a comment has at most 100 columns, a tab
// counting as four. Code, URLs, directives and what an example prints may be longer.
func TestCommentsFitTheirLine(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil || generated.Match(src) {
			return err
		}
		output := false // of an example, up to the end of its function
		n := 0
		for line := range strings.Lines(string(src)) {
			n++
			text, comment := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
			output = comment && (output || strings.HasPrefix(strings.ToLower(text), "output:") || strings.HasPrefix(strings.ToLower(text), "unordered output:"))
			width := utf8.RuneCountInString(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))
			marker := strings.HasPrefix(text, "+") // one line, as controller-gen reads it
			if comment && !output && !marker && width > 100 && !strings.Contains(text, "://") {
				t.Errorf("%s:%d: a comment of %d columns, want at most 100", path, n, width)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
