//go:build !unix

package main

import (
	"os"
	"syscall"
)

var writeSignals = []os.Signal{syscall.SIGPIPE}
