package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

func identity() Identity {
	return Identity{Cluster: "c1", Server: "https://a", Form: "objects", Streams: []Stream{
		{Resource: "pods.v1", Namespace: "shop", Labels: "app=web"}, {Resource: "nodes.v1"},
	}}
}

// pod returns one with a text that takes room.
func pod(t testing.TB, namespace, name string, rev int, text string) Object {
	t.Helper()
	raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q,"uid":"u-%s","resourceVersion":"%d"},"text":%q}`, namespace, name, name, rev, text))
	if err != nil {
		t.Fatal(err)
	}
	return Object{"u-" + name, kube.Revision(fmt.Sprint(rev)), raw}
}

// closed commits and closes f.
func closed(t testing.TB, f *File) {
	t.Helper()
	must(t, f.Commit())
	must(t, f.Close())
}

func key(o Object) kube.Key { return kube.KeyOf(o.Raw) }

func opened(t testing.TB, path string) (*File, []State) {
	t.Helper()
	f, states, err := Open(path, identity())
	if err != nil {
		t.Fatal(err)
	}
	return f, states
}

func put(t testing.TB, f *File, i int, o Object) {
	t.Helper()
	if err := f.Put(i, o); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// told is states as lines.
func told(states []State) (lines []string) {
	for i, s := range states {
		lines = append(lines, fmt.Sprintf("%d %q %t", i, s.Revision, s.Synced))
		slices.SortFunc(s.Objects, func(a, b Object) int { return cmp.Compare(a.Raw.GetName(), b.Raw.GetName()) })
		for _, o := range s.Objects {
			lines = append(lines, fmt.Sprintf("%d %s %s %s", i, kube.KeyOf(o.Raw), o.UID, o.Revision))
		}
		slices.SortFunc(s.Maybe, func(a, b Object) int { return cmp.Compare(a.Raw.GetName()+a.UID, b.Raw.GetName()+b.UID) })
		for _, o := range s.Maybe {
			lines = append(lines, fmt.Sprintf("%d %s %s %s maybe", i, kube.KeyOf(o.Raw), o.UID, o.Revision))
		}
	}
	return lines
}

func want(t testing.TB, states []State, want ...string) {
	t.Helper()
	if diff := gocmp.Diff(want, told(states)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestFileHoldsWhatWasNoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	f, states := opened(t, path)
	want(t, states, `0 "" false`, `1 "" false`)
	a, b := pod(t, "shop", "a", 5, ""), pod(t, "shop", "b", 6, "")
	put(t, f, 0, a)
	put(t, f, 0, b)
	put(t, f, 1, pod(t, "", "n", 7, ""))
	f.Move(0, "8")
	put(t, f, 0, pod(t, "shop", "a", 9, ""))
	f.Remove(0, key(b), b.UID)
	f.Remove(1, key(b), b.UID) // not there
	f.Move(0, "10")
	closed(t, f)
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", fi.Mode(), err)
	}

	f, states = opened(t, path)
	want(t, states, `0 "10" true`, "0 shop/a u-a 9", `1 "" false`, "1 n u-n 7")
	f.List(0)
	f.Move(1, "11")
	closed(t, f)
	f, states = opened(t, path)
	want(t, states, `0 "" true`, "0 shop/a u-a 9", `1 "11" true`, "1 n u-n 7")
	closed(t, f)

	// The order of the streams is the caller's.
	id := identity()
	slices.Reverse(id.Streams)
	f, states, err := Open(path, id)
	must(t, err)
	want(t, states, `0 "11" true`, "0 n u-n 7", `1 "" true`, "1 shop/a u-a 9")
	f.Move(0, "12")
	closed(t, f)
	f, states = opened(t, path)
	want(t, states, `0 "" true`, "0 shop/a u-a 9", `1 "12" true`, "1 n u-n 7")
	closed(t, f)

	f, err = Reset(path, identity())
	must(t, err)
	closed(t, f)
	f, states = opened(t, path)
	want(t, states, `0 "" false`, `1 "" false`)
	closed(t, f)
}

// TestFileRemembersWhatMayHaveBeenTold: of a batch that was not committed, objects
// that are new stay suspected until something certain is known of them.
func TestFileRemembersWhatMayHaveBeenTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	f, _ := opened(t, path)
	a, b := pod(t, "shop", "a", 5, ""), pod(t, "shop", "b", 6, "")
	put(t, f, 0, a)
	f.Move(0, "6")
	must(t, f.Commit())
	die := func() { // what is written stays, without a commit
		t.Helper()
		must(t, f.Write())
		must(t, f.release())
	}
	namesake := pod(t, "shop", "a", 8, "")
	namesake.UID = "u-a2"
	put(t, f, 0, pod(t, "shop", "a", 7, "")) // no news
	f.Remove(0, key(a), a.UID)
	put(t, f, 0, namesake)
	put(t, f, 0, b)
	f.Remove(0, key(b), b.UID) // perhaps its deletion was told, perhaps not
	f.Move(0, "9")
	die()

	f, states := opened(t, path)
	suspected := []string{`0 "6" true`, "0 shop/a u-a 5", "0 shop/a u-a2 8 maybe", "0 shop/b u-b 6 maybe", `1 "" false`}
	want(t, states, suspected...)
	die() // again, before anything was noted
	f, states = opened(t, path)
	want(t, states, suspected...)
	must(t, f.compact())
	die()
	f, states = opened(t, path)
	want(t, states, suspected...)

	f.Remove(0, key(b), b.UID)
	put(t, f, 0, namesake)
	live := f.live
	closed(t, f)
	f, states = opened(t, path)
	want(t, states, `0 "6" true`, "0 shop/a u-a2 8", `1 "" false`)
	if f.live != live {
		t.Errorf("%d bytes count, want %d", f.live, live)
	}
	closed(t, f)
}

// TestFileCutAnywhereHoldsWhatStandsBefore: each beginning of a file is the state
// at some moment, and it can be gone on from.
func TestFileCutAnywhereHoldsWhatStandsBefore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	f, _ := opened(t, path)
	type moment struct {
		size  int64
		state []string
	}
	begin := f.size - (entryFrame + 1) // the last entry says only that it was opened
	moments := []moment{{begin, []string{`0 "" false`, `1 "" false`}}}
	note := func(lines ...string) {
		t.Helper()
		must(t, f.Commit())
		moments = append(moments, moment{f.size, lines})
	}
	a := pod(t, "shop", "a", 5, "x")
	put(t, f, 0, a)
	note(`0 "" false`, "0 shop/a u-a 5", `1 "" false`)
	f.Move(0, "6")
	note(`0 "6" true`, "0 shop/a u-a 5", `1 "" false`)
	f.Remove(0, key(a), a.UID)
	note(`0 "6" true`, `1 "" false`)
	f.Move(0, "7")
	note(`0 "7" true`, `1 "" false`)
	closed(t, f)
	whole, err := os.ReadFile(path)
	must(t, err)

	within := 0
	for cut := int64(1); cut <= int64(len(whole)); cut++ {
		for _, zeros := range []int{0, 20} {
			path := filepath.Join(dir, "cut")
			must(t, os.WriteFile(path, append(whole[:cut:cut], make([]byte, zeros)...), 0o600))
			f, states := opened(t, path)
			if cut < begin {
				if f.Damage == nil || f.Aside != path+".damaged" {
					t.Errorf("cut at %d, within its beginning: %v", cut, f.Damage)
				}
				closed(t, f)
				continue
			}
			if zeros > 0 && f.Damage != nil {
				// A checksum of which only a part is there is not told from a wrong one.
				within++
				closed(t, f)
				continue
			}
			if f.Damage != nil {
				t.Fatalf("cut at %d: %v", cut, f.Damage)
			}
			i := len(moments) - 1
			for moments[i].size > cut {
				i--
			}
			states[0].Maybe = nil // see the test before
			want(t, states, moments[i].state...)
			f.Move(1, "9")
			closed(t, f)
			f, states = opened(t, path)
			if f.Damage != nil || states[1].Revision != "9" {
				t.Fatalf("cut at %d, gone on: %v %q", cut, f.Damage, states[1].Revision)
			}
			closed(t, f)
		}
	}
	if most := 12 * len(moments); within > most {
		t.Errorf("with zeros behind it, %d cuts are taken for damage, want %d at most", within, most)
	}
}

// TestFileNoticesEachChangedByte: nothing that has changed is taken for what was
// written, nor for a cut.
func TestFileNoticesEachChangedByte(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	f, _ := opened(t, path)
	put(t, f, 0, pod(t, "shop", "a", 5, "x"))
	f.Move(0, "6")
	closed(t, f)
	whole, err := os.ReadFile(path)
	must(t, err)
	for at := range whole {
		for _, flip := range []byte{0x01, 0x80} {
			bad := bytes.Clone(whole)
			bad[at] ^= flip
			path := filepath.Join(dir, "bad")
			must(t, os.WriteFile(path, bad, 0o600))
			f, states, err := Open(path, identity())
			if errors.Is(err, ErrNewer) && at == len(magic) {
				continue
			}
			if err != nil {
				t.Fatalf("byte %d: %v", at, err)
			}
			if f.Damage == nil {
				t.Fatalf("byte %d of %d ^ %#x: not noticed; %q", at, len(whole), flip, told(states))
			}
			want(t, states, `0 "" false`, `1 "" false`)
			if aside, err := os.ReadFile(path + ".damaged"); err != nil || !bytes.Equal(aside, bad) {
				t.Fatalf("byte %d: it was not put aside: %v", at, err)
			}
			closed(t, f)
		}
	}
}

func TestFileOfAnotherVersionIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	must(t, os.WriteFile(path, []byte(magic+"2\nwhatever"), 0o600))
	_, _, err := Open(path, identity())
	if !errors.Is(err, ErrNewer) || !strings.HasSuffix(err.Error(), "its version is 2, known is 1") {
		t.Errorf("a newer one: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != magic+"2\nwhatever" {
		t.Errorf("it was changed: %q, %v", b, err)
	}
	must(t, os.WriteFile(path, []byte(magic+"0\nwhatever"), 0o600))
	f, _ := opened(t, path)
	if f.Damage == nil {
		t.Error("there was no version 0")
	}
	closed(t, f)
	for _, b := range []string{"listwatch snapshot 1\n", "listw"} {
		must(t, os.WriteFile(path, []byte(b), 0o600))
		f, _ := opened(t, path)
		if f.Damage == nil {
			t.Errorf("%q is taken for a checkpoint", b)
		}
		closed(t, f)
	}
}

func TestForeignFileSaysWhatDiffers(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Identity)
		want   string // of the error; empty = none
	}{
		{"the same", func(*Identity) {}, ""},
		{"cluster", func(id *Identity) { id.Cluster = "c2" }, "it is of the cluster c1 (https://a), not c2 (https://a)"},
		{"server, cluster known", func(id *Identity) { id.Server = "https://b" }, ""},
		{"server, cluster unknown", func(id *Identity) { id.Cluster, id.Server = "", "https://b" }, "it is of the server https://a, not https://b"},
		{"the same server, cluster unknown", func(id *Identity) { id.Cluster = "" }, ""},
		{"form", func(id *Identity) { id.Form = "rows" }, "it is of another output (-o, filters, --redact or --show-managed-fields): objects, not rows"},
		{"resource", func(id *Identity) { id.Streams[1].Resource = "pods.v2" }, "not pods.v1 in shop with labels app=web and pods.v2"},
		{"namespace", func(id *Identity) { id.Streams[0].Namespace = "" }, "not pods.v1 with labels app=web and nodes.v1"},
		{"names", func(id *Identity) { id.Streams[0].Names = []string{"a", "b"} }, "not pods.v1 in shop named a,b with labels app=web and nodes.v1"},
		{"labels", func(id *Identity) { id.Streams[0].Labels = "" }, "not pods.v1 in shop and nodes.v1"},
		{"fields", func(id *Identity) { id.Streams[1].Fields = "x=y" }, "and nodes.v1 with fields x=y"},
		{"another version", func(id *Identity) { id.Streams[0].Resource, id.Streams[0].AnyVersion = "pods.v2", true }, ""},
		{"another group", func(id *Identity) { id.Streams[0].Resource, id.Streams[0].AnyVersion = "pods.v2.x", true }, "not pods.v2.x in shop with labels app=web and nodes.v1"},
		{"fewer", func(id *Identity) { id.Streams = id.Streams[:1] }, "it is of the streams pods.v1 in shop with labels app=web and nodes.v1, not pods.v1 in shop with labels app=web"},
		{"more", func(id *Identity) { id.Streams = append(id.Streams, Stream{Resource: "x.v1"}) }, "and x.v1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c")
			f, _ := opened(t, path)
			f.Move(0, "7")
			closed(t, f)
			id := identity()
			test.change(&id)
			f, _, err := Open(path, id)
			if test.want == "" {
				must(t, err)
				closed(t, f)
				return
			}
			if !errors.Is(err, ErrForeign) || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
			f, states := opened(t, path) // as it was, and not locked
			if states[0].Revision != "7" {
				t.Error("it was changed")
			}
			closed(t, f)
		})
	}
}

func TestFileBelongsToOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	f, _ := opened(t, path)
	holder := fmt.Sprintf("in use by process %d on ", os.Getpid())
	taken := func(when string) {
		t.Helper()
		if _, _, err := Open(path, identity()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), holder) {
			t.Errorf("%s: %v", when, err)
		}
		if _, err := Reset(path, identity()); !errors.Is(err, ErrLocked) {
			t.Errorf("%s, to reset it: %v", when, err)
		}
	}
	taken("new")
	f.Move(0, "5")
	must(t, f.Commit())
	must(t, f.compact())
	taken("replaced by its owner")
	closed(t, f)
	f, states := opened(t, path)
	if states[0].Revision != "5" {
		t.Error("the others changed it")
	}
	closed(t, f)
}

// TestFileIsBoundedByItsObjects: however long it is written, it has at most twice
// the size of what it holds, and some slack.
func TestFileIsBoundedByItsObjects(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	f, _ := opened(t, path)
	text := strings.Repeat("x", 1000)
	replaced := 0
	for rev := range 2000 {
		before := f.size
		o := pod(t, "shop", fmt.Sprint("o", rev%50), rev, text)
		put(t, f, 0, o)
		if rev%7 == 0 {
			f.Remove(0, key(o), o.UID)
		}
		f.Move(0, o.Revision)
		must(t, f.Commit())
		if f.size < before {
			replaced++
		}
		fi, err := os.Stat(path)
		must(t, err)
		if fi.Size() != f.size || f.size > 2*f.live+slack || f.live > 50*1300 {
			t.Fatalf("%d bytes, %d known, of which %d count", fi.Size(), f.size, f.live)
		}
	}
	if replaced < 5 {
		t.Errorf("it was replaced %d times: the test tests nothing", replaced)
	}
	expected := map[string]int{}
	for rev := range 2000 {
		expected[fmt.Sprint("o", rev%50)] = rev
		if rev%7 == 0 {
			delete(expected, fmt.Sprint("o", rev%50))
		}
	}
	closed(t, f)
	f, states := opened(t, path)
	got := map[string]int{}
	for _, o := range states[0].Objects {
		_, err := fmt.Sscan(string(o.Revision), new(int))
		must(t, err)
		var n int
		fmt.Sscan(string(o.Revision), &n)
		got[o.Raw.GetName()] = n
		if !strings.Contains(o.Raw.JSON(), text) || o.Raw.GetResourceVersion() != string(o.Revision) {
			t.Errorf("%s is not what it was", o.Raw.GetName())
		}
	}
	if diff := gocmp.Diff(expected, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	closed(t, f)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 { // and the lock
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// full is a disk with so much room.
type full struct {
	*os.File
	room int
}

func (d *full) WriteAt(b []byte, at int64) (int, error) {
	if len(b) > d.room {
		n, err := d.File.WriteAt(b[:d.room], at)
		return n, errors.Join(err, syscall.ENOSPC)
	}
	d.room -= len(b)
	return d.File.WriteAt(b, at)
}

func TestFileStaysAtTheLastGoodPointWhenTheDiskIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	f, _ := opened(t, path)
	f.to = &full{f.file, 300}
	put(t, f, 0, pod(t, "shop", "a", 5, ""))
	must(t, f.Commit())
	put(t, f, 0, pod(t, "shop", "b", 6, ""))
	if err := f.Write(); !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "checkpoint "+path) {
		t.Fatalf("write: %v", err)
	}
	f.to = f.file // room again: too late
	put(t, f, 0, pod(t, "shop", "c", 7, ""))
	if err := f.Write(); err == nil {
		t.Error("what comes after a failure is written")
	}
	if err := f.Close(); err == nil {
		t.Error("the failure is forgotten at the end")
	}
	f, states := opened(t, path)
	if f.Damage != nil {
		t.Error(f.Damage)
	}
	want(t, states, `0 "" false`, "0 shop/a u-a 5", `1 "" false`)
	closed(t, f)
}

// TestDamagedFileStaysWhereNoOtherCanBeBegun: else nobody would hear of the damage. The
// name is so long that of the files beside it only the shorter can be made.
func TestDamagedFileStaysWhereNoOtherCanBeBegun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("c", 255-len(".damaged")))
	must(t, os.WriteFile(path, []byte(magic+"garbage"), 0o600))
	if _, _, err := Open(path, identity()); err == nil || !strings.HasPrefix(err.Error(), "checkpoint "+path+": make a file beside it: ") {
		t.Errorf("open: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	if diff := gocmp.Diff([]string{path, path + ".lock"}, left); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if b, err := os.ReadFile(path); string(b) != magic+"garbage" {
		t.Errorf("it holds %q, %v", b, err)
	}
}

func TestFileThatCannotBeWrittenIsRefusedAtTheStart(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "nosuch", "c"), dir, os.DevNull} {
		if _, _, err := Open(path, identity()); err == nil {
			t.Errorf("%s is taken", path)
		}
	}
}

// TestWhatAKilledProcessLeftIsRemoved also keeps what is somebody else's.
func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	keep := map[string]string{"c": "", ".c2.listwatch-1": "", ".c.listwatch-": "", ".c.listwatch-1x": "", ".c.listwatch-2": "a user's", "c.tmp-1": "", "c.tmp-notes": ""}
	for name, text := range keep {
		if name != "c" {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, ".c.listwatch-1"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, ".c.listwatch-3"), []byte(magic+"9\nx"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, ".c.listwatch-4"), []byte(magic[:5]), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, ".c.listwatch-5"), 0o700))
	keep[".c.listwatch-5"], keep["c.lock"] = "", ""
	f, _ := opened(t, path)
	closed(t, f)
	entries, err := os.ReadDir(dir)
	must(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := gocmp.Diff(slices.Sorted(maps.Keys(keep)), left); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestALinkToNothingIsRefused: its target would be made by who may write here.
func TestALinkToNothingIsRefused(t *testing.T) {
	dir := t.TempDir()
	link, target := filepath.Join(dir, "c"), filepath.Join(dir, "target")
	must(t, os.Symlink(target, link))
	if _, _, err := Open(link, identity()); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("the target was made")
	}
}

func TestALinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	must(t, os.WriteFile(real, nil, 0o644))
	must(t, os.Symlink(real, link))
	f, _ := opened(t, link)
	f.Move(0, "5")
	closed(t, f)
	f, states := opened(t, real)
	if states[0].Revision != "5" {
		t.Error("the link was replaced")
	}
	closed(t, f)
}

// FuzzLoad: whatever is in a file, reading it ends, and the index is right.
func FuzzLoad(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	c, _ := opened(f, path)
	put(f, c, 0, pod(f, "shop", "a", 5, "x"))
	c.Move(0, "6")
	must(f, c.Commit())
	c.Remove(0, kube.Key{Namespace: "shop", Name: "a"}, "u-a")
	must(f, c.Commit())
	put(f, c, 1, pod(f, "", "n", 7, "x"))
	closed(f, c)
	b, err := os.ReadFile(path)
	must(f, err)
	f.Add(b)
	f.Add(appendEntry([]byte(magic+"1\n"), entryPut, nil))
	f.Add(append([]byte(magic+"1\n"), 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		// What a checksum would keep out gets in.
		for at := len(magic) + 2; at+entryFrame < len(b); {
			n := int(binary.LittleEndian.Uint32(b[at:]) % 64)
			if at+entryFrame+n > len(b) {
				break
			}
			binary.LittleEndian.PutUint32(b[at:], uint32(n))
			binary.LittleEndian.PutUint32(b[at+4:], sum(b[at:at+4]))
			binary.LittleEndian.PutUint32(b[at+entryHead+n:], sum(b[at+entryHead:at+entryHead+n]))
			at += entryFrame + n
		}
		c := &File{}
		states, err := c.load(bytes.NewReader(b), identity())
		if err != nil {
			return
		}
		var live int64
		for i, s := range c.streams {
			if len(s.objects) != len(states[i].Objects) || len(s.maybe) != len(states[i].Maybe) {
				t.Errorf("stream %d: %d and %d in the index, told %q", i, len(s.objects), len(s.maybe), told(states))
			}
			for _, at := range s.objects {
				live += int64(at.size)
			}
			for _, at := range s.maybe {
				live += int64(at.size)
			}
		}
		if c.live != live || c.size > int64(len(b)) || live > c.size {
			t.Errorf("%d of %d bytes count, known are %d of %d", live, len(b), c.live, c.size)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	f, _ := opened(b, filepath.Join(b.TempDir(), "c"))
	var objects []Object
	for i := range 10_000 {
		objects = append(objects, pod(b, "shop", fmt.Sprint("pod-", i), i, strings.Repeat("x", 4000)))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		put(b, f, 0, objects[i%len(objects)])
		must(b, f.Commit())
		i++
	}
	b.ReportMetric(float64(f.size), "bytes")
	closed(b, f)
}
