package probe

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// instant is a reading of the process's meters.
type instant struct {
	at           time.Time
	user, system time.Duration
	faults       int64
	mem          runtime.MemStats
}

func read() (in instant) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		panic(err) // cannot fail with these arguments
	}
	in.at, in.user, in.system = time.Now(), time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano())
	in.faults = int64(ru.Minflt) // of another width elsewhere
	runtime.ReadMemStats(&in.mem)
	return in
}

func (in instant) to(end instant) Phase {
	return Phase{
		Wall: end.at.Sub(in.at).Seconds(), User: (end.user - in.user).Seconds(), System: (end.system - in.system).Seconds(),
		Mallocs: end.mem.Mallocs - in.mem.Mallocs, Bytes: end.mem.TotalAlloc - in.mem.TotalAlloc, GCs: end.mem.NumGC - in.mem.NumGC,
		Faults: end.faults - in.faults,
	}
}

// live collects garbage, twice for what finalizers and pools hold, and returns
// what is left.
func live() (alloc, inuse uint64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.HeapInuse
}

// Peak returns the peak resident set of this process, in bytes.
func Peak() (uint64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}

// ProcessorTime returns what who, such as syscall.RUSAGE_SELF, has used, in nanoseconds.
func ProcessorTime(who int) int64 {
	var ru syscall.Rusage
	if err := syscall.Getrusage(who, &ru); err != nil {
		panic(err) // cannot fail with these arguments
	}
	return ru.Utime.Nano() + ru.Stime.Nano()
}

// Profile begins a CPU profile in the file named path, and returns what ends it. It does
// nothing for the empty path.
func Profile(path string) (end func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
