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

// create opens the file. With --force it removes an existing one once the new one is there.
func (o *fileFlags) create(c *client.Client, h replay.Header) (*replay.Writer, error) {
	settle, err := o.aside()
	if err != nil {
		return nil, err
	}
	w, err := replay.Create(o.file, h, replay.Options{
		MaxBytes: o.maxBytes, IncludeSecrets: o.includeSecrets, IncludeEnv: o.includeEnv, Conceal: c.ConcealIn})
	switch err = settle(err); {
	case errors.Is(err, fs.ErrExist):
		return nil, exit.Usage("%s exists: give another name, or --force to replace it", o.file)
	case err != nil:
		return nil, exit.Failed(fmt.Errorf("%w%s", err, cli.RoomFor(err, "it")))
	}
	return w, nil
}

// aside renames the file that --force replaces, unless somebody records to it. The caller calls
// settle with the error of making the new one: without an error the old one is removed, else it is
// renamed back.
func (o *fileFlags) aside() (settle func(error) error, err error) {
	switch info, err := os.Stat(o.file); {
	case !o.force, err != nil:
		return func(err error) error { return err }, nil
	case !info.Mode().IsRegular():
		return nil, exit.Usage("%s is no file that could be replaced", o.file)
	}
	old, err := o.unused()
	if err != nil {
		return nil, err
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
	return func(err error) error {
		defer old.Close()                              // others wait until now
		if err == nil || errors.Is(err, fs.ErrExist) { // replaced by us, or by somebody else
			_ = os.Remove(next.Name())
			return err
		}
		if e := os.Rename(next.Name(), o.file); e != nil {
			return fmt.Errorf("%w; %w", err, e)
		}
		return err
	}, nil
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
