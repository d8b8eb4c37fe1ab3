package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestSignalsEndTheProcess runs the program as a process of its own, which
// testscript's in-process program is not.
func TestSignalsEndTheProcess(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Nodes, Object: `{"metadata":{"name":"a"}}`})
	for _, test := range []struct {
		name string
		end  func(*exec.Cmd, io.Closer) error
		code int
	}{
		{"interrupt", func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGINT) }, 130},
		{"terminate", func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGTERM) }, 143},
		{"closed stdout", func(_ *exec.Cmd, stdout io.Closer) error {
			err := stdout.Close()
			srv.Put(kube.Nodes, `{"metadata":{"name":"b"}}`)
			return err
		}, 141},
	} {
		t.Run(test.name, func(t *testing.T) {
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), exe, "watch", "nodes", "-o", "name", "--output-watch-events", "-s", srv.URL)
			cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + t.TempDir()}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, len("ADDED node/a\n"))
			if _, err := io.ReadFull(stdout, line); err != nil {
				t.Errorf("read the first line: %v", err)
			}
			if err := test.end(cmd, stdout); err != nil {
				t.Error(err)
			}
			err = cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != test.code {
				t.Errorf("got %v, want exit code %d", err, test.code)
			}
			if stderr.Len() > 0 {
				t.Errorf("stderr: %s", &stderr)
			}
		})
	}
}

// TestSignalEndsAProcessThatNobodyReads: the clean end waits for stdout, and
// gives up after a second.
func TestSignalEndsAProcessThatNobodyReads(t *testing.T) {
	srv := apitest.New(t)
	for i := range 2000 { // more than a pipe holds
		srv.Put(kube.Nodes, fmt.Sprintf(`{"metadata":{"name":"a-node-with-a-long-name-%04d"}}`, i))
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "watch", "nodes", "-o", "json", "--output-watch-events", "-s", srv.URL)
	cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + t.TempDir()}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	state, err := cmd.Process.Wait()
	if err != nil || state.ExitCode() != 130 {
		t.Errorf("%v, %v; want exit code 130", state, err)
	}
}
