package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/watch"
)

// TestCheckpointOfARestoredServer: once it is found that the server was restored, a process
// that dies at any moment leaves a checkpoint that lists again, though the server has gone
// beyond its revision by the next run.
func TestCheckpointOfARestoredServer(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
	}{
		{"printed", nil},
		{"delayed", []string{"--debounce", "5m"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, dir)
				p.contexts = "east"
				state := filepath.Join(dir, "state")
				args := func(state string) []string {
					return append([]string{"watch", "configmaps", "-o", "ndjson", "--initial-list", "paged", "--events", onlyObjects, "--checkpoint", state}, test.args...)
				}
				p.put(p.east, "a", 1)
				stop := p.start(append(args(state), "--chunk-size", "77")...)
				<-time.After(time.Minute)
				old := p.east.Revision()
				p.put(p.east, "b", 1)
				p.put(p.east, "a", 2)
				<-time.After(10 * time.Minute)
				p.expect("at first", "ADDED a", "ADDED b", "MODIFIED a")
				p.put(p.east, "a", 3) // with --debounce it waits, and its mark
				<-time.After(2 * time.Second)
				p.events()
				p.east.On(apitest.Match{Verb: "list", Query: "limit=77"}, faults.HTML(http.StatusInternalServerError)).Times(1000)
				p.east.RestoreTo(old)
				<-time.After(10 * time.Minute)
				b, err := os.ReadFile(state)
				if err != nil {
					t.Fatal(err)
				}
				if code := stop(); code != 0 {
					t.Errorf("exit code %d\n%s", code, p.stderr.take())
				}
				p.events()
				killed := filepath.Join(dir, "killed")
				if err := os.WriteFile(killed, b, 0o600); err != nil {
					t.Fatal(err)
				}
				for i := range 20 {
					p.put(p.east, "c", i)
				}
				stop = p.start(args(killed)...)
				<-time.After(10 * time.Minute)
				p.expect("the next run", "ADDED c relist", "DELETED b relist", "MODIFIED a relist")
				if code := stop(); code != 0 {
					t.Errorf("exit code %d\n%s", code, p.stderr.take())
				}
			})
		})
	}
}

// TestLostRevisionDoesNotComeBack: behind hooks, the revisions of before the loss are noted
// after it, and do not count.
func TestLostRevisionDoesNotComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f, _, err := checkpoint.Open(path, onlyNodes)
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{file: f}
	p := &peek{t: t, path: path, id: onlyNodes}
	add := func(seq int64, records ...record.Record) {
		k.late.add(records, slices.Repeat([]spot{{seq: seq}}, len(records)))
	}
	finish := func(seq int64, when string) {
		t.Helper()
		if err := k.finish(seq); err != nil {
			t.Fatal(err)
		}
		p.look(when)
	}
	add(1, nodeRecord(t, watch.Added, "a", 5), markedAt(5))
	finish(1, "a")
	add(2, nodeRecord(t, watch.Added, "b", 6), markedAt(6))
	add(4, k.lose(0))
	p.look("lost")
	add(5, nodeRecord(t, watch.Added, "c", 7), markedAt(7))
	mark := k.lose(0)
	add(5, mark)
	add(6, nodeRecord(t, watch.Added, "d", 3), markedAt(3))
	finish(2, "b")
	finish(4, "the first mark")
	finish(5, "the second mark")
	finish(6, "d")
	if err := k.close(nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`a: 1 noted, 0 perhaps, at "5"`, `lost: 1 noted, 0 perhaps, at ""`, `b: 2 noted, 0 perhaps, at ""`, `the first mark: 2 noted, 0 perhaps, at ""`,
		`the second mark: 3 noted, 0 perhaps, at ""`, `d: 4 noted, 0 perhaps, at "3"`,
	}
	if diff := cmp.Diff(want, p.seen); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}
