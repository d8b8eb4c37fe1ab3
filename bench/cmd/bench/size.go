package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// size is what the minimal informer program of a library weighs.
type size struct {
	Program  string
	Bytes    int64   // stripped
	Packages int     // linked, the standard library's included
	Modules  int     // linked, besides the program's own
	Cold     float64 `json:",omitempty"` // seconds to build it with an empty build cache
	ColdCPU  float64 `json:",omitempty"` // seconds of processor time that took
}

func sizes(ctx context.Context, dir string, cold bool) ([]size, error) {
	var out []size
	for _, program := range []string{"ours", "clientgo"} {
		progress("size of %s", program)
		s, err := sizeOf(ctx, dir, program, cold)
		if err != nil {
			return nil, fmt.Errorf("size of %s: %w", program, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func sizeOf(ctx context.Context, dir, program string, cold bool) (size, error) {
	s, pkg := size{Program: program}, "./size/"+program
	file := filepath.Join(dir, "size-"+program)
	if _, _, err := strip(ctx, file, pkg, nil); err != nil {
		return s, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return s, err
	}
	s.Bytes = info.Size()

	list, err := output(ctx, "go", "list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}", pkg)
	if err != nil {
		return s, err
	}
	modules := map[string]bool{}
	for line := range strings.Lines(list) {
		s.Packages++
		if f := strings.Fields(line); len(f) == 2 {
			modules[f[1]] = true
		}
	}
	s.Modules = len(modules) - 1
	if !cold {
		return s, nil
	}
	empty, err := os.MkdirTemp(dir, "cache")
	if err != nil {
		return s, err
	}
	wall, cpu, err := strip(ctx, file, pkg, []string{"GOCACHE=" + empty})
	s.Cold, s.ColdCPU = wall.Seconds(), cpu.Seconds()
	return s, err
}

// strip builds a program without what only a debugger needs.
func strip(ctx context.Context, file, pkg string, env []string) (wall, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, pkg)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	cmd.Stderr = os.Stderr
	began := time.Now()
	err = cmd.Run()
	if cmd.ProcessState != nil {
		cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return time.Since(began), cpu, err
}
