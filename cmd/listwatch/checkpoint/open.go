package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/listwatch/listwatch/internal/disk"
)

// Open locks the file at path (by path.lock, which says who has it and stays), and returns
// the state of each stream of id, in the order of id. It creates the file if there is none.
// It renames a damaged file to path.damaged, see File.Damage, and begins a new one. An
// incomplete last entry is not damage.
//
// It fails with ErrForeign if the file is of another Identity, with ErrAlien, ErrNewer or
// ErrLocked, or if the file cannot be written.
func Open(path string, id Identity) (*File, []State, error) {
	f, err := lock(path)
	if err != nil {
		return nil, nil, err
	}
	states, err := f.open(id)
	if err != nil {
		if f.err == nil { // else it is said
			err = fmt.Errorf("checkpoint %s: %w", path, err)
		}
		return nil, nil, errors.Join(err, f.release())
	}
	return f, states, nil
}

// Reset is Open, but discards the content of an existing file. It fails with ErrAlien if
// that file is not and was not a checkpoint.
func Reset(path string, id Identity) (*File, error) {
	f, err := lock(path)
	if err != nil {
		return nil, err
	}
	if err = f.alien(); err == nil {
		err = f.begin(id)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", path, err), f.release())
	}
	return f, nil
}

// lock opens the file, or makes an empty one, and locks path.lock, which stays.
func lock(path string) (*File, error) {
	switch fi, err := os.Stat(path); {
	case err == nil && !fi.Mode().IsRegular():
		return nil, fmt.Errorf("checkpoint %s: not a regular file", path)
	case errors.Is(err, fs.ErrNotExist):
		if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("checkpoint %s: a symbolic link to a file that does not exist", path)
		}
	case err != nil:
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // not the link is to be replaced
	}
	unlock, err := disk.Lock(path + ".lock")
	if locked := (*disk.LockedError)(nil); errors.As(err, &locked) {
		return nil, fmt.Errorf("checkpoint %s: %w by %s", path, ErrLocked, cmp.Or(locked.Holder, "another process"))
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // which follows no link
	}
	if err != nil {
		unlock()
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return &File{path: path, file: file, unlock: unlock, to: file, sync: (*os.File).Sync, syncDir: disk.SyncDir}, nil
}

// release closes and unlocks the file.
func (f *File) release() error {
	defer f.unlock()
	return f.file.Close()
}

// open loads the file and makes sure that it can be written.
func (f *File) open(id Identity) ([]State, error) {
	disk.RemoveLeftovers(f.path, magic)
	fi, err := f.file.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size() == 0 {
		return make([]State, len(id.Streams)), f.begin(id)
	}
	states, err := f.load(io.NewSectionReader(f.file, 0, fi.Size()), id)
	if errors.Is(err, errDamaged) {
		f.Damage, f.Aside = err, f.path+".damaged"
		if err := os.Rename(f.path, f.Aside); err != nil {
			return nil, err
		}
		if err := f.begin(id); err != nil { // the next run must find it and say so
			return nil, errors.Join(err, os.Rename(f.Aside, f.path))
		}
		return make([]State, len(id.Streams)), nil
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.file.Chmod(0o600), f.file.Truncate(f.size)); err != nil {
		return nil, err
	}
	if f.outdated {
		return states, f.compact()
	}
	f.entry(entryOpened, nil) // this also shows that the file can be written
	return states, f.Sync()
}

// begin makes the file an empty checkpoint of id.
func (f *File) begin(id Identity) error {
	f.head = header{Identity: id}
	f.streams = make([]stream, len(id.Streams))
	f.order = make([]int, len(id.Streams))
	for i := range f.streams {
		f.streams[i] = newStream()
		f.order[i] = i
	}
	return f.compact()
}
