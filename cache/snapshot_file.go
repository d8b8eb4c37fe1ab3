package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/kube"
)

// SaveFile is Save to a file, which is replaced as a whole: after a crash at any
// moment, of the machine even, it is the old or the new one. It is readable by
// its owner only. When SaveFile has returned nil, the file is on the disk.
//
// A file belongs to one process: of two that save to it the last one wins.
func (s *Store[T]) SaveFile(path string, b Binding) error {
	head, err := newHeader[T](b)
	var m *moment[T]
	if err == nil {
		m, err = s.moment(head, nil)
	}
	if err == nil {
		err = m.writeFile(path)
	}
	if err != nil {
		return fmt.Errorf("save snapshot of %s to %s: %w", b.Resource, path, err)
	}
	return nil
}

// writeFile replaces the file at path by m.
func (m *moment[T]) writeFile(path string) error {
	dir, base := filepath.Dir(path), filepath.Base(path)
	if err := m.replaceFile(path, dir, base); err != nil {
		return err
	}
	return disk.SyncDir(dir)
}

// replaceFile writes a file beside path and renames it.
func (m *moment[T]) replaceFile(path, dir, base string) (err error) {
	f, err := os.CreateTemp(dir, base+temporaryInfix+"*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := m.write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// What is put behind the path of a snapshot.
const (
	temporaryInfix = ".tmp-" // being written
	badInfix       = ".bad-" // set aside
	keepBad        = 3
)

// LoadFile is Load from a file. Where there is none it fails with
// fs.ErrNotExist. A file that is foreign, damaged, newer or half-written is
// renamed to path+".bad-"+time, of which the last three are kept, so that a cold
// start may follow and somebody may look at it; SnapshotError.Aside says where.
//
// It also removes what a process that was killed while saving has left.
func (s *Store[T]) LoadFile(path string, b Binding) (Resume, error) {
	if err := s.unused(); err != nil {
		return Resume{}, fmt.Errorf("load snapshot of %s from %s: %w", b.Resource, path, err)
	}
	got, err := loadFile[T](path, b, nil)
	if err != nil {
		return Resume{}, err
	}
	if err := s.fill(got); err != nil {
		return Resume{}, fmt.Errorf("load snapshot of %s from %s: %w", b.Resource, path, err)
	}
	return got.Resume, nil
}

// loadFile reads a snapshot, and sets the file aside if it cannot be used. It also
// transforms the objects, unless transform is nil.
func loadFile[T kube.Object](path string, b Binding, transform func(T) (T, error)) (loaded[T], error) {
	got, err := readFile(path, b, transform)
	var bad *SnapshotError
	if errors.As(err, &bad) && bad.Kind != ErrSnapshotRefused {
		bad.Aside, err = setAside(path, err)
	}
	if err != nil {
		return loaded[T]{}, fmt.Errorf("load snapshot of %s from %s: %w", b.Resource, path, err)
	}
	return got, nil
}

func readFile[T kube.Object](path string, b Binding, transform func(T) (T, error)) (none loaded[T], err error) {
	for _, left := range siblings(path, temporaryInfix) {
		_ = os.Remove(left) // it will be tried again
	}
	switch fi, err := os.Stat(path); {
	case err != nil:
		return none, err
	case !fi.Mode().IsRegular():
		return none, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return none, err
	}
	defer f.Close() // it is only read
	return readSnapshot(f, b, transform)
}

// setAside renames the file at path, and says so in why.
func setAside(path string, why error) (string, error) {
	aside := path + badInfix + time.Now().UTC().Format("20060102T150405.000000000Z")
	if err := os.Rename(path, aside); err != nil {
		return "", errors.Join(why, err)
	}
	all := siblings(path, badInfix)
	for _, old := range all[:max(0, len(all)-keepBad)] {
		_ = os.Remove(old) // it will be tried again
	}
	return aside, why
}

// siblings returns the files that are called path, infix and more, the oldest
// first where that is a time.
func siblings(path, infix string) []string {
	dir, base := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+infix) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(names)
	return names
}
