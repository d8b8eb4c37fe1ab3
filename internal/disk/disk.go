// Package disk has what is needed by whoever replaces a file by renaming another one, or
// reads one that somebody else has named.
//
// After a crash of the process the old file is there or the new one. For that to hold
// after a power loss too, the content must be synced before the rename, and the
// directory after it: that is what [SyncDir] does.
package disk

import (
	"errors"
	"os"
	"runtime"
)

// SyncDir makes a rename within dir last: without it a power loss may undo it. On
// Windows, which has no such thing, it does nothing.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
