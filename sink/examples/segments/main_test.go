package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/file"
)

// TestEachRecordIsReadOnce while segments are written, merged and removed.
func TestEachRecordIsReadOnce(t *testing.T) {
	root := t.TempDir()
	s, err := file.Open(root, file.Options{Merge: 7, SnapshotBytes: 500})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: kube.Pods})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now().UTC()
	var want []string
	commit := func(n int) {
		t.Helper()
		var all []sink.Record
		for i := range n {
			r := sink.Record{ID: fmt.Sprint(p.Sequence, " ", i), Type: sink.Added, Cluster: "c", Resource: "pods", Namespace: "shop", Name: fmt.Sprint("n", i), UID: fmt.Sprint("uid", i), Revision: "1", Epoch: 1}
			all, want = append(all, r), append(want, r.ID)
		}
		p.Sequence++
		p.Phase, p.Revision, p.Time = sink.Live, kube.Revision(fmt.Sprint(p.Sequence)), begun
		if err := s.Commit(t.Context(), all, p); err != nil {
			t.Fatal(err)
		}
	}
	f := &follower{dir: filepath.Join(root, "c", "-", "pods", "0")}
	var got []string
	read := func() {
		t.Helper()
		if err := f.read(func(_ int64, r sink.Record) { got = append(got, r.ID) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after %d commits (-want +got):\n%s", p.Sequence, diff)
		}
	}
	for i := range 40 {
		commit(i % 4)
		if i%3 == 0 {
			read()
		}
	}
	read()
	behind := &follower{dir: f.dir, done: 3}
	if n, err := s.Prune(t.Context(), begun.Add(time.Hour), 2); n != 2 || err != nil {
		t.Fatalf("pruned %d, error %v", n, err)
	}
	for i, want := range []bool{false, true} {
		if err := behind.read(func(int64, sink.Record) {}); (err != nil) != want {
			t.Errorf("read %d where commits were removed that were not read: %v", i, err)
		}
	}
	commit(1)
	read()
}

// TestAMissingFileIsLookedForAgain: a list of a folder that is being written is no snapshot.
func TestAMissingFileIsLookedForAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(commit int) {
		name := filepath.Join(dir, fmt.Sprintf("%016d-%016d.r", commit, commit))
		text := fmt.Sprintf(`{"position":{"sequence":%d}}`+"\n"+`{"id":"%d"}`+"\n", commit, commit)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &follower{dir: dir}
	var got []string
	for _, commit := range []int{1, 3, 2} { // 2 is there, and the list with 3 has not shown it
		write(commit)
		if err := f.read(func(_ int64, r sink.Record) { got = append(got, r.ID) }); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestReadsWhileItIsWritten in another goroutine.
func TestReadsWhileItIsWritten(t *testing.T) {
	root := t.TempDir()
	s, err := file.Open(root, file.Options{Merge: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: kube.Pods})
	if err != nil {
		t.Fatal(err)
	}
	const commits = 200
	failed := make(chan error, 1)
	go func() {
		for i := range commits {
			p.Sequence++
			p.Phase = sink.Live
			r := sink.Record{ID: fmt.Sprint(i), Type: sink.Added, Cluster: "c", Resource: "pods", Name: fmt.Sprint(i), UID: fmt.Sprint(i), Epoch: 1}
			if err := s.Commit(t.Context(), []sink.Record{r}, p); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	f, next := &follower{dir: filepath.Join(root, "c", "-", "pods", "0")}, 0
	for ended := false; next < commits; {
		last := ended // what is read now was all written
		err := f.read(func(commit int64, r sink.Record) {
			if r.ID != fmt.Sprint(next) || commit != int64(next+1) {
				t.Errorf("record %s, want %d", r.ID, next)
			}
			next++
		})
		if err != nil || t.Failed() || last && next < commits {
			t.Fatalf("%d of %d records, error %v", next, commits, err)
		}
		select {
		case err := <-failed:
			if ended = true; err != nil {
				t.Fatal(err)
			}
			failed = nil
		default:
		}
	}
	if failed != nil {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}
