package disk_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/internal/disk"
)

const lockPath = "LISTWATCH_TEST_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(lockPath); path != "" {
		_, err := disk.Lock(path)
		fmt.Println("locked:", err == nil)
		<-time.After(time.Hour) // until it is killed; the runtime ends a program that waits for nothing
	}
	os.Exit(m.Run())
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	release, err := disk.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = disk.Lock(path)
	if locked := (*disk.LockedError)(nil); !errors.As(err, &locked) || !strings.HasPrefix(locked.Holder, fmt.Sprintf("process %d on ", os.Getpid())) {
		t.Errorf("the second got %v", err)
	}
	release()
	release, err = disk.Lock(path)
	if err != nil {
		t.Errorf("after its release: %v", err)
	}
	release()
}

// TestLockOfAProcessThatIsKilled: it is free, whatever the file says.
func TestLockOfAProcessThatIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), lockPath+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "locked: true\n" {
		t.Fatalf("the other process says %q", line)
	}
	if _, err := disk.Lock(path); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d on ", cmd.Process.Pid)) {
		t.Errorf("while it lives: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	release, err := disk.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// TestLockPrintsNothingForeign: what cannot be printed is not.
func TestLockPrintsNothingForeign(t *testing.T) {
	for _, content := range []string{"", "no line", "\x1b[31mred\n", strings.Repeat("x", 1000)} {
		path := filepath.Join(t.TempDir(), "x.lock")
		release, err := disk.Lock(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := disk.Lock(path); err == nil || err.Error() != path+" is locked by another process" {
			t.Errorf("%q: %v", content, err)
		}
		release()
	}
}

// TestLockWritesOverNothingOfTheUser: a file that only has the name of a lock is locked,
// and keeps what is in it, as does what a hard link of that name leads to.
func TestLockWritesOverNothingOfTheUser(t *testing.T) {
	for content, want := range map[string]bool{"a user's notes\n": false, "processes\n": false, "": true, "process 1 on \"a\" since 2026\n": true} {
		path := filepath.Join(t.TempDir(), "x.lock")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		release, err := disk.Lock(path)
		if err != nil {
			t.Fatal(err)
		}
		release()
		b, err := os.ReadFile(path)
		if written := string(b) != content; err != nil || written != want {
			t.Errorf("%q is %q, %v", content, b, err)
		}
	}
}
