//go:build unix

package group_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/listwatch/listwatch/internal/group"
)

func TestLookSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"plain": 0o600, "good": 0o700} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := group.Look(dir + "/good"); path != dir+"/good" || err != nil {
		t.Errorf("%q, %v", path, err)
	}
	for name, want := range map[string]struct {
		text string
		is   error
	}{
		"no-such-command": {"there is no such command in PATH: install it, or correct its name", exec.ErrNotFound},
		dir + "/none":     {"there is no such file: install it, or correct its path", fs.ErrNotExist},
		dir + "/plain":    {"it is not executable: chmod +x makes it so", fs.ErrPermission},
		dir:               {"it cannot be started: is a directory", syscall.EISDIR},
	} {
		if _, err := group.Look(name); err == nil || err.Error() != want.text || !errors.Is(err, want.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLookDistrustsTheCurrentDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("here", []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", ".")
	_, err := group.Look("here")
	if err == nil || err.Error() != "it was found in the current directory only: write its path, with ./ before it" {
		t.Error(err)
	}
}

func TestNotStartedLooksAgain(t *testing.T) {
	here := filepath.Join(t.TempDir(), "here")
	if err := os.WriteFile(here, []byte("#!/no/such/shell\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	start := func() error { return exec.CommandContext(t.Context(), here).Start() }
	if err := group.NotStarted(here, start()); err.Error() != "it cannot be started: what its first line names, or a library of it, does not exist" {
		t.Error(err)
	}
	if err := group.NotStarted(here, syscall.EAGAIN); err.Error() != "it cannot be started: resource temporarily unavailable" || !errors.Is(err, syscall.EAGAIN) {
		t.Error(err)
	}
	if err := os.Remove(here); err != nil {
		t.Fatal(err)
	}
	if err := group.NotStarted(here, start()); err.Error() != "there is no such file: install it, or correct its path" {
		t.Error(err)
	}
}
