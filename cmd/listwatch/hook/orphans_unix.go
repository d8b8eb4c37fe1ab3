//go:build unix

package hook

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// orphans are the process groups of runs that have ended. As PID 1 of a container
// we inherit what they left behind, and must wait for it, or it stays as a zombie.
// Only these groups are waited for: the rest of our children is os/exec's. What has
// left its group (setsid) is not seen; an init such as tini is for those.
type orphans struct {
	on bool

	mu     sync.Mutex
	groups map[int]bool
}

func newOrphans() *orphans { return &orphans{on: os.Getpid() == 1, groups: map[int]bool{}} }

// start starts cmd. A new process may have the number of a group that is gone, so
// nothing is waited for in between.
func (o *orphans) start(cmd *exec.Cmd) error {
	if !o.on {
		return cmd.Start()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		delete(o.groups, cmd.Process.Pid)
	}
	return err
}

// ended notes the group of a command that os/exec has waited for.
func (o *orphans) ended(cmd *exec.Cmd) {
	if !o.on {
		return
	}
	o.mu.Lock()
	o.groups[cmd.Process.Pid] = true
	o.mu.Unlock()
	o.reap()
}

// reap waits for those that have ended, without waiting for any to end.
func (o *orphans) reap() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for g := range o.groups {
		for {
			pid, err := syscall.Wait4(-g, nil, syscall.WNOHANG, nil)
			if err == syscall.EINTR || pid > 0 {
				continue
			}
			if err != nil { // there are none
				delete(o.groups, g)
			}
			break
		}
	}
}
