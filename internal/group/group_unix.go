//go:build unix

package group

import (
	"os"
	"os/exec"
	"syscall"
)

// Own gives cmd a group of its own, before it is started, and makes the end of
// cmd's context a SIGTERM to it, so that locks can be given back. Kill, after Wait,
// makes sure of what is left; it is for a command whose context has ended.
func Own(cmd *exec.Cmd) (kill func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) != nil {
			return os.ErrProcessDone
		}
		return nil
	}
	return func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // fails where nothing is left
}
