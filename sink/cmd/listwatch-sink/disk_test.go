//go:build linux && soak

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/file"
	"github.com/listwatch/listwatch/sink/sinktest"
	"github.com/listwatch/listwatch/sink/sqlite"
)

// ownDisks is set in the process that may mount file systems that nobody else sees.
const ownDisks = "LISTWATCH_TEST_DISKS"

// TestSoakOnAFullDisk fills the file system of a sink again and again, while the cluster
// changes and the program is killed. It must report the full disk, leave nothing half
// written, and go on when there is room again. The file systems are mounted in a user and
// a mount namespace of a process of its own.
func TestSoakOnAFullDisk(t *testing.T) {
	if os.Getenv(ownDisks) == "" {
		inNamespaces(t)
		return
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(os.NewSyscallError("mount", err))
	}
	t.Run("sqlite", func(t *testing.T) {
		testOnAFullDisk(t, "sqlite", "disk is full", func(path string) (diskSink, error) {
			return sqlite.Open(t.Context(), path, sqlite.Options{})
		})
	})
	t.Run("file", func(t *testing.T) {
		testOnAFullDisk(t, "file", "no space left on device", func(path string) (diskSink, error) {
			if left, err := filepath.Glob(path + "/*/*/*/*/.new-*"); err != nil || len(left) > 0 {
				t.Errorf("%v are left, error %v", left, err)
			}
			return folder{file.NewReader(path)}, nil
		})
	})
}

// diskSink is what a test reads when the program has ended.
type diskSink interface {
	sink.Reader
	Close() error
}

// inNamespaces runs the test that runs in namespaces of its own.
func inNamespaces(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), ownDisks+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		t.Fatal(err, ": this test mounts file systems in a user namespace, which must be permitted: sysctl kernel.apparmor_restrict_unprivileged_userns=0 user.max_user_namespaces=10000")
	}
	if t.Logf("\n%s", out); err != nil {
		t.Error(err)
	}
}

// fill leaves no room in a folder, and returns what makes room again.
func fill(t *testing.T, dir string) (clear func()) {
	t.Helper()
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			break
		}
	}
	return func() {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
}

func testOnAFullDisk(t *testing.T, scheme, full string, open func(path string) (diskSink, error)) {
	s := newStage(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=32m,mode=0700"); err != nil {
		t.Fatal(os.NewSyscallError("mount", err))
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	path := filepath.Join(dir, "cluster")
	s.args[3] = scheme + ":" + path
	w := sinktest.NewWorld(s.server)
	w.Put("first", "web", "")
	args := []string{"configmaps", "--cluster-id", "c", "--flush", "5ms", "--batch", "20"}
	cmd, errs := s.child(args...)
	_, revision := leader(t, []*replica{{cmd, errs}})
	w.Begin(revision)

	n := 0
	write := func() {
		for range 100 {
			n++
			w.Put(fmt.Sprint("n-", n%70), "web", strings.Repeat(fmt.Sprint(n), 1000))
		}
		w.Delete(fmt.Sprint("n-", n%69))
	}
	committed := func() {
		t.Helper()
		last := string(w.Server.Revision())
		for limit := time.Now().Add(2 * time.Minute); ; <-time.After(20 * time.Millisecond) {
			w.Server.Bookmark()
			if code, out, _ := s.run("status"); code == exitOK && isAt(out, kube.Revision(last)) {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("still not at %s\n%s", last, errs)
			}
		}
	}
	for round := range 6 {
		before := strings.Count(errs.String(), "sink: retrying")
		clear := fill(t, dir)
		for limit := time.Now().Add(time.Minute); strings.Count(errs.String(), "sink: retrying") == before && time.Now().Before(limit); {
			write() // SQLite has room in the log that it uses again
		}
		errs.wait(t, `sink: retrying.*`+full, before+1)
		if code, out, errs := s.run("status"); code != exitOK || !strings.Contains(out, "configmaps") {
			t.Errorf("status on the full disk: exit code %d\n%s%s", code, out, errs)
		}
		if round%2 == 1 { // the next process finds the disk full
			cmd.Process.Kill()
			cmd.Wait()
			cmd, errs = s.child(args...)
			errs.wait(t, `sink: retrying.*`+full, 1)
		}
		clear()
		committed()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ends with %v\n%s", err, errs)
	}
	db, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := w.Check(t.Context(), db, "c", false); err != nil {
		t.Error(err)
	}
	if code, out, errs := s.run("verify", "--cluster-id", "c"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
}

// isAt reports whether a status shows a revision, or a newer one.
func isAt(status string, rev kube.Revision) bool {
	for line := range strings.Lines(status) {
		if f := strings.Fields(line); len(f) > 4 && f[3] == "LIVE" && !rev.Newer(kube.Revision(f[4])) {
			return true
		}
	}
	return false
}
