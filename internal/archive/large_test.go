package archive

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

// TestLargeSegmentIsSetAside: what is larger than all files may be is not read, and no other
// segment is removed to make room for it.
func TestLargeSegmentIsSetAside(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, wide)
	must(d.Begin(kube.Nodes, nil, 1, "", slices.Values([]State{state(t, "n", "9", 1, Added, 100)})))(t)
	small, large := d.file(1), d.file(2)
	check(t, d.Close())
	check(t, os.WriteFile(large, nil, 0o600))
	check(t, os.Truncate(large, wide.Bytes+1))
	for range 2 { // the second finds what was set aside
		d = open(t, dir, wide)
		nodes := 0
		var bad []string
		for e, err := range d.Entries() {
			var de *DamagedError
			switch {
			case errors.As(err, &de):
				bad = append(bad, err.Error())
			case err != nil:
				t.Error(err)
			case e.State != nil:
				nodes++
			}
		}
		check(t, d.Close())
		if _, err := os.Stat(small); err != nil || nodes != 1 {
			t.Errorf("%d nodes, %v", nodes, err)
		}
		if _, err := os.Stat(large); err == nil {
			t.Error("the large one is still there")
		}
		if len(bad) > 1 || len(bad) == 1 && !strings.Contains(bad[0], "renamed to "+large+".damaged") {
			t.Error(bad)
		}
		if len(bad) == 0 {
			return
		}
	}
	t.Error("it is reported twice")
}

// TestZerosAreNotReadForLong: a power loss leaves some at the end; a file of nothing else, or of
// very many, is damaged.
func TestZerosAreNotReadForLong(t *testing.T) {
	for zeros, want := range map[int64]string{100: "", maxZeros: "", 2 * maxZeros: "a record of 0 bytes"} {
		dir := t.TempDir()
		d := open(t, dir, wide)
		must(d.Begin(kube.Nodes, nil, 1, "", slices.Values([]State{state(t, "n", "9", 1, Added, 100)})))(t)
		path := d.file(1)
		check(t, d.Close())
		info := must(os.Stat(path))(t)
		check(t, os.Truncate(path, info.Size()+zeros))
		lines, bad := read(dir)
		if len(lines) != 3 || len(bad) > 1 || (want == "") != (bad == nil) || want != "" && !strings.Contains(bad[0].Error(), want) {
			t.Errorf("%d zeros: %q, %v", zeros, lines, bad)
		}
	}
	path := (&Dir{path: t.TempDir()}).file(1)
	check(t, os.WriteFile(path, nil, 0o600))
	check(t, os.Truncate(path, 3<<30))
	r := must(newReader(path))(t)
	defer r.close()
	if _, err := r.header(); err == nil {
		t.Error("zeros are a header")
	}
	if n := must(r.f.Seek(0, 1))(t); n > 1<<20 {
		t.Errorf("%d bytes were read", n)
	}
}
