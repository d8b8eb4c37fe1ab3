package disk

import (
	"fmt"
	"io"
	"os"
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
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes, so hardly what is meant", path, limit)
	}
	return b, err
}
