package disk

import (
	"fmt"
	"io"
	"os"
	"slices"
)

// ReadFile is os.ReadFile for a path that somebody else has written, such as one in a
// kubeconfig: it may be a device without an end. A file of more than limit bytes is an
// error.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return read(path, f, size, limit)
}

// ReadInput is [ReadFile], or reads stdin where path is -.
func ReadInput(path string, stdin io.Reader, limit int64) ([]byte, error) {
	if path == "-" {
		return read("stdin", stdin, 0, limit)
	}
	return ReadFile(path, limit)
}

// read reads all of r, which has about so many bytes. It reads in pieces, which are joined at
// the end: a slice that grows would leave garbage of several times the limit, and io.ReadAll
// would copy too what is refused.
func read(name string, r io.Reader, size, limit int64) ([]byte, error) {
	r = io.LimitReader(r, limit+1)
	var pieces [][]byte
	var total int64 // of the pieces
	b := make([]byte, 0, min(size, limit)+512)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case total+int64(len(b)) > limit:
			return nil, fmt.Errorf("%s is larger than %d bytes, so hardly what is meant", name, limit)
		case err == io.EOF && pieces == nil:
			return b, nil
		case err == io.EOF:
			return slices.Concat(append(pieces, b)...), nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			pieces, total = append(pieces, b), total+int64(len(b))
			b = make([]byte, 0, min(total, 4<<20))
		}
	}
}
