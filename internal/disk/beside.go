package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// temporary is how the name of a file of Beside begins; digits follow.
func temporary(base string) string { return "." + base + ".listwatch-" }

// Beside makes a file of mode 0600 that is to replace the one at path. It is called
// .NAME.listwatch-DIGITS, a hidden name that a user would not choose.
func Beside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), temporary(filepath.Base(path))+"*")
}

// RemoveLeftovers removes files of Beside that were left by processes that were killed:
// those that are empty, or begin as magic does. A file that it cannot remove stays.
func RemoveLeftovers(path, magic string) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close() // it is only read
	var left []string
	for err == nil {
		var entries []os.DirEntry
		entries, err = d.ReadDir(1000)
		for _, e := range entries {
			digits, ok := strings.CutPrefix(e.Name(), temporary(base))
			name := filepath.Join(dir, e.Name())
			if ok && digits != "" && strings.Trim(digits, "0123456789") == "" && e.Type().IsRegular() && begins(name, magic) {
				left = append(left, name)
			}
		}
	}
	for _, name := range left {
		_ = os.Remove(name) // the next call tries again
	}
}

// begins reports whether a file is empty or begins as magic does.
func begins(path, magic string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() // it is only read
	b := make([]byte, len(magic))
	n, err := io.ReadFull(file, b)
	return (err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && strings.HasPrefix(magic, string(b[:n]))
}
