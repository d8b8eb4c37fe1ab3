package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
)

// TestLogIsDocumented compares the messages of the source and their keys with the
// last table of LOG.md. With UPDATE_SCRIPTS=1 it writes that.
func TestLogIsDocumented(t *testing.T) {
	b, err := os.ReadFile("LOG.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "| msg | further keys |\n|---|---|\n"
	text, got, found := strings.Cut(string(b), head)
	if !found {
		t.Fatal("LOG.md has no table of messages")
	}
	keysOf := map[string]map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err == nil {
		var more []string
		more, err = filepath.Glob("internal/*/*.go")
		files = append(files, more...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		note := func(message string, keys []string) {
			if keysOf[message] == nil {
				keysOf[message] = map[string]bool{}
			}
			for _, k := range keys {
				keysOf[message][k] = true
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if message, keys := logged(n); message != "" {
				note(message, keys)
			}
			if fn, ok := n.(*ast.FuncDecl); ok {
				names, keys := chosen(fn)
				for _, message := range names {
					note(message, keys)
				}
			}
			return true
		})
	}
	want := ""
	for _, m := range slices.Sorted(maps.Keys(keysOf)) {
		want += fmt.Sprintf("| %s | %s |\n", m, strings.Join(slices.Sorted(maps.Keys(keysOf[m])), ", "))
	}
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile("LOG.md", []byte(text+head+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("write it by UPDATE_SCRIPTS=1 (-LOG.md +source):\n%s", diff)
	}
}

// logged returns the constant message of a call that logs, and the keys after it:
// where what follows is pairs. Attributes that were put together elsewhere count
// where they are.
func logged(n ast.Node) (message string, keys []string) {
	if list, ok := n.(*ast.CompositeLit); ok { // attrs := []any{"key", value, ...}
		if a, ok := list.Type.(*ast.ArrayType); ok && len(list.Elts) > 0 {
			if id, ok := a.Elt.(*ast.Ident); ok && id.Name == "any" && literal(list.Elts[0]) == "method" {
				return "request", append(pairs(list.Elts), "again", "audit", "code", "err", "proto", "reused") // see round
			}
		}
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", nil
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", nil
	}
	if x, ok := fun.X.(*ast.SelectorExpr); ok && strings.EqualFold(x.Sel.Name, "log") && fun.Sel.Name != "With" { // of slog
		if literal(call.Args[0]) != "" {
			return literal(call.Args[0]), pairs(call.Args[1:])
		}
		return "", nil
	}
	switch strings.ToLower(fun.Sel.Name) {
	case "say", "share", "info", "warn", "each", "verbose":
		for i := 1; i < len(call.Args); i++ {
			if rest := call.Args[i+1:]; literal(call.Args[i]) != "" && (len(rest)%2 == 0 && len(pairs(rest)) == len(rest)/2 || call.Ellipsis.IsValid()) {
				return literal(call.Args[i]), pairs(rest)
			}
		}
	}
	return "", nil
}

// chosen returns the messages that fn puts into a variable of that name, and the
// keys of the calls that log it.
func chosen(fn *ast.FuncDecl) (messages, keys []string) {
	isMessage := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == "message"
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if isMessage(to) && len(n.Lhs) == len(n.Rhs) && literal(n.Rhs[i]) != "" {
					messages = append(messages, literal(n.Rhs[i]))
				}
			}
		case *ast.CallExpr:
			if i := slices.IndexFunc(n.Args, isMessage); i >= 0 {
				keys = append(keys, pairs(n.Args[i+1:])...)
			}
		}
		return true
	})
	return messages, keys
}

// pairs returns the keys among key, value, key, value.
func pairs(args []ast.Expr) (keys []string) {
	for i := 0; i+1 < len(args); i += 2 {
		if k := literal(args[i]); k != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		s, err := strconv.Unquote(l.Value)
		if err == nil {
			return s
		}
	}
	return ""
}

// TestLinesAboutObjectsAreLimited: a few at once, then one at intervals, and how many were
// left out.
func TestLinesAboutObjectsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr strings.Builder
		talk := messages.New(&stderr, "", false)
		for range 1000 {
			talk.Each("pods", "an object is bad", "bad")
			talk.EachNote("pod/a: another fault", "other")
		}
		time.Sleep(messages.RepeatedEvery)
		talk.Each("pods", "an object is bad", "bad")
		talk.Each("pods", "an object is bad", "bad")
		talk.Summary()
		talk.Summary()
		want := strings.Repeat("listwatch: pods: an object is bad\nlistwatch: pod/a: another fault\n", messages.MaxRepeated) +
			"listwatch: pods: an object is bad\n" +
			"listwatch: bad: 981 more lines of this kind left out\nlistwatch: other: 980 more lines of this kind left out\n"
		if diff := cmp.Diff(want, stderr.String()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
