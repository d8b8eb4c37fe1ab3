//go:build linux && soak

package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/kube"
)

// tenant is a watch whose files are on disks, and who reads what it prints.
type tenant struct {
	t          *testing.T
	srv        *apitest.Server
	w          *restless
	j          *judge
	rnd        *rand.Rand
	state, out string
	flags      []string

	read  int64  // of out, up to the end of its last line
	torn  string // of out, behind that
	lives map[string]int
}

// Errors of which one is the last line on stderr.
var (
	noRoomToAppend  = `listwatch: checkpoint STATE: write: no space left on device: make room where it goes: nothing is lost: the next run continues from the last complete entry of the file, and prints later events again`
	noRoomToCompact = `listwatch: checkpoint STATE: write \S+\.listwatch-\d+: no space left on device: make room where it goes: nothing is lost: the next run continues from the last complete entry of the file, and prints later events again`
	noInode         = `listwatch: checkpoint STATE: make a file beside it: open \S+\.listwatch-\d+: no space left on device: make room where it goes: nothing is lost: the next run continues from the last complete entry of the file, and prints later events again`
	noRoomAtStart   = `listwatch: checkpoint STATE: write(?: \S+\.listwatch-\d+)?: no space left on device: make room where it goes`
	noRoomForLines  = `listwatch: write to stdout: no space left on device: make room where the output goes; the next run prints again what is not there in whole`
	noRoomForBoth   = `listwatch: write to stdout: no space left on device: make room where the output goes; the next run may print some lines again: checkpoint STATE: write(?: \S+\.listwatch-\d+)?: no space left on device`
)

// newTenant returns one whose checkpoint is at state and whose stdout at out.
func newTenant(t *testing.T, state, out string, names, loses int) *tenant {
	t.Helper()
	srv := apitest.NewWith(t, apitest.Options{Seed: *soakSeed, History: 20000, NoManagedFields: true})
	x := &tenant{t: t, srv: srv, w: newRestless(srv, *soakSeed, names, kube.ConfigMaps), rnd: rand.New(rand.NewPCG(*soakSeed, 7)), state: state, out: out, lives: map[string]int{}}
	x.w.loses = loses
	x.j = newJudge(t, x.w)
	for range 2 * names {
		x.w.act()
	}
	return x
}

// live is one life, in which objects change all the time, and ends with code and one
// of these errors as the last line on stderr. It returns the error.
func (x *tenant) live(code int, errs ...string) string {
	x.t.Helper()
	x.j.begin(x.copied(), x.srv.URL)
	end := "30s"
	if code == 0 {
		end = "300ms"
	}
	c := newChild(x.t, append([]string{"watch", "configmaps", "-A", "-o", "ndjson", "--checkpoint", x.state, "--exit-after", end, "-s", x.srv.URL}, x.flags...)...)
	out, err := os.OpenFile(x.out, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600) // >>
	if err != nil {
		x.t.Fatal(err)
	}
	defer out.Close()
	c.cmd.Stdout = out
	ctx, stop := context.WithCancel(x.t.Context())
	var writer sync.WaitGroup
	if !slices.Contains(x.flags, "--once") {
		writer.Go(func() { x.w.run(ctx, 300*time.Microsecond) })
	}
	c.start().end(code)
	stop()
	writer.Wait()
	x.listen()
	if code == 0 {
		x.j.settled(x.copied(), x.srv.URL)
		return ""
	}
	said := strings.TrimSuffix(c.stderr.String(), "\n")
	last := said[strings.LastIndex(said, "\n")+1:]
	if n := strings.Count(said, "no space"); strings.Count(last, "no space") != n {
		x.t.Errorf("it says it %d times:\n%s", n, said)
	}
	for _, e := range errs {
		if regexp.MustCompile(`^` + strings.ReplaceAll(e, "STATE", regexp.QuoteMeta(x.state)) + `$`).MatchString(last) {
			x.lives[e]++
			return e
		}
	}
	x.t.Errorf("stderr:\n%s\nwant at its end one of\n%s", said, strings.Join(errs, "\n"))
	return ""
}

// copied is a copy of the checkpoint where there is room; "" where nothing is in it.
func (x *tenant) copied() string {
	x.t.Helper()
	b, err := os.ReadFile(x.state)
	if err != nil || len(b) == 0 {
		return ""
	}
	path := filepath.Join(x.t.TempDir(), "state")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		x.t.Fatal(err)
	}
	return path
}

