//go:build unix

package archive

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// TestPipeIsNoSegment: reading does not wait for somebody who writes into it.
func TestPipeIsNoSegment(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, wide)
	must(d.Begin(kube.Nodes, nil, 1, "", slices.Values([]State{state(t, "n", "9", 1, Added, 100)})))(t)
	path := d.file(2)
	check(t, d.Close())
	check(t, syscall.Mkfifo(path, 0o600))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lines, bad := read(dir)
		if len(lines) == 0 || len(bad) != 1 || !strings.Contains(bad[0].Error(), path) || !strings.Contains(bad[0].Error(), "not a file") {
			t.Errorf("%q, %v", lines, bad)
		}
		open(t, dir, wide).Close()
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("it waits")
		f, err := os.OpenFile(path, os.O_RDWR, 0) // which ends that
		check(t, err)
		<-ended
		check(t, f.Close())
	}
}
