//go:build unix

package markers

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestASourceHasAnEnd: links are followed, but neither to a device nor beyond the limit, and
// nobody waits for a pipe.
func TestASourceHasAnEnd(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxSource+1); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		create     func(path string) error
	}{
		{"a pipe", "not a regular file", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"a device", "not a regular file", func(path string) error { return os.Symlink("/dev/zero", path) }},
		{"a folder", "not a regular file", func(path string) error { return os.Symlink(filepath.Dir(large), path) }},
		{"a large file", "is larger than 8388608 bytes", func(path string) error { return os.Symlink(large, path) }},
	} {
		dir := t.TempDir()
		if err := tt.create(filepath.Join(dir, "types.go")); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "types.go") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}
