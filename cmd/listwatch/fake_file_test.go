package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestFakeReplacesFilesOnly: as root it could replace /dev/stdout for all programs, and a
// link in a folder that others write to may lead anywhere.
func TestFakeReplacesFilesOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // links need a privilege there
	}
	t.Parallel()
	dir := t.TempDir()
	target, link, nowhere, socket := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "nowhere"), filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for _, err := range []error{os.WriteFile(target, []byte("kind: List\nitems: []\n"), 0o600), os.Symlink(target, link), os.Symlink(filepath.Join(dir, "none"), nowhere)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{link, nowhere, socket} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range []string{"--kubeconfig-out", "--save"} {
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second) // else it would serve for ever
			var out, errs bytes.Buffer
			code := run(ctx, []string{"fake", "serve", flag, path}, func(string) string { return "" }, nil, &out, &errs)
			stop()
			stdout, stderr := out.String(), errs.String()
			if code != 2 || stdout != "" || !strings.Contains(stderr, flag+": "+path+" is no file that could be replaced: give the name of a file") {
				t.Errorf("%s %s: exit code %d\n%s%s", flag, path, code, stdout, stderr)
			}
		}
		if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s is %v now, and was %v: %v", path, after, before.Mode(), err)
		}
	}
}
