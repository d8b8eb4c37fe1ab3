package file_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/file"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// store is a folder, whose segments are merged often.
func store(t *testing.T) sinktest.Store {
	path := t.TempDir()
	var last *file.Sink
	return sinktest.Store{
		OneWriter: true,
		Connect: func(t *testing.T) sinktest.Sink {
			if last != nil {
				last.Close()
			}
			last = open(t, path, file.Options{Merge: 7, SnapshotBytes: 5000})
			return last
		},
		Read: func(*testing.T) sink.Reader { return file.NewReader(path) },
	}
}

func open(t *testing.T, path string, o file.Options) *file.Sink {
	t.Helper()
	s, err := file.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSink(t *testing.T) { sinktest.Test(t, store) }

var soakRounds = flag.Int("soak.rounds", 100, "rounds of the soak")

func TestSoak(t *testing.T) {
	for seed := range 2 {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sinktest.Soak(t, store(t), sinktest.SoakOptions{Seed: uint64(seed), Rounds: *soakRounds, Virtual: true})
			})
		})
	}
}

func TestOneProcessWrites(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, file.Options{})
	if _, err := file.Open(path, file.Options{}); !errors.As(err, new(*disk.LockedError)) {
		t.Errorf("error %v, want a *disk.LockedError", err)
	}
	s.Close()
	open(t, path, file.Options{}).Close()
}

// TestPruneKeepsTableAndGaps: after the segments are removed, the snapshot has the table.
func TestPruneKeepsTableAndGaps(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, file.Options{})
	scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource}
	pos, _, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	commit := func(at time.Time, records ...sink.Record) {
		t.Helper()
		pos.Sequence++
		pos.Time, pos.Phase, pos.Revision = at, sink.Live, "7"
		if err := s.Commit(t.Context(), records, pos); err != nil {
			t.Fatal(err)
		}
	}
	rec := func(id string, typ sink.Type) sink.Record {
		return sink.Record{ID: id, Type: typ, Cluster: "c", Resource: "configmaps", Name: id, UID: id, Revision: "1"}
	}
	commit(old, rec("a", sink.Added), rec("gap", sink.Gap))
	commit(old.AddDate(0, 0, 1), rec("b", sink.Added))
	if n, err := s.Prune(t.Context(), old.Add(time.Hour), 10); n != 1 || err != nil {
		t.Errorf("%d segments removed, error %v, want 1", n, err)
	}
	check := func(records int) {
		t.Helper()
		n := 0
		for _, err := range s.Records(t.Context(), "c", sinktest.Resource) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		names := ""
		for row, err := range s.Rows(t.Context(), "c", sinktest.Resource) {
			if err != nil {
				t.Fatal(err)
			}
			names += row.Name
		}
		gaps, err := s.Gaps(t.Context(), "c", sinktest.Resource)
		if n != records || names != "ab" || len(gaps) != 1 || err != nil {
			t.Errorf("%d records, table %q, %d gaps, error %v; want %d, ab, 1", n, names, len(gaps), err, records)
		}
	}
	check(1)
	if n, err := s.Prune(t.Context(), old.AddDate(1, 0, 0), 10); n != 1 || err != nil {
		t.Errorf("%d segments removed, error %v, want 1", n, err)
	}
	check(0)
	again, _, err := s.Open(t.Context(), scope)
	if err != nil || again.Sequence != pos.Sequence || again.Revision != "7" {
		t.Errorf("position %+v, error %v, want that of the last commit", again, err)
	}
}

