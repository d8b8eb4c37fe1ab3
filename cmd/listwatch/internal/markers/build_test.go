package markers

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestReadLeavesOutWhatIsNotBuilt: on this system, by the name and the go:build line of a file.
func TestReadLeavesOutWhatIsNotBuilt(t *testing.T) {
	other := "windows"
	if runtime.GOOS == other {
		other = "linux"
	}
	const spec = "type Spec struct { B string }\n"
	for _, tt := range []struct{ name, text, failed string }{
		{"gen.go", "//go:build ignore\n\npackage main\n" + spec, ""},
		{"gen.go", "// +build ignore\n\npackage main\n" + spec, ""},
		{"broken.go", "//go:build ignore\n\npackage v1\ntype {{.Name}} struct", ""},
		{"types_" + other + ".go", "package v1\n" + spec, ""},
		{"types_" + other + "_" + runtime.GOARCH + ".go", "package v1\n" + spec, ""},
		{"types_" + runtime.GOOS + "_s390x.go", "package v1\n" + spec, ""},
		{"types_mips.go", "package v1\n" + spec, ""},
		{"_types.go", "package v1\n" + spec, ""},
		{"sub/types_test.go", "package sub\n" + spec, ""},
		{"sub/" + other + ".go", "//go:build " + other + "\n\npackage sub\n" + spec, ""},
		{"types_a.go", "//go:build " + runtime.GOOS + " && go1.20 && !cgo && unix\n\npackage v1\n" + spec, ""},
		{"types_" + runtime.GOOS + ".go", "package v1\n" + spec, "types_" + runtime.GOOS + ".go:2:6: the type Spec is declared twice in this package"},
		{"z_" + runtime.GOARCH + ".go", "//go:build " + runtime.GOOS + "\n\npackage v1\n" + spec, "z_" + runtime.GOARCH + ".go:4:6: the type Spec is declared twice in this package"},
		{"main.go", "package main\nfunc main() {}", "types.go:2:9: the package v1: another file of this folder has the package main"},
		{"mips.go", "package v1\n" + spec, "types.go:17:6: the type Spec is declared twice in this package"},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"types.go": box + "A int\n}\n", tt.name: tt.text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		defs, err := Read(dir)
		if got := strings.TrimPrefix(firstLine(err), dir+string(filepath.Separator)); got != tt.failed {
			t.Errorf("%s\n got %s\nwant %s", tt.name, got, tt.failed)
		}
		if err != nil {
			continue
		}
		if s := defs[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]; s.Properties["A"] == nil {
			t.Errorf("%s: the field A is not there", tt.name)
		}
	}
}
