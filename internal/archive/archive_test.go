package archive

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/kube"
)

var wide = Limits{Bytes: 64 << 20, Age: 1000 * time.Hour}

// state returns one of an object of about size bytes.
func state(t testing.TB, name, uid string, at int64, op string, size int) State {
	t.Helper()
	raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":"%d"},"spec":%q,"status":{"n":%d}}`, name, uid, at, strings.Repeat("abcdefg,", size/8), at))
	if err != nil {
		t.Fatal(err)
	}
	return State{At: at, Op: op, Key: kube.Key{Namespace: "shop", Name: name}, UID: uid, Revision: fmt.Sprint(at), By: "kubelet", Cells: RowOf(name, "Running"), Object: compressed.Of(raw)}
}

func open(t testing.TB, dir string, l Limits) *Dir {
	t.Helper()
	d, err := Open(dir, "cluster-1", l)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read returns what a folder has, a line for each entry, and errors.
func read(dir string) (lines []string, bad []error) {
	for e, err := range Read(dir) {
		if err != nil {
			bad = append(bad, err)
			continue
		}
		lines = append(lines, line(e))
	}
	return lines, bad
}

func line(e Entry) string {
	s := fmt.Sprint(e.At, " ", e.Resource.Plural, " ")
	switch {
	case e.Begin != nil:
		return s + "begin " + e.Begin.Reason
	case e.Ready:
		return s + "ready"
	case e.State != nil:
		return s + lineOf(e.State, string(e.JSON))
	case e.Columns != nil:
		return s + fmt.Sprint("columns ", len(e.Columns))
	case e.Gap != nil:
		return s + "gap " + e.Gap.Reason
	}
	return s + "mark"
}

func lineOf(s *State, json string) string {
	return fmt.Sprint(s.Op, " ", s.Key, " ", s.UID, " ", s.At, " ", s.Revision, " ", s.By, " ", s.First, " ", s.Cells.Cell(0), " ", json)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, size := range []int{0, 500, 100_000} {
		dir := filepath.Join(t.TempDir(), "history")
		d := open(t, dir, wide)
		a, b := state(t, "a", "1", 5, Added, size), state(t, "b", "2", 6, Added, size)
		s := must(d.Begin(kube.Pods, []Column{{Name: "Name"}}, 10, "this program did not run", slices.Values([]State{a, b})))(t)
		want := []string{"10 pods begin this program did not run", "10 pods columns 1"}
		add := func(at int64, st *State) {
			o, err := st.Object.Raw()
			check(t, err)
			want = append(want, fmt.Sprint(at, " pods ", lineOf(st, o.JSON())))
		}
		a.First, b.First = true, true
		add(10, &a)
		add(10, &b)
		want = append(want, "10 pods ready")
		for i := int64(11); i < 20; i++ {
			m := state(t, "a", "1", i, Modified, size)
			check(t, s.Add(m))
			add(i, &m)
		}
		gone := state(t, "a", "1", 20, Deleted, size)
		check(t, s.Add(gone))
		add(20, &gone)
		again := state(t, "a", "3", 21, Added, size)
		check(t, s.Add(again))
		add(21, &again)
		check(t, s.Gap(Gap{From: 21, To: 30, Reason: "expired"}))
		check(t, s.Columns([]Column{{Name: "Name"}, {Name: "Status"}}))
		check(t, s.Mark(40))
		want = append(want, "30 pods gap expired", "30 pods columns 2", "40 pods mark")
		must(s.Flush(time.UnixMilli(40)))(t)
		got, bad := read(dir)
		if diff := cmp.Diff(want, got); diff != "" || bad != nil {
			t.Errorf("%v (-want +got):\n%s", bad, diff)
		}
		check(t, d.Close())
		entries := must(os.ReadDir(dir))(t)
		for _, e := range entries {
			if info := must(e.Info())(t); info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %s", e.Name(), info.Mode())
			}
		}
		if info := must(os.Stat(dir))(t); info.Mode().Perm() != 0o700 {
			t.Errorf("the folder has mode %s", info.Mode())
		}
	}
}

// TestOneProcessWrites, of one cluster.
func TestOneProcessWrites(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, wide)
	var locked *disk.LockedError
	if _, err := Open(dir, "cluster-1", wide); !errors.As(err, &locked) {
		t.Errorf("the second: %v", err)
	}
	must(d.Begin(kube.Pods, nil, 1, "", slices.Values([]State(nil))))(t)
	check(t, d.Close())
	if _, err := Open(dir, "cluster-2", wide); err == nil || !strings.Contains(err.Error(), "name another folder") {
		t.Errorf("another cluster: %v", err)
	}
	check(t, open(t, dir, wide).Close())
}

