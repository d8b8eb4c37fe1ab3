package persist

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

// WriteFile replaces the file at path by s, as a whole: after a crash at any time, even
// of the machine, it is the old or the new one. Only its owner can read it.
func (s *Snapshot[T]) WriteFile(path string) error {
	if err := s.replaceFile(path); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}

// replaceFile writes a temporary file beside path and renames it.
func (s *Snapshot[T]) replaceFile(path string) (err error) {
	f, err := disk.Beside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := s.Write(f); err != nil {
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

// A file that is set aside is called after the time at which it is.
const (
	badInfix = ".bad-"
	badTime  = "20060102T150405.000000000Z"
	keepBad  = 3
)

// ReadFile is Read from a file, which it sets aside if it cannot be used. It also
// removes temporary files of a process that was killed while saving.
func ReadFile[T kube.Object](path string, b Identity, decode func([]byte) (T, error), put func(Record[T]) bool) (Loaded[T], error) {
	got, err := readFile(path, b, decode, put)
	var bad *Error
	if errors.As(err, &bad) && bad.Kind != ErrRefused {
		bad.Aside, err = setAside(path, err)
	}
	if err != nil {
		return Loaded[T]{}, fmt.Errorf("load snapshot of %s from %s: %w", b.Resource, path, err)
	}
	return got, nil
}

func readFile[T kube.Object](path string, b Identity, decode func([]byte) (T, error), put func(Record[T]) bool) (none Loaded[T], err error) {
	disk.RemoveLeftovers(path, magic)
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
	return Read(f, b, decode, put)
}

// setAside renames the file at path. If that fails, it joins the error to why.
func setAside(path string, why error) (string, error) {
	aside := path + badInfix + time.Now().UTC().Format(badTime)
	if err := os.Rename(path, aside); err != nil {
		return "", errors.Join(why, err)
	}
	all := slices.DeleteFunc(siblings(path, badInfix), func(name string) bool {
		_, err := time.Parse(badTime, strings.TrimPrefix(name, path+badInfix))
		return err != nil
	})
	for _, old := range all[:max(0, len(all)-keepBad)] {
		_ = os.Remove(old) // the next call tries again
	}
	return aside, why
}

// siblings returns the files that are called path+infix and more, sorted: the oldest
// first if a time follows. They begin as path is written, be it ./x.
func siblings(path, infix string) []string {
	dir, base := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+infix) {
			names = append(names, path+strings.TrimPrefix(e.Name(), base))
		}
	}
	slices.Sort(names)
	return names
}
