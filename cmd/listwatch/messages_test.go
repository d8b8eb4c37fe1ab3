package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// speakers are the packages whose errors the program tells.
var speakers = []string{"cmd/listwatch/", "cmd/listwatch/internal/*/", "cmd/listwatch/checkpoint/", "cmd/listwatch/hook/", "config/", "config/plugin/", "internal/group/", "internal/target/", "internal/record/", "internal/jq/", "internal/filter/", "internal/print/",
	"client/", "codec/", "discovery/", "jsonpath/", "kube/", "list/", "watch/", "replay/", "apitest/scenario/", "apitest/faults/script"}

const notProvoked = "testdata/messages.txt"

// TestEveryMessageIsInAGoldenFile finds where the program and the packages below
// it make errors, and looks for each in what the stories expect on stderr, and
// those of e2e: all literal parts of the format, in order, on one line. What is not
// there stands in testdata/messages.txt, with the reason; no more than that does.
func TestEveryMessageIsInAGoldenFile(t *testing.T) {
	made := map[string]string{} // FILE: FORMAT, to its line
	for _, dir := range speakers {
		for _, file := range glob(t, "../../"+dir+"*.go") {
			if !strings.HasSuffix(file, "_test.go") {
				name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
				for format, line := range messagesOf(t, file) {
					made[name+": "+strconv.Quote(format)] = fmt.Sprintf("%s:%d", name, line)
				}
			}
		}
	}
	told := goldens(t)
	excused := excuses(t)
	used := map[string]bool{}
	for _, m := range slices.Sorted(maps.Keys(made)) {
		file, quoted, _ := strings.Cut(m, ": ")
		format, _ := strconv.Unquote(quoted)
		switch parts := literals(format); {
		case len(parts) == 0: // says nothing itself
		case expected(told, parts) || expected(told, scrubbed(parts)):
			if excused[m] != "" {
				t.Errorf("%s: %s is in a golden file: take it out of %s", excused[m], m, notProvoked)
			}
			used[m] = true
		case excused[m] != "" || excused[file] != "":
			used[m], used[file] = true, true
		default:
			t.Errorf("%s: no golden file has this message: %s\nadd a story that provokes it, or to %s the line above with a reason", made[m], m, notProvoked)
		}
	}
	for m, at := range excused {
		if !used[m] {
			t.Errorf("%s: there is no such message: %s", at, m)
		}
	}
}

// makers are the functions that make errors of a format, or of a text, which is
// the first of their arguments that is one.
var makers = map[string]bool{"Errorf": true, "errors.New": true, "usage": true, "Usage": true, "damaged": true, "damage": true, "problem": true,
	"fail": true, "failAt": true, "syntax": true, "expect": true}

// spoken are the functions that return the text of an error, or of advice.
var spoken = regexp.MustCompile(`^(Error|text|instead|hint|notKnown|check|advice\w*)$`)

// messagesOf returns the formats of messages that are made in a file, with their
// lines. What is no literal in them stands as %v.
func messagesOf(t *testing.T, file string) map[string]int {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	add := func(e ast.Expr) {
		if s := textOf(e); s != "" {
			found[s] = set.Position(e.Pos()).Line
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := ""
			switch fun := n.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				name = fun.Sel.Name
				x, _ := fun.X.(*ast.Ident)
				switch {
				case x != nil && name == "New":
					name = x.Name + ".New"
				case x != nil && x.Name == "f" && name == "fail":
					name = "" // of a decoder that leaves it to another, and tells nobody
				}
			}
			if at := slices.IndexFunc(n.Args, func(e ast.Expr) bool { return textOf(e) != "" }); makers[name] && at >= 0 {
				add(n.Args[at])
			}
		case *ast.CompositeLit:
			if name, ok := n.Type.(*ast.Ident); ok && name.Name == "DamageError" && len(n.Elts) == 2 {
				add(n.Elts[1])
			}
		case *ast.KeyValueExpr:
			if k, ok := n.Key.(*ast.Ident); ok && (k.Name == "Problem" || k.Name == "Reason" || k.Name == "Msg") {
				add(n.Value)
			}
		case *ast.FuncDecl:
			if !spoken.MatchString(n.Name.Name) || n.Body == nil {
				return true
			}
			ast.Inspect(n.Body, func(n ast.Node) bool {
				if ret, ok := n.(*ast.ReturnStmt); ok {
					for _, e := range ret.Results {
						if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 0 {
							e = call.Args[0]
						}
						add(e)
					}
				}
				return true
			})
		}
		return true
	})
	return found
}

// textOf returns the literals of e, put together; "" if there are none.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return ""
		}
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return ""
		}
		x, y := textOf(e.X), textOf(e.Y)
		if x+y == "" {
			return ""
		}
		if x == "" {
			x = "%v"
		}
		if y == "" {
			y = "%v"
		}
		return x + y
	}
	return ""
}

var verbs = regexp.MustCompile(`%[-+# 0-9.*]*[a-zA-Z]`)

// literals are the parts of a format that are words.
func literals(format string) []string {
	var parts []string
	for _, floor := range []string{"client: ", "jsonpath: "} { // of which the program does not always speak
		format = strings.TrimPrefix(format, floor)
	}
	for _, p := range verbs.Split(strings.ReplaceAll(format, "%%", "%"), -1) {
		if p = strings.TrimSpace(p); strings.ContainsFunc(p, unicode.IsLetter) {
			parts = append(parts, p)
		}
	}
	return parts
}

// scrubbed is parts as stories have them, whose times are replaced.
func scrubbed(parts []string) []string {
	var out []string
	for _, p := range parts {
		out = append(out, (&world{}).scrub(p))
	}
	return out
}

// expected reports whether a line has all parts, in order.
func expected(lines []string, parts []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		for _, p := range parts {
			_, rest, ok := strings.Cut(line, p)
			if !ok {
				return false
			}
			line = rest
		}
		return true
	})
}

// goldens are the lines in which stories tell what they expect: whole files, and
// patterns, without what is special in them.
func goldens(t *testing.T) []string {
	var lines []string
	for _, file := range append(glob(t, "testdata/script/*.txtar"), glob(t, "../../e2e/auth/testdata/*.txt")...) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script := strings.HasSuffix(file, ".txtar")
		for line := range strings.Lines(string(b)) {
			if script && strings.HasPrefix(line, "-- ") {
				script = false
			}
			if !script {
				lines = append(lines, line)
				continue
			}
			if strings.HasPrefix(line, "stderr ") || strings.HasPrefix(line, "stdout ") || strings.HasPrefix(line, "until ") {
				lines = append(lines, strings.NewReplacer(`\`, "", "''", "'").Replace(line))
			}
		}
	}
	return lines
}

// excuses reads what no story provokes: a line is FILE: "FORMAT", or FILE alone
// for all that is in it, under a line with the reason.
func excuses(t *testing.T) map[string]string {
	f, err := os.Open(notProvoked)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := map[string]string{}
	reason, n := "", 0
	for s := bufio.NewScanner(f); s.Scan(); {
		n++
		line := strings.TrimSpace(s.Text())
		switch {
		case line == "":
		case strings.HasPrefix(line, "# "):
			reason = line
		case reason == "":
			t.Errorf("%s:%d: no reason stands above it", notProvoked, n)
		case found[line] != "":
			t.Errorf("%s:%d: it is there twice", notProvoked, n)
		default:
			found[line] = fmt.Sprintf("%s:%d", notProvoked, n)
		}
	}
	return found
}

func glob(t *testing.T, pattern string) []string {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	return files
}
