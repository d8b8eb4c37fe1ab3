package operator

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestWriteMakesAnOperatorThatPassesItsTests runs them without a network.
func TestWriteMakesAnOperatorThatPassesItsTests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "greeting")
	files, err := Write(Options{Group: "example.com", Kind: "Greeting", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range files {
		lines += bytes.Count(read(t, dir, name), []byte("\n"))
	}
	if lines >= 400 {
		t.Errorf("%d lines, want less than 400", lines)
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	// It requires what this module requires: other versions may not be in the module cache.
	requires := regexp.MustCompile(`(?s)\nrequire \(.*?\n\)`).FindAll(read(t, root, "go.mod"), -1)
	write(t, dir, "go.mod", append(read(t, dir, "go.mod"), bytes.Join(requires, []byte("\n"))...))
	write(t, dir, "go.sum", read(t, root, "go.sum"))
	run := func(name string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		return out
	}
	if out := run("gofmt", "-l", "."); len(out) > 0 {
		t.Errorf("gofmt: %s", out)
	}
	run("go", "mod", "edit", "-replace=github.com/listwatch/listwatch="+root)
	run("go", "vet", "./...")
	run("go", "test", "./...")
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestWriteOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if files, err := Write(Options{Group: "example.com", Kind: "Greeting", Dir: dir}); err == nil {
		t.Errorf("it wrote %q", files)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" || len(entries) != 1 {
		t.Errorf("main.go has %q (%v) beside %d files", b, err, len(entries)-1)
	}
}

func TestCheckRefusesNames(t *testing.T) {
	for _, o := range []Options{
		{"", "Greeting", ""}, {"example", "Greeting", ""}, {"Example.com", "Greeting", ""}, {"apps.k8s.io", "Greeting", ""}, {"a b.com", "Greeting", ""},
		{"example.com", "", ""}, {"example.com", "greeting", ""}, {"example.com", "Greet-ing", ""}, {"example.com", "G/../../x", ""},
	} {
		if err := o.Check(); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if err := (Options{"example.com", "Greeting", ""}).Check(); err != nil {
		t.Error(err)
	}
}
