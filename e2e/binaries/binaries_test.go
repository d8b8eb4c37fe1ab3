package binaries_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/binaries"
)

// The folder has etcd after the first call, which may build it.
func ExampleEnsure() {
	path, err := binaries.Ensure(context.Background(), binaries.Etcd, io.Discard)
	fmt.Println(filepath.Base(path), err)
	// Output: etcd <nil>
}

func TestDirIsWhatTheEnvironmentSays(t *testing.T) {
	want := t.TempDir()
	t.Setenv("LISTWATCH_E2E_BIN_DIR", want)
	got, err := binaries.Dir(t.Context(), binaries.Etcd)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Dir (-want +got):\n%s", diff)
	}
}

// Who moves one program to another version does not build the others again.
func TestDirIsOneForEachPin(t *testing.T) {
	t.Setenv("LISTWATCH_E2E_BIN_DIR", "")
	var pins []string
	dirs := make(map[string]string)
	for _, p := range []binaries.Program{binaries.APIServer, binaries.ControllerManager, binaries.Kubectl, binaries.Kubectl136, binaries.Etcd} {
		dir, err := binaries.Dir(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		pin, _, _ := strings.Cut(filepath.Base(dir), "-go")
		if other, ok := dirs[pin]; ok && other != dir {
			t.Errorf("%s is in %s, and others of its pin in %s", p, dir, other)
		}
		dirs[pin] = dir
		pins = append(pins, string(p)+" "+pin)
	}
	want := []string{"kube-apiserver kubernetes", "kube-controller-manager kubernetes", "kubectl kubernetes", "kubectl-1.36 kubectl-1.36", "etcd etcd"}
	if diff := cmp.Diff(want, pins); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHashIsThatOfThePin(t *testing.T) {
	dir := t.TempDir()
	seen := make(map[string]string)
	for _, c := range []struct{ mod, sum string }{{"a", "b"}, {"a", "c"}, {"b", "b"}, {"ab", ""}, {"", "ab"}} {
		for name, text := range map[string]string{"go.mod": c.mod, "go.sum": c.sum} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h, err := binaries.Hash(dir)
		if err != nil {
			t.Fatal(err)
		}
		if is := fmt.Sprint(c); seen[h] != "" {
			t.Errorf("%s and %s have the hash %s", seen[h], is, h)
		} else {
			seen[h] = is
		}
	}
	if h, err := binaries.Hash(t.TempDir()); err == nil {
		t.Errorf("a folder that pins nothing has the hash %s", h)
	}
}

func TestEnsureRefusesUnknownProgram(t *testing.T) {
	t.Setenv("LISTWATCH_E2E_BIN_DIR", t.TempDir())
	if path, err := binaries.Ensure(t.Context(), "kube-nothing", io.Discard); err == nil {
		t.Errorf("got %s, want an error", path)
	}
}

// Without a module proxy and with an empty module cache nothing can be built.
func TestEnsureSaysWhatAFailedBuildNeeds(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("LISTWATCH_E2E_BIN_DIR", dir)
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	_, err := binaries.Ensure(t.Context(), binaries.Etcd, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "LISTWATCH_E2E_BIN_DIR") {
		t.Errorf("error %v; want one that says what to do", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if entry.Name() != "etcd.lock" {
			t.Errorf("the failed build left %s", entry.Name())
		}
	}
}

func TestEnsureWaitsForAnotherBuilderUntilTheContextEnds(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("LISTWATCH_E2E_BIN_DIR", dir)
	unlock, err := binaries.Lock(t.Context(), filepath.Join(dir, "etcd.lock"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unlock)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := progress(func(line string) {
		if strings.HasPrefix(line, "waiting for another process") {
			cancel()
		}
	})
	if _, err := binaries.Ensure(ctx, binaries.Etcd, waiting); ctx.Err() == nil || err == nil {
		t.Errorf("error %v; want the context's", err)
	}
}

// progress calls a function with each line.
type progress func(string)

func (p progress) Write(b []byte) (int, error) {
	p(string(b))
	return len(b), nil
}