// listen reads on in out, as somebody does who skips a torn line.
func (x *tenant) listen() {
	x.t.Helper()
	f, err := os.Open(x.out)
	if err != nil {
		x.t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, x.read, 1<<40))
	if err != nil {
		x.t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	for _, line := range lines[:len(lines)-1] {
		x.read += int64(len(line))
		if x.torn == "" || line != x.torn+"\n" {
			x.j.read(line)
		}
		x.torn = ""
	}
	x.torn = lines[len(lines)-1]
}

// rotate begins a new file of output, once the old one is large.
func (x *tenant) rotate() {
	x.t.Helper()
	if x.read < 200<<10 {
		return
	}
	if err := os.WriteFile(x.out, []byte(x.torn), 0o600); err != nil {
		x.t.Fatal(err)
	}
	x.read = 0
}

// end is the last life, which must tell all that is left.
func (x *tenant) end(least int, kinds ...string) {
	x.t.Helper()
	x.flags = append(x.flags, "--once")
	x.live(0)
	x.j.end()
	x.t.Logf("seed %d: %d acts, %d events told, %d of them repeated, %d lists again, %d deletions found by comparing", *soakSeed, x.w.acts, x.j.events, x.j.repeats, x.j.relists, x.j.away)
	for kind, n := range x.lives {
		x.t.Logf("%3d lives ended: %s", n, kind)
	}
	for _, kind := range kinds {
		if x.lives[kind] < least {
			x.t.Errorf("%d lives ended so, want %d: %s", x.lives[kind], least, kind)
		}
	}
}

// size is that of the checkpoint.
func (x *tenant) size() int {
	x.t.Helper()
	fi, err := os.Stat(x.state)
	if err != nil {
		x.t.Fatal(err)
	}
	return int(fi.Size())
}

// testCheckpointsDisk: what was told and not noted is told again, and only that.
func testCheckpointsDisk(t *testing.T) {
	d := newDisk(t, 256, 10)
	x := newTenant(t, d.path("state"), filepath.Join(t.TempDir(), "out"), 20, 0)
	for n := range 40 {
		x.live(0)
		d.leaves(min(x.rnd.IntN(8)*aPage, 64<<10-aPage-x.size())) // a compaction would make room
		x.live(1, noRoomToAppend, noRoomToCompact, noRoomAtStart)
		if n%3 == 0 { // it is begun again, with no more room than before
			read := x.read
			if x.live(1, noRoomToAppend, noRoomToCompact, noRoomAtStart) == noRoomAtStart && x.read != read {
				t.Error("it printed, and could not begin")
			}
		}
		d.has("state")
		d.clear()
	}
	x.end(10, noRoomToAppend)
}

// testCheckpointsDiskAtACompaction: the old file stays as it was, with all that was told.
func testCheckpointsDiskAtACompaction(t *testing.T) {
	d := newDisk(t, 1024, 10)
	x := newTenant(t, d.path("state"), filepath.Join(t.TempDir(), "out"), 60, 0)
	x.flags = []string{"--reset-checkpoint", "--once"}
	x.live(0)
	live := x.size()
	x.flags = nil
	for range 20 {
		x.live(0)
		d.leaves(2*live + 64<<10 - x.size() + live/2)
		repeats := x.j.repeats
		if x.live(1, noRoomToAppend, noRoomToCompact) != noRoomToCompact {
			d.clear()
			continue
		}
		d.has("state")
		d.clear()
		x.live(0)
		if n := x.j.repeats - repeats; n > 0 {
			t.Errorf("%d events are told again", n)
		}
	}
	x.end(5, noRoomToCompact)
}

