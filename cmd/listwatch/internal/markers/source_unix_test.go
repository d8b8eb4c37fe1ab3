//go:build unix

package markers

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestASourceHasAnEnd: links are followed, but neither to a device nor beyond the limit, and
// nobody waits for a pipe.
func TestASourceHasAnEnd(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxSource+1); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		create     func(path string) error
	}{
		{"a pipe", "not a regular file", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"a device", "not a regular file", func(path string) error { return os.Symlink("/dev/zero", path) }},
		{"a folder", "not a regular file", func(path string) error { return os.Symlink(filepath.Dir(large), path) }},
		{"a large file", "is larger than 8388608 bytes", func(path string) error { return os.Symlink(large, path) }},
	} {
		dir := t.TempDir()
		if err := tt.create(filepath.Join(dir, "types.go")); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "types.go") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// TestAFolderChoosesNoProgram: the go command, which finds packages, runs neither git, which would
// run what .git/config names, nor another go command, and downloads nothing.
func TestAFolderChoosesNoProgram(t *testing.T) {
	bin, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	for _, name := range []string{"git", "go1.99.0"} {
		script := "#!/bin/sh\necho \"$0 $*\" >>" + ran + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, value := range map[string]string{"GOTOOLCHAIN": "auto", "GOFLAGS": "-buildvcs=true", "GONOPROXY": "*", "GONOSUMDB": "*", "GOVCS": "*:all"} {
		t.Setenv(name, value)
	}
	const sums = "ex.com/gone.git v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n" +
		"ex.com/gone.git v1.0.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	for _, tt := range []struct{ mod, imports, failed string }{
		{"go 1.26", `gone "ex/tool"`, ""},
		{"go 1.26\ntoolchain go1.99.0", `gone "ex/tool"`, ""},
		{"go 1.99.0", `gone "ex/tool"`, "GOTOOLCHAIN=local"},
		{"go 1.26\nrequire ex.com/gone.git v1.0.0", `gone "ex.com/gone.git"`, "run go mod download first"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			".git/HEAD":    "ref: refs/heads/main\n",
			"go.mod":       "module ex\n\n" + tt.mod + "\n",
			"go.sum":       sums,
			"api/types.go": strings.Replace(box, "import (", "import "+tt.imports+"\nimport (", 1) + "A gone.T\n}\n",
			"tool/main.go": "package main\ntype T string\n",
		} {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Read(filepath.Join(dir, "api")); tt.failed == "" && err != nil || !strings.Contains(firstLine(err), tt.failed) {
			t.Errorf("%s: %v, want %q", tt.mod, err, tt.failed)
		}
		if lines, err := os.ReadFile(ran); err == nil {
			t.Errorf("%s: ran %s", tt.mod, lines)
			os.Remove(ran)
		}
	}
}
