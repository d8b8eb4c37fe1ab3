package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/listwatch/listwatch/internal/disk"
)

func Example() {
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fmt.Println(disk.SyncDir(dir))
	fmt.Println(errors.Is(disk.SyncDir(filepath.Join(dir, "missing")), fs.ErrNotExist))
	// Output:
	// <nil>
	// true
}
