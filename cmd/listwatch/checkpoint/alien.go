package checkpoint

import (
	"errors"
	"io"
)

// ErrAlien is a file that somebody else has written, for something else. It is left
// as it is, by Reset too.
var ErrAlien = errors.New("that is no checkpoint")

// resembles reports whether a file may once have been a checkpoint, by how it begins.
// What a disk has lost are zeros, what it has spoilt is a part of it.
func resembles(begin []byte) bool {
	same := 0
	for i, c := range begin {
		if c == magic[i] || c == 0 {
			same++
		}
	}
	return 2*same >= len(begin)
}

// alien is ErrAlien where f is no checkpoint, nor was one.
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
