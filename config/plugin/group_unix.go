//go:build unix

package plugin

import (
	"os/exec"
	"syscall"

	"github.com/listwatch/listwatch/internal/group"
)

// endable makes cmd receive SIGTERM when its context ends, so that the command can
// release its locks. kill sends SIGKILL afterwards. With own, both signals reach the
// whole process group of the command.
func endable(cmd *exec.Cmd, own bool) (kill func()) {
	if own {
		return group.Own(cmd)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return func() {} // os/exec has killed it already
}
