package binaries

import (
	"io"
	"time"
)

// Lock is lock, for a test that stands in for another process.
var Lock = lock

// Hash is hash, for a test with folders of its own.
var Hash = hash

// TerminalOf is terminalOf, for tests of what is no terminal.
var TerminalOf = terminalOf

// End is end.
func (c *compiled) End() string { return c.end() }

// NewCompiled returns a reader of a build that began at a time.
func NewCompiled(terminal io.Writer, program string, began time.Time, packages ...string) *compiled {
	c := &compiled{terminal: terminal, program: program, packages: map[string]bool{}, began: began}
	for _, name := range packages {
		c.packages[name] = true
	}
	return c
}
