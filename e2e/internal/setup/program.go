// Package setup holds what the packages of tests share: the built program, requests to
// a real server, and objects. Paths are relative to a folder of e2e, which is where a
// test of one of its packages runs.
package setup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// Program is the built listwatch.
type Program struct {
	Path string
	Home string // empty: nothing of the user's gets in
}

// BuildProgram builds the program, and gives it an empty home folder, both for as long as
// the test runs.
func BuildProgram(t *testing.T) *Program {
	t.Helper()
	return &Program{Path: Build(t, "../..", "./cmd/listwatch"), Home: t.TempDir()}
}

// BuildAsTest is Build, with the race detector if the test has it.
func BuildAsTest(t *testing.T, dir, pkg string) string {
	t.Helper()
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return Build(t, dir, pkg, "-race")
	}
	return Build(t, dir, pkg)
}

// Build builds the command pkg of the module in dir with flags of go build, and returns
// its path, which exists as long as the test runs.
func Build(t *testing.T, dir, pkg string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(pkg))
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", path}, flags...), pkg)...)
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return path
}

// Command returns a run of the program at path, killed at the end of ctx.
func (p *Program) Command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"HOME=" + p.Home, "KUBECACHEDIR=/dev/null", "PATH=" + os.Getenv("PATH"), "TERM=dumb"}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Result is a run that ended.
type Result struct {
	Code   int
	Stdout string
	Stderr string
}

// RunLimit bounds each run of a program that ends by itself.
const RunLimit = 60 * time.Second

// Run runs the program to its end, which must come within RunLimit.
func (p *Program) Run(t *testing.T, args ...string) Result {
	t.Helper()
	return p.RunPath(t, p.Path, args...)
}

// RunPath is Run of the program at path, such as kubectl, in the environment of p.
func (p *Program) RunPath(t *testing.T, path string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), RunLimit)
	defer cancel()
	cmd := p.Command(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%s %s: %v after at most %s\n%s", filepath.Base(path), strings.Join(args, " "), err, RunLimit, stderr.String())
	}
	return Result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// Output runs the program at path, which must succeed, and returns its stdout.
func (p *Program) Output(t *testing.T, path string, args ...string) string {
	t.Helper()
	r := p.RunPath(t, path, args...)
	if r.Code != 0 {
		t.Fatalf("%s %s: exit %d\n%s", filepath.Base(path), strings.Join(args, " "), r.Code, r.Stderr)
	}
	return r.Stdout
}

// Kubeconfig writes a kubeconfig that speaks to server, and returns its path.
func Kubeconfig(t *testing.T, c *cluster.Cluster, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := c.Kubeconfig(path, server); err != nil {
		t.Fatal(err)
	}
	return path
}
