//go:build !unix

package group

import "os/exec"

// Own does nothing: os/exec kills the command, and the processes that it started run on.
func Own(*exec.Cmd) (kill func()) { return func() {} }
