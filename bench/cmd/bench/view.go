package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// view is one run of a program that prints a collection and then its changes.
type view struct {
	First float64 // seconds from the start to the first row
	All   float64 // to the last row of the collection
	CPU   float64 // seconds of processor time until then
	Peak  uint64  // peak resident set until then, in bytes

	Events    float64 // seconds from the first change to the last one's row
	EventsCPU float64 // seconds of processor time, in all
	PeakAll   uint64  // peak resident set, in all
	RSS       uint64  // resident set at the end
}

// patience is how long one run may take, the recording included.
const patience = 5 * time.Minute

// watch runs the program once.
func (s *viewer) watch(ctx context.Context, v *viewing) (view, error) {
	var got view
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, s.args...)
	// Home, where it keeps a cache, is its own.
	cmd.Env = append(os.Environ(), "HOME="+s.home, "KUBECONFIG=", "KUBECACHEDIR=", "XDG_CACHE_HOME=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return got, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return got, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	lines := lineCounter{r: out}
	header := 0
	if v.Header {
		header = 1
	}
	failed := func(what string, err error) (view, error) {
		return got, fmt.Errorf("%s: after %d lines: %w: %s", what, lines.seen, err, clip(stderr.String()))
	}
	if err := lines.to(header + 1); err != nil {
		return failed("first row", err)
	}
	got.First = time.Since(began).Seconds()
	if err := lines.to(header + v.Objects); err != nil {
		return failed("rows", err)
	}
	got.All = time.Since(began).Seconds()
	m, err := meterOf(cmd.Process.Pid)
	if err != nil {
		return failed("rows", err)
	}
	got.CPU, got.Peak = m.cpu, m.peak

	began = time.Now()
	if err := s.post(ctx, "go"); err != nil {
		return failed("events", err)
	}
	if err := lines.to(header + v.Objects + v.Events); err != nil {
		return failed("events", err)
	}
	got.Events = time.Since(began).Seconds()
	if m, err = meterOf(cmd.Process.Pid); err != nil {
		return failed("events", err)
	}
	got.EventsCPU, got.PeakAll, got.RSS = m.cpu, m.peak, m.resident
	cancel()
	return got, s.post(context.WithoutCancel(ctx), "rewind")
}

func clip(s string) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-500):]
}

// lineCounter counts the lines that come.
type lineCounter struct {
	r    io.Reader
	seen int
	buf  [64 << 10]byte
}

// to reads until n lines have come.
func (c *lineCounter) to(n int) error {
	for c.seen < n {
		got, err := c.r.Read(c.buf[:])
		c.seen += bytes.Count(c.buf[:got], []byte{'\n'})
		if err != nil && c.seen < n {
			return err
		}
	}
	return nil
}

// meter is what a process has taken.
type meter struct {
	cpu            float64 // seconds
	peak, resident uint64  // bytes
}

// ticks are what Linux counts a process's time in, a second.
const ticks = 100

func meterOf(pid int) (meter, error) {
	var m meter
	folder := fmt.Sprintf("/proc/%d/", pid)
	b, err := os.ReadFile(folder + "stat")
	if err != nil {
		return m, err
	}
	// What stands before the last parenthesis is a name. User and system time are
	// the 14th and the 15th field.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return m, fmt.Errorf("%sstat has %d fields", folder, len(fields))
	}
	for _, f := range fields[11:13] {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return m, err
		}
		m.cpu += float64(n) / ticks
	}
	for key, to := range map[string]*uint64{"VmHWM": &m.peak, "VmRSS": &m.resident} {
		var kb uint64
		if _, err := fmt.Sscan(value(folder+"status", key), &kb); err != nil {
			return m, fmt.Errorf("%s of %sstatus: %w", key, folder, err)
		}
		*to = kb << 10
	}
	m.peak = max(m.peak, m.resident) // which Linux counts a little apart
	return m, nil
}
