//go:build !unix

package signals

import (
	"os"
	"syscall"
)

var writeSignals = []os.Signal{syscall.SIGPIPE}
