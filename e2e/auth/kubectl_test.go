package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/binaries"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// TestKubeconfigsAreReadAsByKubectl: with each kubeconfig and set of flags of
// authPairs, kubectl and listwatch come to the server as the same user, or both do
// not come to it.
func TestKubeconfigsAreReadAsByKubectl(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	kubectl, err := binaries.Ensure(t.Context(), binaries.Kubectl, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	k := &authPairStage{cluster: c, program: setup.BuildProgram(t), kubectl: kubectl}
	k.prepare(t)
	for _, p := range authPairs {
		t.Run(p.name, func(t *testing.T) { k.compare(t, p) })
	}
}

// authPair is a kubeconfig, or several, and how they are used. In all texts $NAME
// stands for what is there only at run time.
type authPair struct {
	name  string
	files map[string]string // by their path below $DIR; those that begin with #! can be run
	env   []string
	args  []string // of both programs
	stdin string

	user      string // who it is for the server; empty = nobody, since both programs fail
	namespace string // where they look; empty = default

	// Why the two do not agree, which the documentation of package config says too.
	// Kubectl is then whom it is for kubectl.
	differs string
	kubectl string
}

// authPairStage is where they run.
type authPairStage struct {
	cluster *cluster.Cluster
	program *setup.Program
	kubectl string
	values  map[string]string
}

// known is whom a server takes a program for.
type known struct {
	Username  string              `json:"username"`
	UID       string              `json:"uid"`
	Groups    []string            `json:"groups"`
	Extra     map[string][]string `json:"extra"`
	Namespace string              `json:"-"`
}

func (k *authPairStage) compare(t *testing.T, p authPair) {
	r := &authPairRun{dir: t.TempDir(), pair: p, values: k.values}
	r.write(t)
	var theirs, ours known
	var ourErr, theirErr string
	var both sync.WaitGroup
	both.Go(func() { theirs, theirErr = r.kubectl(t, k.kubectl) })
	ours, ourErr = r.listwatch(t, k.program.Path)
	both.Wait()
	if p.differs != "" {
		if theirs.Username != p.kubectl || ours.Username != p.user || cmp.Equal(theirs, ours) {
			t.Errorf("kubectl is %q, listwatch is %q; want %q and %q\nkubectl: %s\nlistwatch: %s", theirs.Username, ours.Username, p.kubectl, p.user, theirErr, ourErr)
		}
		return
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("(-kubectl +listwatch):\n%s\nkubectl: %s\nlistwatch: %s", diff, theirErr, ourErr)
	}
	if p.user != "" && p.namespace == "" {
		p.namespace = "default"
	}
	if ours.Username != p.user || ours.Namespace != p.namespace {
		t.Errorf("user %q in namespace %q, want %q in %q\nkubectl: %s\nlistwatch: %s", ours.Username, ours.Namespace, p.user, p.namespace, theirErr, ourErr)
	}
}

// authPairRun is where one pair is compared.
type authPairRun struct {
	dir    string
	pair   authPair
	values map[string]string
}

func (r *authPairRun) expand(text string) string {
	return os.Expand(text, func(name string) string {
		if name == "DIR" {
			return r.dir
		}
		if v, ok := r.values[name]; ok {
			return v
		}
		return "$" + name // the shell's
	})
}

func (r *authPairRun) write(t *testing.T) {
	t.Helper()
	for name, text := range r.pair.files {
		path := filepath.Join(r.dir, name)
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(r.expand(text)), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a program, in the directory of the pair, which is its home too.
func (r *authPairRun) run(t *testing.T, path string, args ...string) setup.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), setup.RunLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"HOME=" + r.dir + "/home", "PATH=" + os.Getenv("PATH"), "TERM=dumb"}
	for _, e := range r.pair.env {
		cmd.Env = append(cmd.Env, r.expand(e))
	}
	for _, a := range r.pair.args {
		cmd.Args = append(cmd.Args, r.expand(a))
	}
	cmd.Dir, cmd.WaitDelay, cmd.Stdin = r.dir, 5*time.Second, strings.NewReader(r.expand(r.pair.stdin))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) || ctx.Err() != nil {
		t.Errorf("%s %v: %v\n%s", filepath.Base(path), args, err, stderr.String())
	}
	return setup.Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// kubectl returns who it is, or why it is nobody.
func (r *authPairRun) kubectl(t *testing.T, path string) (known, string) {
	who := r.run(t, path, "auth", "whoami", "-o", "json")
	if who.Code != 0 {
		return known{}, who.Stderr
	}
	var review struct {
		Status struct {
			UserInfo known `json:"userInfo"`
		} `json:"status"`
	}
	if err := json.Unmarshal([]byte(who.Stdout), &review); err != nil {
		t.Errorf("kubectl auth whoami: %v", err)
	}
	u := review.Status.UserInfo
	slices.Sort(u.Groups)
	u.Namespace = "default"
	if r.pair.namespace != "" { // it says so only by what it finds
		found := r.run(t, path, "get", "configmaps", "-o", "name")
		u.Namespace = strings.TrimPrefix(strings.TrimSpace(found.Stdout), "configmap/of-")
	}
	return u, ""
}

// listwatch is likewise.
func (r *authPairRun) listwatch(t *testing.T, path string) (known, string) {
	checked := r.run(t, path, "auth", "check", "configmaps", "-o", "json")
	if checked.Code != 0 {
		return known{}, checked.Stderr
	}
	var report struct {
		Configuration struct {
			Namespace string `json:"namespace"`
		} `json:"configuration"`
		Identity struct {
			known
			User string `json:"user"`
		} `json:"identity"`
	}
	if err := json.Unmarshal([]byte(checked.Stdout), &report); err != nil {
		t.Errorf("listwatch auth check: %v", err)
	}
	u := report.Identity.known
	u.Username, u.Namespace = report.Identity.User, report.Configuration.Namespace
	slices.Sort(u.Groups)
	return u, ""
}
