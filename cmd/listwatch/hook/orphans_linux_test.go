package hook

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestOrphansAreReaped: as PID 1 we inherit what a hook has left. Here the process
// is made to inherit it without being PID 1.
func TestOrphansAreReaped(t *testing.T) {
	const subreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, err := syscall.Syscall(syscall.SYS_PRCTL, subreaper, 1, 0); err != 0 {
		t.Fatal(err)
	}
	defer syscall.Syscall(syscall.SYS_PRCTL, subreaper, 0, 0)
	path, alive, dead := life(t)
	var out string
	o := Options{Command: []string{"sh", "-c", "(exec 3>" + path + "; echo up >&3; exec sleep 1000 >/dev/null 2>&1 </dev/null) & echo $!"}}
	o.Output = func(_, line string) { out = line }
	p := New(o)
	p.orphans.on = true
	if err := p.command(t.Context(), []Event{object("a")}); err != nil {
		t.Fatal(err)
	}
	alive()
	var pid int
	if _, err := fmt.Sscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	p.orphans.reap()
	if len(p.orphans.groups) != 1 {
		t.Errorf("%d groups are known while one lives", len(p.orphans.groups))
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	dead()
	for { // the pipe is closed a moment before the process has ended
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(b), ") Z ") {
			break
		}
	}
	p.orphans.reap()
	if len(p.orphans.groups) != 0 {
		t.Error("its group is still known")
	}
	childless(t)
}
