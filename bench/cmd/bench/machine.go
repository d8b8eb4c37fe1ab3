package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine describes where and with what the numbers were made.
type machine struct {
	Date              string
	CPU               string
	Cores             int
	MemoryGB          int
	Kernel            string
	Go                string
	GOGC              string
	Load              string // average of the minute before the start: 0 on a quiet machine
	Commit            string
	ClientGo          string
	ControllerRuntime string
	Took              string
}

func describe(ctx context.Context) (machine, error) {
	m := machine{
		Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), Go: runtime.Version(),
		GOGC: cmp.Or(os.Getenv("GOGC"), "100"),
	}
	var err error
	version := func(module string) string {
		out, e := output(ctx, "go", "list", "-m", "-f", "{{.Version}}", module)
		if e != nil {
			err = e
		}
		return out
	}
	m.ClientGo, m.ControllerRuntime = version("k8s.io/client-go"), version("sigs.k8s.io/controller-runtime")
	if err != nil {
		return m, fmt.Errorf("not in the bench module's folder? %w", err)
	}
	if m.Commit, err = output(ctx, "git", "describe", "--always", "--dirty"); err != nil {
		m.Commit = "unknown"
	}
	m.Kernel, _, _ = strings.Cut(value("/proc/sys/kernel/osrelease", ""), "\n")
	m.Load, _, _ = strings.Cut(value("/proc/loadavg", ""), " ")
	m.CPU = value("/proc/cpuinfo", "model name")
	var kb int
	if _, err := fmt.Sscan(value("/proc/meminfo", "MemTotal"), &kb); err == nil {
		m.MemoryGB = (kb + 1<<19) >> 20
	}
	return m, nil
}

// value returns the value of a key in a file of "key: value" lines, or the
// whole file; nothing where there is none.
func value(file, key string) string {
	b, err := os.ReadFile(file)
	if err != nil || key == "" {
		return string(b)
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	return strings.TrimSpace(string(b)), err
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %d GB, Linux %s, %s, GOGC %s, load %s before the start; client-go %s, controller-runtime %s; listwatch %s; %s, in %s",
		m.CPU, m.Cores, m.MemoryGB, m.Kernel, m.Go, m.GOGC, m.Load, m.ClientGo, m.ControllerRuntime, m.Commit, m.Date, m.Took)
}
