package program_test

import (
	"os"
	"syscall"
)

// peakMemory returns the most bytes that a process that ended had resident, 0 if
// that is not known.
func peakMemory(state *os.ProcessState) int64 {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}