// TestDamagedSegmentsAreSetAside: with a message, and what others have is read.
func TestDamagedSegmentsAreSetAside(t *testing.T) {
	for _, how := range []string{"a byte", "a late byte", "the header", "cut in the first list"} {
		dir := t.TempDir()
		d := open(t, dir, wide)
		pods := must(d.Begin(kube.Pods, nil, 1, "", slices.Values([]State{state(t, "a", "1", 1, Added, 2000)})))(t)
		for i := int64(2); i < 9; i++ {
			check(t, pods.Add(state(t, "a", "1", i, Modified, 2000)))
		}
		must(d.Begin(kube.Nodes, nil, 1, "", slices.Values([]State{state(t, "n", "9", 1, Added, 100)})))(t)
		path := d.file(1)
		check(t, d.Close())
		b := must(os.ReadFile(path))(t)
		switch how {
		case "a byte":
			b[len(b)/2] ^= 1
		case "a late byte": // of a change, behind the first list
			b[len(b)-100] ^= 1
		case "the header":
			b[9] ^= 1
		default:
			b = b[:200]
		}
		check(t, os.WriteFile(path, b, 0o600))
		d = open(t, dir, wide)
		var bad []error
		nodes := 0
		for e, err := range d.Entries() {
			if err != nil {
				bad = append(bad, err)
			} else if e.Resource.Plural == "nodes" && e.State != nil {
				nodes++
			}
		}
		check(t, d.Close())
		var de *DamagedError
		if len(bad) != 1 || !errors.As(bad[0], &de) || !strings.Contains(bad[0].Error(), "renamed to "+path+".damaged") || nodes != 1 {
			t.Errorf("%s: %v, %d nodes", how, bad, nodes)
		}
		if _, err := os.Stat(path + ".damaged"); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		if _, bad := read(dir); bad != nil {
			t.Errorf("%s, the next time: %v", how, bad)
		}
	}
}

// TestLimits: the oldest segments are removed, and what exists is known nevertheless.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	dice := rand.New(rand.NewPCG(1, 0))
	d := open(t, dir, Limits{Bytes: 64 << 10, Age: 1000 * time.Hour})
	s := must(d.Begin(kube.Pods, nil, 1, "", slices.Values([]State{state(t, "a", "1", 1, Added, 100), state(t, "still", "2", 1, Added, 100), state(t, "gone", "3", 1, Added, 100)})))(t)
	check(t, s.Add(state(t, "gone", "3", 2, Deleted, 100)))
	for i := int64(2); i < 2000; i++ {
		st := state(t, "a", "1", i, Modified, 0)
		st.By = fmt.Sprint(dice.Uint64(), dice.Uint64()) // does not compress
		check(t, s.Add(st))
		s = must(s.Flush(time.UnixMilli(i)))(t)
		if size := sizeOf(t, dir); size > 64<<10 {
			t.Fatalf("%d bytes after %d states", size, i)
		}
	}
	check(t, d.Close())
	lines, bad := read(dir)
	if bad != nil || !strings.Contains(lines[0], "the states before were removed") || !strings.Contains(strings.Join(lines[:5], "\n"), "shop/still") || strings.Contains(strings.Join(lines, "\n"), "shop/gone") || !strings.Contains(lines[len(lines)-1], " 1999 ") {
		t.Errorf("%v %q", bad, lines[:5])
	}
	if n := len(lines); n < 200 || n > 1500 {
		t.Errorf("%d entries are kept", n)
	}
	if n := strings.Count(strings.Join(lines, "\n"), "ready"); n != 1 {
		t.Errorf("%d lists in a chain", n)
	}
	d = open(t, dir, Limits{Bytes: 1 << 10, Age: time.Hour})
	if _, err := d.Begin(kube.Pods, nil, 1, "", func(yield func(State) bool) {
		for i := range int64(100) {
			st := state(t, "a", fmt.Sprint(i), i, Added, 0)
			st.By = fmt.Sprint(dice.Uint64(), dice.Uint64())
			if !yield(st) {
				return
			}
		}
	}); !errors.Is(err, ErrFull) {
		t.Errorf("objects that do not fit: %v", err)
	}
	check(t, d.Close())
}

func sizeOf(t testing.TB, dir string) (n int64) {
	for _, e := range must(os.ReadDir(dir))(t) {
		if e.Name() != lockFile {
			n += must(e.Info())(t).Size()
		}
	}
	return n
}

