package cluster

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The test runs itself as the parent that is killed. The grandchild's log is a
// FIFO: reading it ends when the last process that has it open is dead.
func TestProcessesDieWithTheirParent(t *testing.T) {
	const variable = "LISTWATCH_E2E_PARENT_OF"
	if fifo := os.Getenv(variable); fifo != "" {
		if _, err := startProcess("/bin/sh", []string{"-c", "echo up; exec sleep 60"}, fifo); err != nil {
			t.Fatal(err)
		}
		select {} // until killed
	}
	fifo := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestProcessesDieWithTheirParent$")
	parent.Env = append(os.Environ(), variable+"="+fifo)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	log, err := os.Open(fifo) // returns when startProcess opens it
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := io.ReadFull(log, make([]byte, len("up\n"))); err != nil {
		t.Fatalf("the grandchild did not start: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait() // says that it was killed
	start := time.Now()
	if _, err := io.Copy(io.Discard, log); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the grandchild lived %s longer than its parent", took)
	}
}