// TestPruneReachesWhatIsNotOpen: at the start nothing is, and types that are no longer moved never
// are. A folder that cannot be read spares no other.
func TestPruneReachesWhatIsNotOpen(t *testing.T) {
	path := t.TempDir()
	old := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := open(t, path, file.Options{})
	pods := sink.Scope{Cluster: "c", Resource: kube.Pods}
	for _, scope := range []sink.Scope{pods, {Cluster: "c", Resource: sinktest.Resource}} {
		pos, _, err := s.Open(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			pos.Sequence++
			pos.Time, pos.Phase, pos.Revision = old, sink.Live, "7"
			name := fmt.Sprint("n-", pos.Sequence)
			rec := sink.Record{ID: name, Type: sink.Added, Cluster: "c", Resource: scope.Resource.Plural, Name: name, UID: name, Revision: "1"}
			if err := s.Commit(t.Context(), []sink.Record{rec}, pos); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Close()
	bad := filepath.Join(path, "b", "-", "pods", "0")
	if err := os.MkdirAll(bad, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bad, "0000000000000001-0000000000000001.r7.ndjson"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, file.Options{})
	for _, want := range []int64{3, 1} { // of four segments, which are removed in steps
		if n, err := s.Prune(t.Context(), old.AddDate(0, 0, 1), 3); n != want || err == nil {
			t.Errorf("%d segments removed, error %v, want %d, and an error of the folder that was cut", n, err, want)
		}
	}
	pos, _, err := s.Open(t.Context(), pods)
	if err != nil || pos.Sequence != 2 || pos.Generation != 2 {
		t.Errorf("position %+v, error %v, want commit 2", pos, err)
	}
	names := ""
	for row, err := range s.Rows(t.Context(), "c", kube.Pods) {
		if err != nil {
			t.Fatal(err)
		}
		names += row.Name
	}
	if names != "n-1n-2" {
		t.Errorf("the table has %q", names)
	}
	s.Close()
	if n, err := s.Prune(t.Context(), time.Now(), 3); n != 0 || err == nil {
		t.Errorf("closed: %d segments removed, error %v", n, err)
	}
}

// TestATornFileIsNoSegment: what a process that was killed left behind is not read.
func TestATornFileIsNoSegment(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, file.Options{})
	scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource}
	if _, _, err := s.Open(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(path, "c", "-", "configmaps", "0", ".new-1")
	if err := os.WriteFile(torn, []byte(`{"position":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if pos, _, err := s.Open(t.Context(), scope); err != nil || pos.Generation != 2 {
		t.Errorf("position %+v, error %v, want generation 2", pos, err)
	}
	if _, err := os.Stat(torn); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the torn file is still there: %v", err)
	}
}

// TestReaderOfAnyPath: the path is no pattern, and a folder that cannot be read is an
// error.
func TestReaderOfAnyPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster[1]*?")
	s := open(t, path, file.Options{})
	scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource, Shards: 2}
	if _, _, err := s.Open(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Positions(t.Context()); len(all) != 1 || err != nil {
		t.Errorf("positions %+v, error %v, want one", all, err)
	}
	other := scope
	other.Shards = 3
	other.Shard = 2
	if _, _, err := s.Open(t.Context(), other); err == nil {
		t.Error("another number of shards is accepted")
	}
	s.Close()

	none := filepath.Join(t.TempDir(), "none")
	if all, err := file.NewReader(none).Positions(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("of a folder that does not exist: positions %+v, error %v", all, err)
	}
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.NewReader(none).Positions(t.Context()); err == nil {
		t.Error("a folder that cannot be read has no error")
	}
}

// TestSegmentWithoutItsLastCommitIsAnError: the name of a segment says what it has to hold.
func TestSegmentWithoutItsLastCommitIsAnError(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, file.Options{})
	pos, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: sinktest.Resource})
	if err != nil {
		t.Fatal(err)
	}
	pos.Sequence, pos.Revision = 1, "7"
	if err := s.Commit(t.Context(), nil, pos); err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(path, "c", "-", "configmaps", "0", "0000000000000001-0000000000000001.r7.ndjson")
	if err := os.Truncate(segment, 0); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Positions(t.Context()); err == nil {
		t.Errorf("positions %+v, want an error", all)
	}
}
