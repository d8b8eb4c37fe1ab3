package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// ErrHeld is the error of Flock where another process holds the lock.
var ErrHeld = errors.New("locked by another process")

// LockedError says that another process, or another user within this one, has the lock.
type LockedError struct {
	Path   string
	Holder string // who has it, as far as the file says
}

func (e *LockedError) Error() string {
	if e.Holder == "" {
		return e.Path + " is locked by another process"
	}
	return fmt.Sprintf("%s is locked by %s", e.Path, e.Holder)
}

// maxHolder limits what is read of a file that anybody may have written.
const maxHolder = 200

// Lock creates the file at path, if there is none, and locks it until release is called
// or the process ends, in whatever way. It writes into the file who has the lock, but
// over nothing that somebody else has written. The file stays, since others could lock
// one that was removed.
//
// It does not wait: it fails with a *LockedError where the lock is taken. Systems other
// than Windows, Linux, macOS and the BSDs have no such lock: there it always succeeds.
func Lock(path string) (release func(), err error) {
	f, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	if host, _ := os.Hostname(); vacant(f) && f.Truncate(0) == nil { // for people
		_, _ = fmt.Fprintf(f, "%s%d on %q since %s\n", held, os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	}
	return func() { unlock(f) }, nil
}

// held is how a file begins that says who has the lock.
const held = "process "

// vacant reports whether f is empty or says who had the lock.
func vacant(f *os.File) bool {
	b := make([]byte, len(held))
	n, err := f.ReadAt(b, 0)
	return n == 0 && err == io.EOF || string(b) == held
}

// holder returns who the file says has the lock.
func holder(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // it is only read
	b, _ := io.ReadAll(io.LimitReader(f, maxHolder))
	return cleaned(b)
}

// cleaned returns the first line of b, where it can be printed as it is.
func cleaned(b []byte) string {
	for n, c := range b {
		if c == '\n' {
			return string(b[:n])
		}
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return ""
}
