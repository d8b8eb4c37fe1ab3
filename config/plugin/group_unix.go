//go:build unix

package plugin

import (
	"os"
	"os/exec"
	"syscall"
)

// endable makes the end of cmd's context a SIGTERM, so that a command can give
// its locks back, and returns what makes sure of it afterwards. With group both
// reach all that the command started.
func endable(cmd *exec.Cmd, group bool) (kill func()) {
	if !group {
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		return func() {} // os/exec has killed it
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) != nil {
			return os.ErrProcessDone
		}
		return nil
	}
	return func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // fails where nothing is left
}
