package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// program is the built listwatch.
type program struct {
	path string
	home string // empty: nothing of the user's gets in
}

func buildProgram(t *testing.T) *program {
	t.Helper()
	p := &program{path: filepath.Join(t.TempDir(), "listwatch"), home: t.TempDir()}
	if runtime.GOOS == "windows" {
		p.path += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.path, "./cmd/listwatch")
	build.Dir = ".."
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return p
}

// command returns a run of the program at path, killed at the end of ctx.
func (p *program) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"HOME=" + p.home, "KUBECACHEDIR=/dev/null", "PATH=" + os.Getenv("PATH"), "TERM=dumb"}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// result is a run that ended.
type result struct {
	Code   int
	Stdout string
	Stderr string
}

// runLimit bounds each run of a program that ends by itself.
const runLimit = 60 * time.Second

// run runs the program to its end.
func (p *program) run(t *testing.T, args ...string) result {
	t.Helper()
	return p.runPath(t, p.path, args...)
}

func (p *program) runPath(t *testing.T, path string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	cmd := p.command(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%s %s: %v after at most %s\n%s", filepath.Base(path), strings.Join(args, " "), err, runLimit, stderr.String())
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// output runs the program at path, which must succeed, and returns its stdout.
func (p *program) output(t *testing.T, path string, args ...string) string {
	t.Helper()
	r := p.runPath(t, path, args...)
	if r.Code != 0 {
		t.Fatalf("%s %s: exit %d\n%s", filepath.Base(path), strings.Join(args, " "), r.Code, r.Stderr)
	}
	return r.Stdout
}

// kubeconfig writes a kubeconfig that speaks to server, and returns its path.
func kubeconfig(t *testing.T, c *cluster.Cluster, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := c.Kubeconfig(path, server); err != nil {
		t.Fatal(err)
	}
	return path
}
