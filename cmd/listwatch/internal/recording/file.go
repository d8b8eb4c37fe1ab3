package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/replay"
)

// create opens the file. With --force an existing one is set aside before.
func (o *fileFlags) create(c *client.Client, h replay.Header) (*replay.Writer, *replaced, error) {
	old, err := o.aside()
	if err != nil {
		return nil, nil, err
	}
	w, err := replay.Create(o.file, h, replay.Options{
		MaxBytes: o.maxBytes, IncludeSecrets: o.includeSecrets, IncludeEnv: o.includeEnv, Conceal: c.ConcealIn})
	switch {
	case errors.Is(err, fs.ErrExist): // somebody else has replaced it
		err = fmt.Errorf("%s exists: give another name, or --force to replace it", o.file)
		return nil, nil, exit.Usage("%w", also(err, old.restore(o.file)))
	case err != nil:
		err = also(err, old.restore(o.file))
		return nil, nil, exit.Failed(fmt.Errorf("%w%s", err, cli.RoomFor(err, "it")))
	}
	return w, old, nil
}

// also returns err, with e if there is one.
func also(err, e error) error {
	if e == nil {
		return err
	}
	return fmt.Errorf("%w; %w", err, e)
}

// replaced is the file that --force replaces; nil if there is none.
type replaced struct {
	path string   // beside it: Windows could not rename the new one later, which is open
	lock *os.File // others wait until it is closed; nil for a link that leads nowhere
}

// remove ends the file: there is a new one.
func (r *replaced) remove() {
	if r != nil {
		_ = os.Remove(r.path)
		_ = r.lock.Close() // it is only read
	}
}

// restore puts the file back to path: nothing replaces it. If there is a file of somebody else,
// it says where the old one is.
func (r *replaced) restore(path string) error {
	if r == nil {
		return nil
	}
	defer r.lock.Close() // it is only read
	if _, err := os.Lstat(r.path); errors.Is(err, fs.ErrNotExist) {
		return nil // it is there already
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("what was there before is %s", r.path)
	}
	return os.Rename(r.path, path)
}

// aside renames the file that --force replaces, unless somebody records to it.
func (o *fileFlags) aside() (*replaced, error) {
	link, err := os.Lstat(o.file)
	if !o.force || err != nil {
		return nil, nil
	}
	var old *os.File
	switch info, err := os.Stat(o.file); {
	case errors.Is(err, fs.ErrNotExist) && link.Mode()&fs.ModeSymlink != 0: // it leads nowhere
	case err != nil || !info.Mode().IsRegular():
		return nil, exit.Usage("%s is no file that could be replaced", o.file)
	default:
		if old, err = o.unused(); err != nil {
			return nil, err
		}
	}
	next, err := disk.Beside(o.file)
	if err == nil {
		err = errors.Join(next.Close(), os.Rename(o.file, next.Name()))
		if err != nil {
			_ = os.Remove(next.Name()) // it is empty
		}
	}
	if err != nil {
		_ = old.Close() // it is only read
		return nil, exit.Failed(fmt.Errorf("replace %s: %w", o.file, err))
	}
	return &replaced{path: next.Name(), lock: old}, nil
}

// unused opens the file and locks it. It fails where somebody records to it.
func (o *fileFlags) unused() (*os.File, error) {
	f, err := os.Open(o.file)
	if err != nil {
		return nil, exit.Failed(fmt.Errorf("replace %s: %w", o.file, err))
	}
	who := ""
	if errors.Is(disk.Flock(f), disk.ErrHeld) {
		who = recorderOf(f)
	} else if !names(o.file, f) { // it was replaced while we waited
		who = "another process"
	}
	if who != "" {
		_ = f.Close() // it is only read
		return nil, exit.Usage("%s is in use by %s: end that program first, or give another name", o.file, who)
	}
	if runtime.GOOS == "windows" { // it renames no open file, so none that is in use either
		_ = f.Close()
	}
	return f, nil
}

// recorderOf returns who records to f, as far as its header says.
func recorderOf(f *os.File) string {
	r, err := replay.NewReader(f)
	if err != nil {
		return "another process"
	}
	return fmt.Sprintf("%s since %s", printable.Clip(r.Header.Tool), r.Header.Created.Format(time.RFC3339))
}

// names reports whether f is at path.
func names(path string, f *os.File) bool {
	ours, err := f.Stat()
	now, e := os.Stat(path)
	return err == nil && e == nil && os.SameFile(ours, now)
}
