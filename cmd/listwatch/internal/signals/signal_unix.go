//go:build unix

package signals

import (
	"os"
	"syscall"
)

// writeSignals come where a write fails, which then says so itself: nobody reads, or
// the file is larger than ulimit -f allows.
var writeSignals = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}