// TestAnyStopIsSurvived compares a folder with a model, over many runs that end at any
// byte of a write, or amid the first list: what was flushed is read, in its order, and
// nothing else but the begin of what was written then.
func TestAnyStopIsSurvived(t *testing.T) {
	for seed := range uint64(8) {
		m := &model{T: t, dir: t.TempDir(), rand: rand.New(rand.NewPCG(seed, 1)), want: map[string][]string{}}
		for range 8 {
			m.run()
		}
		got := map[string][]string{}
		lines, bad := read(m.dir)
		if bad != nil {
			t.Fatalf("seed %d: %v", seed, bad)
		}
		for _, l := range lines {
			_, rest, _ := strings.Cut(l, " ")
			plural, what, _ := strings.Cut(rest, " ")
			if !strings.HasPrefix(what, "columns") {
				got[plural] = append(got[plural], what)
			}
		}
		if diff := cmp.Diff(m.want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// model is what a folder has to have.
type model struct {
	*testing.T
	dir  string
	rand *rand.Rand
	at   int64
	uid  int
	want map[string][]string
}

func (m *model) note(plural string, s *State) {
	o, err := s.Object.Raw()
	check(m, err)
	m.want[plural] = append(m.want[plural], lineOf(s, o.JSON()))
}

// run is one life of a process.
func (m *model) run() {
	d := open(m, m.dir, wide)
	for e, err := range d.Entries() {
		if err != nil {
			m.Fatal(err)
		}
		m.at = max(m.at, e.At)
	}
	segments, exist := map[string]*Segment{}, map[string]map[string]State{}
	for _, r := range []kube.Resource{kube.Pods, kube.Nodes} {
		m.at++
		objects := map[string]State{}
		m.want[r.Plural] = append(m.want[r.Plural], "begin again")
		for i := range m.rand.IntN(4) {
			m.uid++
			s := state(m, fmt.Sprint("o", i), fmt.Sprint(m.uid), m.at, Added, m.rand.IntN(300))
			objects[s.Key.Name] = s
			s.First = true
			m.note(r.Plural, &s)
		}
		m.want[r.Plural] = append(m.want[r.Plural], "ready")
		list := slices.SortedFunc(maps.Values(objects), func(a, b State) int { return strings.Compare(a.Key.Name, b.Key.Name) })
		segments[r.Plural] = must(d.Begin(r, nil, m.at, "again", slices.Values(list)))(m)
		exist[r.Plural] = objects
	}
	for range m.rand.IntN(20) {
		plural := []string{"pods", "nodes"}[m.rand.IntN(2)]
		s := segments[plural]
		var pending []State
		for range m.rand.IntN(10) {
			st := m.change(exist[plural])
			check(m, s.Add(st))
			pending = append(pending, st)
		}
		if m.rand.IntN(12) == 0 { // the process is killed within a write
			cut := m.rand.IntN(len(s.buf) + 1)
			must(s.f.Write(s.buf[:cut]))(m)
			for whole := 0; len(pending) > 0; pending = pending[1:] {
				whole += 8 + int(s.buf[whole]) | int(s.buf[whole+1])<<8 | int(s.buf[whole+2])<<16
				if whole > cut {
					break
				}
				m.note(plural, &pending[0])
			}
			break
		}
		if m.rand.IntN(4) == 0 { // a segment that is continued, as when it is old
			s.header.At -= wide.Age.Milliseconds()
		}
		segments[plural] = must(s.Flush(time.UnixMilli(m.at)))(m)
		for _, st := range pending {
			m.note(plural, &st)
		}
	}
	check(m, os.WriteFile(d.file(d.number+1)+temporary, []byte("begun"), 0o600))
	for _, s := range segments {
		check(m, s.f.Close())
	}
	d.release()
}

// change makes a change of one of the objects that exist.
func (m *model) change(exist map[string]State) State {
	m.at++
	name := fmt.Sprint("o", m.rand.IntN(6))
	old, ok := exist[name]
	switch {
	case !ok:
		m.uid++
		s := state(m, name, fmt.Sprint(m.uid), m.at, Added, m.rand.IntN(300))
		exist[name] = s
		return s
	case m.rand.IntN(4) == 0:
		delete(exist, name)
		return state(m, name, old.UID, m.at, Deleted, m.rand.IntN(300))
	}
	s := state(m, name, old.UID, m.at, Modified, m.rand.IntN(300))
	exist[name] = s
	return s
}

// FuzzSegment: whatever a file has, reading ends, without a panic.
func FuzzSegment(f *testing.F) {
	dir := f.TempDir()
	d := open(f, dir, wide)
	s := must(d.Begin(kube.Pods, []Column{{Name: "Name"}}, 1, "", slices.Values([]State{state(f, "a", "1", 1, Added, 200)})))(f)
	check(f, s.Add(state(f, "a", "1", 2, Modified, 200)))
	check(f, s.Mark(3))
	check(f, d.Close())
	f.Add(must(os.ReadFile(d.file(1)))(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		check(t, os.WriteFile((&Dir{path: dir}).file(1), b, 0o600))
		for _, err := range Read(dir) {
			var bad *DamagedError
			if err != nil && !errors.As(err, &bad) {
				t.Fatal(err)
			}
		}
	})
}
