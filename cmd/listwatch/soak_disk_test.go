//go:build linux && soak

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// ownDisks says that this process may mount disks that nobody else sees.
const ownDisks = "LISTWATCH_TEST_DISKS"

// TestSoakOnAFullDisk has the program live on file systems that are really full, again
// and again: where its checkpoint is, or stdout, or both, or a recording. Each time it
// must end with one clear error and exit code 1, and all that it printed and will print
// must be the server's history, as a judge has it.
//
// File systems can be mounted in a user and a mount namespace of its own; so the test
// runs itself again in such. It needs leave to make them.
func TestSoakOnAFullDisk(t *testing.T) {
	if os.Getenv(ownDisks) == "" {
		inNamespaces(t)
		return
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(os.NewSyscallError("mount", err), leave)
	}
	for _, test := range []struct {
		name string
		do   func(t *testing.T)
	}{
		{"the checkpoint's disk", testCheckpointsDisk},
		{"the checkpoint's disk when it is compacted", testCheckpointsDiskAtACompaction},
		{"the checkpoint's disk has no inode for a compaction", testCheckpointsInodes},
		{"the disk of stdout", testDiskOfStdout},
		{"one disk for both", testOneDisk},
		{"one disk for both, and the history is lost", testOneDiskWithoutHistory},
		{"a disk that is full at the start", testFullAtTheStart},
		{"a damaged checkpoint on a full disk", testDamagedOnAFullDisk},
		{"a recording's disk", testRecordingsDisk},
		{"the disk of a recording of traffic", testDiskOfTraffic},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.do(t)
		})
	}
}

// leave is what whoever runs the test can do where it may not mount anything.
const leave = `: this test mounts small file systems that it fills, in a user and a mount namespace of its own. ` +
	`It needs leave for that: be root outside of a container, or have a container with CAP_SYS_ADMIN (docker run --privileged), ` +
	`or allow namespaces to users: sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0 user.max_user_namespaces=10000`

// inNamespaces runs the test that runs.
func inNamespaces(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := func(flags uintptr) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), exe, "-test.run", "^"+t.Name()+"$", "-test.v", "-test.parallel", "4", "-soak.seed", strconv.FormatUint(*soakSeed, 10))
		cmd.Env = append(os.Environ(), ownDisks+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | flags, Pdeathsig: syscall.SIGKILL}
		if flags != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		return cmd
	}
	cmd := command(syscall.CLONE_NEWUSER)
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil && os.Getuid() == 0 {
		cmd = command(0)
		out, err = cmd.CombinedOutput()
	}
	if cmd.Process == nil {
		t.Fatal(err, leave)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if testing.Verbose() {
		t.Logf("\n%s", out)
	}
}

// tmpfs is a file system that can be full.
type tmpfs struct {
	t   *testing.T
	dir string
}

// newDisk mounts one. It has room for so many files, the root included.
func newDisk(t *testing.T, kB, files int) *tmpfs {
	t.Helper()
	d := &tmpfs{t, t.TempDir()}
	options := "size=" + strconv.Itoa(kB) + "k,nr_inodes=" + strconv.Itoa(files) + ",mode=0700"
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, options); err != nil {
		t.Fatal(os.NewSyscallError("mount", err), leave)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.dir, syscall.MNT_DETACH); err != nil {
			t.Error(os.NewSyscallError("umount", err))
		}
	})
	return d
}

func (d *tmpfs) path(name string) string { return filepath.Join(d.dir, name) }

// aPage is what a file of such a disk grows by.
const aPage = 4096

// free is how much room there is.
func (d *tmpfs) free() int {
	d.t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &s); err != nil {
		d.t.Fatal(err)
	}
	return int(s.Bavail) * int(s.Bsize)
}

// leave fills it but for so many bytes, which are made a multiple of a page.
func (d *tmpfs) leaves(n int) {
	d.t.Helper()
	d.clear()
	if n = d.free() - max(0, n)/aPage*aPage; n <= 0 {
		return // as much as there is
	}
	if err := os.WriteFile(d.path("filler"), make([]byte, n), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// clear makes room again.
func (d *tmpfs) clear() {
	d.t.Helper()
	if err := os.Remove(d.path("filler")); err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
}

// has fails unless there are just these files on it, besides the filler and the lock of a
// checkpoint, which stays.
func (d *tmpfs) has(names ...string) {
	d.t.Helper()
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "filler" && e.Name() != "state.lock" && !slices.Contains(names, e.Name()) {
			d.t.Errorf("%s was left on the disk", e.Name())
		}
	}
}
