package operator

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(b, []byte("\n"))
	}
	if lines >= 400 {
		t.Errorf("%d lines, want less than 400", lines)
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666); err != nil {
		t.Fatal(err)
	}
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