// testCheckpointsInodes is the same with a disk that takes no more files.
func testCheckpointsInodes(t *testing.T) {
	d := newDisk(t, 2048, 4) // the root, two files, and the lock
	if err := os.WriteFile(d.path("other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := newTenant(t, d.path("state"), filepath.Join(t.TempDir(), "out"), 20, 0)
	x.live(1, `listwatch: checkpoint STATE: make a file beside it: open \S+\.listwatch-\d+: no space left on device: make room where it goes`)
	if x.read != 0 {
		t.Error("it printed, and could not begin")
	}
	if err := os.Remove(d.path("other")); err != nil {
		t.Fatal(err)
	}
	x.live(0)
	if err := os.WriteFile(d.path("other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		repeats := x.j.repeats
		x.live(1, noInode)
		d.has("state", "other")
		if n := x.j.repeats - repeats; n > 0 {
			t.Errorf("%d events are told again", n)
		}
	}
	if err := os.Remove(d.path("other")); err != nil {
		t.Fatal(err)
	}
	x.end(10, noInode)
}

// testDiskOfStdout: what is there in whole is noted, and nothing is told again.
func testDiskOfStdout(t *testing.T) {
	d := newDisk(t, 4096, 10)
	x := newTenant(t, filepath.Join(t.TempDir(), "state"), d.path("out"), 20, 0)
	torn := 0
	for n := range 40 {
		x.live(0)
		d.leaves(x.rnd.IntN(8) * aPage)
		x.live(1, noRoomForLines)
		if x.torn != "" {
			torn++
		}
		if n%3 == 0 {
			x.live(1, noRoomForLines)
		}
		d.clear()
		x.rotate()
	}
	x.end(40, noRoomForLines)
	if x.j.repeats > 0 || torn < 10 {
		t.Errorf("%d events are told again; %d torn lines", x.j.repeats, torn)
	}
}

func testOneDisk(t *testing.T)               { testBothOnOneDisk(t, 0) }
func testOneDiskWithoutHistory(t *testing.T) { testBothOnOneDisk(t, 200) }

func testBothOnOneDisk(t *testing.T, loses int) {
	d := newDisk(t, 4096, 10)
	x := newTenant(t, d.path("state"), d.path("out"), 20, loses)
	x.flags = []string{"--initial-list", "paged", "--chunk-size", "7"}
	any := []string{noRoomToAppend, noRoomToCompact, noRoomAtStart, noRoomForLines, noRoomForBoth}
	for n := range 40 {
		x.live(0)
		d.leaves(x.rnd.IntN(12) * aPage)
		x.live(1, any...)
		if n%3 == 0 {
			x.live(1, any...)
		}
		d.has("state", "out")
		d.clear()
		x.rotate()
	}
	x.end(1, noRoomToAppend, noRoomForLines)
	if loses > 0 && x.j.relists == 0 {
		t.Error("the history was never lost")
	}
}

// testFullAtTheStart: nothing is printed where nothing can be noted.
func testFullAtTheStart(t *testing.T) {
	d := newDisk(t, 256, 10)
	x := newTenant(t, d.path("state"), filepath.Join(t.TempDir(), "out"), 20, 0)
	d.leaves(0)
	for range 3 {
		x.live(1, noRoomAtStart)
		d.has("state")
	}
	d.leaves(2 * aPage) // for the lock and the file's beginning, and hardly for more
	x.live(1, noRoomToAppend)
	d.leaves(0)
	for id := identityOf(x.srv.URL, x.w.types); ; { // some bytes of its last page
		f, _, err := checkpoint.Open(x.state, id)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read, size := x.read, x.size()
	for range 3 {
		x.live(1, noRoomAtStart)
	}
	if x.read != read || x.size() != size {
		t.Errorf("%d bytes were printed, and the checkpoint has %d instead of %d", x.read-read, x.size(), size)
	}
	d.clear()
	x.end(6, noRoomAtStart)
}

// testDamagedOnAFullDisk: that nobody can go on from it is not forgotten.
func testDamagedOnAFullDisk(t *testing.T) {
	d := newDisk(t, 256, 10)
	x := newTenant(t, d.path("state"), filepath.Join(t.TempDir(), "out"), 20, 0)
	x.live(0)
	b, err := os.ReadFile(x.state)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(x.state, b, 0o600); err != nil {
		t.Fatal(err)
	}
	d.leaves(0)
	run := func() (int, string, string) {
		return runProgram(t, nil, "watch", "configmaps", "-A", "-o", "name", "--output-watch-events", "--once", "--checkpoint", x.state, "-s", x.srv.URL)
	}
	for range 2 {
		code, stdout, stderr := run()
		if code != 1 || stdout != "" || !strings.HasSuffix(stderr, "no space left on device: make room where it goes\n") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		d.has("state")
	}
	d.clear()
	if code, _, stderr := run(); code != 0 || !strings.Contains(stderr, "warning: checkpoint "+x.state+" cannot be used") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	d.has("state", "state.damaged")
}
