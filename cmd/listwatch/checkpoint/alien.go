package checkpoint

import (
	"errors"
	"io"
)

// ErrAlien is the error for a file that is not a checkpoint. Open and Reset do not change
// such a file.
var ErrAlien = errors.New("that is no checkpoint")

// resembles reports whether a file may have been a checkpoint, by its first bytes: at least
// half of them are right, or zero, as a disk leaves what it loses.
func resembles(begin []byte) bool {
	same := 0
	for i, c := range begin {
		if c == magic[i] || c == 0 {
			same++
		}
	}
	return 2*same >= len(begin)
}

// alien returns ErrAlien if f is not a checkpoint and never was one.
func (f *File) alien() error {
	begin := make([]byte, len(magic))
	n, err := f.file.ReadAt(begin, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !resembles(begin[:n]) {
		return ErrAlien
	}
	return nil
}
