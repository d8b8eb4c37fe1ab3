package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStdoutIsOnAFullDisk: nothing of what was not printed is noted.
func TestStdoutIsOnAFullDisk(t *testing.T) {
	t.Parallel()
	srv, names := crowd(t, 1)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"watch", "nodes", "-o", "name", "--output-watch-events", "-s", srv.URL}
	for _, test := range []struct {
		kept []string
		want string
	}{
		{nil, "listwatch: write to stdout: no space left on device: make room where the output goes\n"},
		{[]string{"--checkpoint", state}, "listwatch: write to stdout: no space left on device: make room where the output goes; the next run prints again what is not there in whole\n"},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := newChild(t, append(args, test.kept...)...)
		c.cmd.Stdout = full
		c.start().end(1)
		if err := full.Close(); err != nil {
			t.Error(err)
		}
		if got := c.stderr.String(); got != test.want {
			t.Errorf("stderr:\n%swant:\n%s", got, test.want)
		}
	}
	if code, stdout, stderr := runProgram(t, nil, append(args, "--once", "--checkpoint", state)...); code != 0 || stdout != "ADDED node/"+names[0]+"\n" {
		t.Errorf("the next run: exit code %d\n%s%s", code, stdout, stderr)
	}
}
