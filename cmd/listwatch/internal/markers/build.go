package markers

import (
	"go/ast"
	"go/build/constraint"
	"runtime"
	"slices"
	"strings"
)

// The systems and processors that the end of a file's name can mean, as the go command has them.
const (
	systems    = "aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos"
	processors = "386 amd64 amd64p32 arm arm64 arm64be armbe loong64 mips mips64 mips64le mips64p32 mips64p32le mipsle ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm"
)

// forHost reports whether the go command reads a file of this name on this system.
func forHost(name string) bool {
	parts := strings.Split(strings.TrimSuffix(name, ".go"), "_")[1:]
	if n := len(parts); n > 0 && oneOf(processors, parts[n-1]) {
		if !satisfied(parts[n-1]) {
			return false
		}
		parts = parts[:n-1]
	}
	n := len(parts)
	return n == 0 || !oneOf(systems, parts[n-1]) || satisfied(parts[n-1])
}

func oneOf(words, word string) bool { return slices.Contains(strings.Fields(words), word) }

// built reports whether the constraints before the package clause include a file.
func built(file *ast.File) bool {
	for _, g := range file.Comments {
		if g.Pos() > file.Package {
			break
		}
		for _, c := range g.List {
			if !constraint.IsGoBuild(c.Text) && (g == file.Doc || !constraint.IsPlusBuild(c.Text)) {
				continue
			}
			if expr, err := constraint.Parse(c.Text); err != nil || !expr.Eval(satisfied) {
				return false
			}
		}
	}
	return true
}

// satisfied reports whether the go command has a build tag on this system.
func satisfied(tag string) bool {
	switch tag {
	case runtime.GOOS, runtime.GOARCH, "gc", "cgo":
		return true
	case "unix":
		return !oneOf("js plan9 wasip1 windows", runtime.GOOS)
	}
	return strings.HasPrefix(tag, "go1.")
}
