//go:build !unix

package plugin

import "os/exec"

// endable does nothing: os/exec kills the command, and its children keep running.
func endable(*exec.Cmd, bool) (kill func()) { return func() {} }
