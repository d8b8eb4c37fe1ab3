//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestHooksGoOnAfterKill9: as the help says: a hook that runs goes on, and the next run
// of the program may run one for the same object beside it.
func TestHooksGoOnAfterKill9(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	srv.Put(kube.Nodes, `{"metadata":{"name":"n"}}`)
	dir := t.TempDir()
	args := []string{"watch", "nodes", "-o", "none", "--checkpoint", filepath.Join(dir, "state"), "--checkpoint-policy", "after-hook", "-s", srv.URL}
	c := newChild(t, append(args, "--exec-initial", "--exec", fmt.Sprintf("read -r line; echo up; cd %s; i=0; until test -e go || test $i -gt 6000; do i=$((i+1)); sleep 0.01; done; echo \"$line\" >record; mv record done", dir))...).start()
	c.until(c.stderr, "up$")
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.end(-1)
	code, _, stderr := runProgram(t, nil, append(args, "--once", "--exec-initial", "--exec", "test ! -e "+dir+"/done && echo beside it")...)
	if code != 0 || !strings.Contains(stderr, "beside it") {
		t.Errorf("the next run: exit code %d\n%s", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; <-time.After(10 * time.Millisecond) {
		if b, err := os.ReadFile(filepath.Join(dir, "done")); err == nil {
			if !strings.Contains(string(b), `"name":"n"`) {
				t.Errorf("the hook has read %q", b)
			}
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the hook did not end by itself")
		}
	}
}
