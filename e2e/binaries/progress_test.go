package binaries_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/binaries"
)

func TestProgressOfABuild(t *testing.T) {
	var terminal bytes.Buffer
	c := binaries.NewCompiled(&terminal, "etcd", time.Now().Add(-4*time.Second), "a/b", "c", "d", "e")
	for _, part := range []string{"a/b\nc", "\n# c\nc.go:1: wr", "ong\nd\nlast"} {
		if n, err := c.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if diff := cmp.Diff("# c\nc.go:1: wrong\nlast", c.End()); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
	// Those that follow within 200 ms are not drawn.
	if got := terminal.String(); !regexp.MustCompile(`^\r\x1b\[Ketcd: 1 of 4 packages, 0\.2/s, at most 12s left(\r\x1b\[K.* left)?\r\x1b\[K$`).MatchString(got) {
		t.Errorf("drawn: %q", got)
	}
}

func TestNoProgressIsDrawnInAFile(t *testing.T) {
	t.Setenv("TERM", "xterm")
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if binaries.TerminalOf(f) != nil || binaries.TerminalOf(null) != nil || binaries.TerminalOf(&bytes.Buffer{}) != nil {
		t.Error("what is no terminal is taken for one")
	}
}
