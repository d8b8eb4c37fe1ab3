package markers

import (
	"errors"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// place is where the go command finds a package, and the name in its package clause.
type place struct {
	dir, name string
	err       error
}

// imported returns the import path of the package that a file in a folder calls name. An import
// has the name of its package clause; that of a package which is not found is guessed.
func (s *source) imported(file *ast.File, name string, from *folder) (string, error) {
	var paths []string // of imports without a name
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		switch {
		case err != nil:
			return "", err
		case spec.Name == nil:
			paths = append(paths, path)
		case spec.Name.Name == name:
			return path, nil
		}
	}
	guess := ""
	for odds := range 3 { // the go command takes a while for each: likely ones go first
		for _, path := range paths {
			if unlike(path, name) != odds {
				continue
			}
			p := s.locate(path, from)
			if p.name == name {
				return path, nil
			}
			if p.err != nil && odds < 2 && guess == "" {
				guess = path
			}
		}
	}
	if guess == "" {
		return "", fmt.Errorf("no import is called %s", name)
	}
	return guess, nil
}

// unlike returns 0 if a path ends in a name, 1 if it ends in a name and a version, such as
// shared/v2, and 2 if the package of this name is hardly there.
func unlike(path, name string) int {
	parts := strings.Split(path, "/")
	n := len(parts)
	version, ok := strings.CutPrefix(parts[n-1], "v")
	switch {
	case parts[n-1] == name:
		return 0
	case n > 1 && parts[n-2] == name && ok && version != "" && strings.Trim(version, "0123456789") == "":
		return 1
	}
	return 2
}

// find returns a package that a folder imports.
func (s *source) find(path string, from *folder) (*folder, error) {
	if f := s.byPath[path]; f != nil {
		return f, nil
	}
	p := s.locate(path, from)
	if p.err != nil {
		return nil, fmt.Errorf("find the package %s: %w", path, p.err)
	}
	f, err := s.load(p.dir)
	if err != nil {
		return nil, fmt.Errorf("read the package %s: %w", path, err)
	}
	if f == nil {
		return nil, fmt.Errorf("the package %s has no Go files", path)
	}
	f.path = path
	s.byPath[path] = f
	return f, nil
}

// locate returns where a package is that a folder imports.
func (s *source) locate(path string, from *folder) place {
	p, ok := s.places[path]
	if ok {
		return p
	}
	if p = locate(path, from.dir); p.err != nil { // the folder is in the module cache, perhaps
		if here := locate(path, "."); here.err == nil {
			p = here
		}
	}
	s.places[path] = p
	return p
}

// locate asks the go command for the place of a package, as seen from a folder. What the folder
// holds chooses no program and no server: git would run those of its configuration, go.mod names
// another go command, and modules that are not there would be downloaded, also by git.
func locate(path, from string) place {
	cmd := exec.Command("go", "list", "-buildvcs=false", "-find", "-f", "{{.Name}} {{.Dir}}", "--", path)
	cmd.Dir = from
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOPROXY=off", "GONOPROXY=none")
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		line, rest, _ := strings.Cut(strings.TrimSpace(string(failed.Stderr)), "\n")
		for strings.HasPrefix(line, "go: downloading ") { // the next line says that it does not
			line, rest, _ = strings.Cut(rest, "\n")
		}
		if strings.HasSuffix(line, "GOPROXY=off") {
			line += ": run go mod download first"
		}
		return place{err: fmt.Errorf("go list: %s", line)}
	}
	name, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return place{dir, name, err}
}
