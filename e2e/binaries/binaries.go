// Package binaries builds the Kubernetes programs that the end-to-end tests
// run: kube-apiserver, etcd, and on demand kubectl, its predecessor and
// kube-controller-manager. They are built from their Go modules by the go
// command, so that the module proxy is the only thing needed from outside.
//
// The versions are pinned in ../kubernetes/go.mod, ../kubectl-1.36/go.mod and
// ../etcd/go.mod, modules of their own that hold nothing else: their thousands
// of packages stay out of the tests' module graph.
//
// A program is built once into a cache folder outside the tree and used from
// there ever after. Builders in other processes wait for each other on a file
// lock, and a program appears under its name only when it is complete.
package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Program is the name of a program that this package can build.
type Program string

// The programs.
const (
	APIServer         Program = "kube-apiserver"
	Etcd              Program = "etcd"
	Kubectl           Program = "kubectl"
	ControllerManager Program = "kube-controller-manager"

	Kubectl136 Program = "kubectl-1.36" // of the release before
)

// module returns the folder, inside the e2e module, that pins the program's
// version, the module to read that version of, and the program's package.
func (p Program) module() (folder, module, pkg string, err error) {
	switch p {
	case APIServer, Kubectl, ControllerManager:
		return "kubernetes", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/" + string(p), nil
	case Kubectl136:
		return "kubectl-1.36", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kubectl", nil
	case Etcd:
		return "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", nil
	}
	return "", "", "", fmt.Errorf("no program is called %q", string(p))
}

// Ensure returns the path of the program, building it first if its folder in
// the cache (see Dir) does not have it. A build says on progress what it does and
// how long it took, and on a terminal how far it is; nothing is written there when
// there is nothing to build. kube-apiserver takes minutes, so ctx should have no short
// deadline.
func Ensure(ctx context.Context, p Program, progress io.Writer) (string, error) {
	dir, err := Dir(ctx, p)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, string(p))
	if executable(path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for %s: %w", p, err)
	}
	unlock, err := lock(ctx, path+".lock", progress)
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", path, err)
	}
	defer unlock()
	if executable(path) { // another process built it while we waited
		return path, nil
	}
	if err := build(ctx, p, path, progress); err != nil {
		return "", err
	}
	return path, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// needed ends the error of a failed build.
const needed = "needed: the Go toolchain that go.mod names, the Go module proxy or a filled module cache, " +
	"8 GB of disk, 4 GB of memory; or set LISTWATCH_E2E_BIN_DIR to a folder with ready programs"

// build runs go build into a temporary name beside path and renames it.
func build(ctx context.Context, p Program, path string, progress io.Writer) error {
	folder, module, pkg, err := p.module()
	if err != nil {
		return err
	}
	root, err := moduleDir(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(root, folder)
	version, err := goOutput(ctx, dir, "list", "-m", "-f", "{{.Version}}", module)
	if err != nil {
		return fmt.Errorf("find the version of %s: %w\n%s", p, err, needed)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+string(p)+"-*")
	if err != nil {
		return fmt.Errorf("build %s: %w", p, err)
	}
	temp.Close()
	defer os.Remove(temp.Name()) // fails once it is renamed, as it should

	fmt.Fprintf(progress, "building %s %s into %s (once; kube-apiserver takes minutes)\n", p, version, filepath.Dir(path))
	start := time.Now()
	deps, err := goOutput(ctx, dir, "list", "-deps", pkg)
	if err != nil {
		return fmt.Errorf("list the packages of %s: %w\n%s", p, err, needed)
	}
	out := &compiled{terminal: terminalOf(progress), program: string(p), packages: map[string]bool{}, began: start}
	for name := range strings.FieldsSeq(deps) {
		out.packages[name] = true
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-trimpath", "-buildvcs=false",
		"-ldflags", ldflags(p, version), "-o", temp.Name(), pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	if rest := out.end(); err != nil {
		return fmt.Errorf("build %s %s: %w\n%s\n%s", p, version, err, tail(rest, 30), needed)
	}
	if err := os.Chmod(temp.Name(), 0o755); err != nil {
		return fmt.Errorf("build %s: %w", p, err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("build %s: %w", p, err)
	}
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	fmt.Fprintf(progress, "built %s %s in %s, %d MB\n", p, version, time.Since(start).Round(time.Second), size>>20)
	return nil
}

// ldflags stamps the version: kubectl and discovery show it, and clients
// compare it. etcd carries its version in its source.
func ldflags(p Program, version string) string {
	flags := "-s -w"
	if p == Etcd {
		return flags
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", pkg, version, major, minor)
	}
	return flags
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
