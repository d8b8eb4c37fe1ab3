package cache_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// saveTo in the environment makes the test program save to that file until it
// is killed.
const saveTo = "LISTWATCH_TEST_SAVE_TO"

// TestErrorsOfCutFilesAreTheirOwn: each says where its file went.
func TestErrorsOfCutFilesAreTheirOwn(t *testing.T) {
	dir := t.TempDir()
	var reported []*cache.SnapshotError
	for _, name := range []string{"a", "b"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("listwatch snap"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := cache.NewStore[kube.Partial]().LoadFile(path, cache.SnapshotIdentity{Cluster: "c", Resource: kube.ConfigMaps})
		var bad *cache.SnapshotError
		if !errors.As(err, &bad) {
			t.Fatal(err)
		}
		reported = append(reported, bad)
	}
	for n, name := range []string{"a", "b"} {
		if !strings.HasPrefix(reported[n].Aside, filepath.Join(dir, name)+".bad-") {
			t.Errorf("%s was moved to %s", name, reported[n].Aside)
		}
	}
}

func TestMain(m *testing.M) {
	if path := os.Getenv(saveTo); path != "" {
		if err := saveForEver(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// generation is a store in which everything is of one revision, that says how
// many objects there are.
func generation(rev int) *cache.RWStore[kube.Partial] {
	s := cache.NewStore[kube.Partial]()
	s.Apply(restart(nil))
	for n := range sizeOf(rev) {
		s.Apply(added("p"+strconv.Itoa(n), "", strconv.Itoa(rev)))
	}
	s.Apply(synced(strconv.Itoa(rev)))
	return s
}

func sizeOf(rev int) int { return rev % 7 * 100 }

// saveForEver prints each revision that it has saved, beginning after the one
// that it finds.
func saveForEver(path string) error {
	rev := 0
	if s, err := loadedFrom(path); err == nil {
		rev, _ = strconv.Atoi(string(s.Revision()))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for {
		rev++
		if err := generation(rev).SaveFile(path, binding); err != nil {
			return err
		}
		fmt.Println(rev)
	}
}

func loadedFrom(path string) (*cache.RWStore[kube.Partial], error) {
	s := cache.NewStore[kube.Partial]()
	_, err := s.LoadFile(path, binding)
	return s, err
}

// TestSnapshotSurvivesKill: after kill -9 at any moment the file is whole, and at
// least as new as what was reported as saved.
func TestSnapshotSurvivesKill(t *testing.T) {
	dice := newDice(t)
	path := filepath.Join(t.TempDir(), "pods")
	for range 20 {
		saved := saveAndKill(t, path, dice)
		s, err := loadedFrom(path)
		if err != nil {
			t.Fatal(err)
		}
		rev, err := strconv.Atoi(string(s.Revision()))
		if err != nil || rev < saved || rev > saved+1 {
			t.Fatalf("killed after %d was saved: the file is of %q", saved, s.Revision())
		}
		if s.Len() != sizeOf(rev) {
			t.Fatalf("at %d there are %d objects, want %d", rev, s.Len(), sizeOf(rev))
		}
		for _, o := range s.All() {
			if o.ResourceVersion != strconv.Itoa(rev) {
				t.Fatalf("at %d there is an object of %s", rev, o.ResourceVersion)
			}
		}
		if got := files(t, path); len(got) != 1 {
			t.Fatalf("left behind: %v", got)
		}
	}
}

// saveAndKill runs a process that saves, kills it at a random moment and returns
// the last revision that it printed.
func saveAndKill(t *testing.T, path string, dice *rand.Rand) (last int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), saveTo+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	pause := time.Duration(dice.Int64N(int64(20 * time.Millisecond))) // within the time that a save or two take
	for n := 1 + dice.IntN(3); lines.Scan(); n-- {
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			time.AfterFunc(pause, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || last == 0 {
		t.Fatalf("the process ended by itself after %d: %v", last, err)
	}
	return last
}

// files returns what is in the folder of path, moments replaced by "time".
func files(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if before, at, found := strings.Cut(name, ".bad-"); found && len(at) > len("20060102T150405") {
			name = before + ".bad-time"
		}
		names = append(names, name)
	}
	return names
}

func TestSnapshotFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pods")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := filled[codec.Raw](t, 3).SaveFile(path, binding); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode() != 0o600 {
		t.Errorf("mode is %v, want 0600", fi.Mode())
	}
	if diff := cmp.Diff([]string{"pods"}, files(t, path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSnapshotFileThatDoesNotExist(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pods")
	_, err := loadedFrom(path)
	var se *cache.SnapshotError
	if !errors.Is(err, fs.ErrNotExist) || errors.As(err, &se) {
		t.Error(err)
	}
}

func TestSnapshotFileThatCannotBeUsedIsSetAside(t *testing.T) {
	good := saved(t, filled[kube.Partial](t, 3), binding)
	foreign := binding
	foreign.Cluster = "other"
	tests := []struct {
		name string
		b    []byte
		kind error
	}{
		{"foreign", saved(t, filled[kube.Partial](t, 3), foreign), cache.ErrSnapshotForeign},
		{"half-written", good[:len(good)/2], cache.ErrSnapshotDamaged},
		{"empty", nil, cache.ErrSnapshotDamaged},
		{"newer", append([]byte("listwatch snapshot 2\n"), good...), cache.ErrSnapshotNewer},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pods")
			if err := os.WriteFile(path, test.b, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := loadedFrom(path)
			var se *cache.SnapshotError
			if !errors.Is(err, test.kind) || !errors.As(err, &se) || !strings.HasPrefix(se.Aside, path+".bad-") || !strings.HasSuffix(err.Error(), "; moved to "+se.Aside) {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(se.Aside); err != nil || string(got) != string(test.b) {
				t.Errorf("set aside: %d bytes, %v; want %d", len(got), err, len(test.b))
			}
			if s.Len() != 0 || s.Synced() {
				t.Error("the store is not empty")
			}
			if _, err := loadedFrom(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

func TestSnapshotKeepsAFewOfThoseSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pods")
	var last []string
	for n := range 5 {
		if err := os.WriteFile(path, []byte{byte(n)}, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := loadedFrom(path)
		var se *cache.SnapshotError
		if !errors.As(err, &se) {
			t.Fatal(err)
		}
		last = append(last, se.Aside)
	}
	if diff := cmp.Diff([]string{"pods.bad-time", "pods.bad-time", "pods.bad-time"}, files(t, path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range last[2:] {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestSnapshotFileThatMayNotBeUsedStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets")
	b := binding
	b.Resource, b.IncludeSecrets = kube.Secrets, true
	if err := filled[codec.Raw](t, 3).SaveFile(path, b); err != nil {
		t.Fatal(err)
	}
	b.IncludeSecrets = false
	if _, err := cache.NewStore[codec.Raw]().LoadFile(path, b); !errors.Is(err, cache.ErrSnapshotRefused) {
		t.Error(err)
	}
	used := cache.NewStore[codec.Raw]()
	used.Apply(watch.Event[codec.Raw]{Type: watch.Restart})
	b.IncludeSecrets = true
	if _, err := used.LoadFile(path, b); err == nil {
		t.Error("loaded into a store in use")
	}
	if diff := cmp.Diff([]string{"secrets"}, files(t, path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// failing is an object that cannot be encoded.
type failing struct {
	kube.Meta
	Value badValue
}
type badValue string

var errValue = errors.New("bad value")

func (v badValue) MarshalText() ([]byte, error)     { return nil, errValue }
func (v *badValue) UnmarshalText(text []byte) error { return nil }

func TestSnapshotThatFailsLeavesTheOldOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pods")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := cache.NewStore[failing]()
	s.Apply(watch.Event[failing]{Type: watch.Restart})
	s.Apply(watch.Event[failing]{Type: watch.Added, Object: failing{Value: "x"}})
	s.Apply(watch.Event[failing]{Type: watch.Synced, Revision: "1"})
	if err := s.SaveFile(path, binding); !errors.Is(err, errValue) {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
	if diff := cmp.Diff([]string{"pods"}, files(t, path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSnapshotFileThatIsNone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pods")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := loadedFrom(dir); err == nil || !strings.HasSuffix(err.Error(), "not a regular file") {
		t.Error(err)
	}
	if err := generation(1).SaveFile(dir, binding); err == nil {
		t.Error("a folder was replaced")
	}
	missing := filepath.Join(dir, "missing", "pods")
	if err := generation(1).SaveFile(missing, binding); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"pods"}, files(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSnapshotsSavedAtOnceAreNeverMixed: an interval and a stop may coincide.
func TestSnapshotsSavedAtOnceAreNeverMixed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pods")
	var savers sync.WaitGroup
	for rev := 1; rev <= 6; rev++ {
		savers.Go(func() {
			if err := generation(rev).SaveFile(path, binding); err != nil {
				t.Error(err)
			}
		})
	}
	savers.Wait()
	s, err := loadedFrom(path)
	if err != nil {
		t.Fatal(err)
	}
	if rev, err := strconv.Atoi(string(s.Revision())); err != nil || s.Len() != sizeOf(rev) {
		t.Errorf("at %q there are %d objects", s.Revision(), s.Len())
	}
}

func TestSnapshotInTheWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := generation(1).SaveFile("pods", binding); err != nil {
		t.Fatal(err)
	}
	if s, err := loadedFrom("pods"); err != nil || s.Len() != sizeOf(1) {
		t.Errorf("%d objects, %v", s.Len(), err)
	}
}

// A program starts where the last one ended.
func ExampleRWStore_LoadFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pods.snapshot")
	what := cache.SnapshotIdentity{Cluster: "0a6f6c2e-3f7b-4d65-a1f4-4a9d4b7a0c11", Resource: kube.Pods}

	first := cache.NewStore[kube.Partial]()
	if _, err := first.LoadFile(path, what); errors.Is(err, fs.ErrNotExist) {
		fmt.Println("a cold start")
	}
	for _, ev := range []event{restart(nil), added("a", "u1", "1"), added("b", "u2", "2"), synced("2")} {
		first.Apply(ev)
	}
	if err := first.SaveFile(path, what); err != nil {
		fmt.Println(err)
	}

	// b is deleted while nobody watches, and revision 2 expires.
	second := cache.NewStore[kube.Partial]()
	from, err := second.LoadFile(path, what)
	fmt.Println(second.Len(), "objects at revision", from.Revision, err)
	for _, ev := range []event{restart(kube.ErrGone), added("a", "u1", "1"), synced("900")} {
		for _, d := range second.Apply(ev) {
			fmt.Println(d.Type, d.Key.Name)
		}
	}
	// Output:
	// a cold start
	// 2 objects at revision 2 <nil>
	// DELETED b
}
