//go:build unix

package plugin

import (
	"os/exec"
	"syscall"

	"github.com/listwatch/listwatch/internal/group"
)

// endable makes the end of cmd's context a SIGTERM, so that a command can give
// its locks back, and returns what makes sure of it afterwards. With own both
// reach all that the command started.
func endable(cmd *exec.Cmd, own bool) (kill func()) {
	if own {
		return group.Own(cmd)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return func() {} // os/exec has killed it
}
