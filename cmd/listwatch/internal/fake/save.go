package fake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
)

// saver keeps the state of a server in a file. A nil saver saves nothing.
type saver struct {
	path     string
	srv      *apitest.Server
	restored int // objects that were in the file

	release func()        // lets other processes have the file; nil where they are not kept off
	wrote   kube.Revision // of what is in the file
	err     error         // of the last time
}

// saveEvery is how often the file is brought up to date, if anything changed.
const saveEvery = 5 * time.Second

// lock keeps other processes off the file, of which the last would win: it would undo
// what the others have saved. Where there are no locks, or no folder yet, it does
// nothing.
func (s *saver) lock() error {
	release, err := disk.Lock(s.path + ".lock")
	if locked := (*disk.LockedError)(nil); errors.As(err, &locked) {
		return &exit.Error{Code: exit.CodeUsage, Err: fmt.Errorf("--save: another server keeps %s: %w; stop it, or give another file", s.path, err)}
	}
	s.release = release
	return nil
}

func (s *saver) unlock() {
	if s != nil && s.release != nil {
		s.release()
	}
}

// load returns the state that is in the file, nil where there is no file.
func (s *saver) load() ([]byte, error) {
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	b, err := disk.ReadFile(s.path, manifest.MaxBytes)
	if err != nil {
		return nil, &exit.Error{Code: exit.CodeUsage, Err: fmt.Errorf("--save: %w", err)}
	}
	if n, ok := itemsOf(b); ok && n <= manifest.MaxObjects {
		s.restored = n
		return b, nil
	}
	all, err := (&manifest.Reader{}).Parse(s.path, b) // somebody else has written it, or it is too large
	if err != nil {
		return nil, s.unusable(err)
	}
	s.restored = len(all)
	list := []byte(`{"kind":"List","items":[`)
	for i, m := range all {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, m.JSON()...)
	}
	return append(list, "]}"...), nil
}

// itemsOf returns how many items a List has, false where b is no List of objects.
func itemsOf(b []byte) (int, bool) {
	var list struct {
		Kind  string     `json:"kind"`
		Items []struct{} `json:"items"` // which take no memory
	}
	err := json.Unmarshal(b, &list)
	return len(list.Items), err == nil && list.Kind == "List"
}

// unusable is the error of a file whose content the server cannot start with.
func (s *saver) unusable(err error) error {
	return &exit.Error{Code: exit.CodeUsage, Err: fmt.Errorf("--save: %w; give another file, or mend this one", err)}
}

// prepare takes over the server, and saves it before a client can see it: if the
// process is killed, the next one knows what this one may have given out.
func (s *saver) prepare(srv *apitest.Server) error {
	s.srv = srv
	return s.save()
}

// run saves until ctx is done, and returns its cause.
func (s *saver) run(ctx context.Context, t *messages.Writer) error {
	if s == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.srv.Revision() == s.wrote {
				continue
			}
			before := s.err
			s.err = s.save()
			if s.err != nil && before == nil {
				t.Warn("fake", s.err.Error()+"; it is tried again", "not saved", "err", s.err.Error())
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// last saves what a server that is closed has left.
func (s *saver) last() error {
	if s == nil {
		return nil
	}
	if err := s.save(); err != nil {
		return exit.Failed(err)
	}
	return nil
}

func (s *saver) save() error {
	var rev kube.Revision
	err := replaceFile(s.path, func(w io.Writer) (err error) {
		rev, err = s.srv.Save(&stateWriter{w: w})
		return err
	})
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	s.wrote = rev
	return nil
}

// stateWriter writes no state that would not be read again. A state has a line for each
// object.
type stateWriter struct {
	w            io.Writer
	bytes, lines int
}

var errState = fmt.Errorf("the server has more than the %d objects, or the %d bytes, that can be read again", manifest.MaxObjects, manifest.MaxBytes)

func (s *stateWriter) Write(b []byte) (int, error) {
	s.bytes += len(b)
	s.lines += bytes.Count(b, []byte("\n"))
	if s.bytes > manifest.MaxBytes || s.lines > manifest.MaxObjects {
		return 0, errState
	}
	return s.w.Write(b)
}

// replaceable refuses what is no file: a link may lead to anywhere, and renaming a file
// over /dev/stdout would take it from all programs. A path that is empty or not there
// yet is left to those who write it.
func replaceable(flag, path string) error {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		return exit.Usage("%s: %s is no file that could be replaced: give the name of a file", flag, printable.Clip(path))
	}
	return nil
}

// replaceFile writes a file that only its owner can read, as a whole or not at
// all. write writes it.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return withoutTemp(err, path)
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return withoutTemp(err, path)
	}
	return nil
}

// withoutTemp names the file that was meant.
func withoutTemp(err error, path string) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}
