package checkpoint

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/listwatch/listwatch/internal/disk"
)

// compact replaces the file by one with the current entries only. After a crash at any
// moment the path names the old or the new file. The buffer must be empty.
func (f *File) compact() error {
	next, err := disk.Beside(f.path)
	if err != nil {
		return fmt.Errorf("make a file beside it: %w", err)
	}
	moved, size, err := f.copyTo(next)
	if err == nil {
		err = f.sync(next)
	}
	if err == nil && runtime.GOOS == "windows" {
		err = f.file.Close() // there an open file cannot be replaced
	}
	if err == nil {
		err = os.Rename(next.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	if runtime.GOOS != "windows" {
		_ = f.file.Close() // what it held is in the new one
	}
	f.file, f.to = next, next
	f.size, f.dirty, f.outdated = size, false, false
	for i := range moved {
		f.streams[i].objects, f.streams[i].maybe = moved[i].objects, moved[i].maybe
	}
	return f.syncDir(filepath.Dir(f.path))
}

// copyTo writes the header and the current entries, and returns the new places of the
// entries of objects, and the size.
func (f *File) copyTo(file *os.File) (moved []stream, size int64, err error) {
	out := bufio.NewWriterSize(file, 1<<18)
	write := func(b []byte) {
		if err == nil {
			_, err = out.Write(b)
			size += int64(len(b))
		}
	}
	b, err := f.head.append(nil)
	write(b)
	for i := range f.streams {
		if s := &f.streams[i]; s.synced {
			write(appendEntry(nil, entryState, func(b []byte) []byte { return appendState(b, i, s) }))
		}
		m := newStream()
		for _, e := range inOrder(f.streams[i].objects) {
			m.objects[e.key] = span{size, e.size, e.uid}
			write(f.read(e.span, &err))
		}
		moved = append(moved, m)
	}
	write(appendEntry(nil, entryCommit, nil))
	for i := range f.streams {
		for _, e := range inOrder(f.streams[i].maybe) {
			moved[i].maybe[e.key] = span{size, e.size, e.uid}
			write(f.read(e.span, &err))
		}
	}
	write(appendEntry(nil, entryOpened, nil))
	if err == nil {
		err = out.Flush()
	}
	return moved, size, err
}

// read returns a written entry, unless there was an error before.
func (f *File) read(s span, err *error) []byte {
	if *err != nil {
		return nil
	}
	b := make([]byte, s.size)
	if _, e := f.file.ReadAt(b, s.at); e != nil {
		*err = fmt.Errorf("%w: %w", ErrUnread, e)
	} else if end := len(b) - 4; binary.LittleEndian.Uint32(b[end:]) != sum(b[entryHead:end]) {
		*err = fmt.Errorf("%w: a checksum is wrong", ErrUnread)
	}
	return b
}

// located is a key and the place of its entry.
type located[K comparable] struct {
	key K
	span
}

// inOrder returns entries in the order of the file.
func inOrder[K comparable](m map[K]span) []located[K] {
	all := make([]located[K], 0, len(m))
	for k, s := range m {
		all = append(all, located[K]{k, s})
	}
	slices.SortFunc(all, func(a, b located[K]) int { return cmp.Compare(a.at, b.at) })
	return all
}
