//go:build unix && !linux

package cluster

import "syscall"

// processAttributes puts the child in its own process group. Nothing ends it
// if this process dies before Stop.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
