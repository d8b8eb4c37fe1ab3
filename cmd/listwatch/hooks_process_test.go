//go:build unix

package main

import (
	"bufio"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/kube"
)

// TestSecondSignalKillsHooks: the first lets them end, here for an hour, the second
// does not. What a hook has started ends with it: nobody holds stderr open.
func TestSecondSignalKillsHooks(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Nodes, Object: `{"metadata":{"name":"a"}}`})
	cmd := newChild(t, "watch", "nodes", "-o", "none", "-s", srv.URL, "--exec-initial", "--exec-grace", "1h",
		"--", "sh", "-c", "trap '' TERM INT; echo up; sleep 1000; sleep 1000").cmd
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for in := bufio.NewScanner(stderr); in.Scan(); { // to the end: nobody has it any more
		lines = append(lines, in.Text())
		stopping := strings.Contains(in.Text(), "hooks: stopping: ")
		if stopping {
			<-time.After(signals.SentTwice) // it is the second one
		}
		if stopping || strings.HasSuffix(in.Text(), "] up") {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	want := "[node/a] up\nlistwatch: hooks: stopping: 0 waiting events dropped; 1 run may take up to 1h0m0s to end\nlistwatch: hooks: 1 run killed"
	if !errors.As(err, &exit) || exit.ExitCode() != 130 || strings.Join(lines, "\n") != want {
		t.Errorf("%v, want exit code 130; stderr:\n%s\nwant:\n%s", err, strings.Join(lines, "\n"), want)
	}
}

// TestSignalWhileHooksRunOn: they have longer than the second that everything else
// has, and the program waits for them.
func TestSignalWhileHooksRunOn(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Nodes, Object: `{"metadata":{"name":"a"}}`})
	cmd := newChild(t, "watch", "nodes", "-o", "none", "-q", "-s", srv.URL,
		"--exec-initial", "--", "sh", "-c", "echo up; sleep 1.5; echo over").cmd
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for in := bufio.NewScanner(stderr); in.Scan(); {
		if lines = append(lines, in.Text()); len(lines) == 1 {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 143 || strings.Join(lines, "\n") != "[node/a] up\n[node/a] over" {
		t.Errorf("%v, want exit code 143; stderr: %q", err, lines)
	}
}
