package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

var onlyNodes = checkpoint.Identity{Server: "s", Form: "objects", Streams: []checkpoint.Stream{{Resource: "nodes.v1"}}}

func nodeRecord(t *testing.T, typ watch.Type, name string, rev int) record.Record {
	t.Helper()
	raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"kind":"Node","apiVersion":"v1","metadata":{"name":%q,"uid":"u-%s","resourceVersion":"%d"}}`, name, name, rev))
	if err != nil {
		t.Fatal(err)
	}
	return record.Record{Type: string(typ), ID: raw.Identity(), Object: raw, Resource: kube.Nodes}
}

func markedAt(rev int) record.Record {
	return record.Record{Mark: record.MarkAt, At: kube.Revision(fmt.Sprint(rev))}
}

// names of records: a5 is node a at 5, @5 a mark.
func recordNames(records []record.Record) (names []string) {
	for _, r := range records {
		if r.Mark != record.NoMark {
			names = append(names, "@"+string(r.At))
		} else {
			names = append(names, r.Type[:1]+r.ID.Name+r.ID.ResourceVersion)
		}
	}
	return names
}

func TestBacklogGivesWhatIsFinishedInOrder(t *testing.T) {
	l := &backlog{}
	l.add([]record.Record{nodeRecord(t, watch.Added, "a", 5), markedAt(5), nodeRecord(t, watch.Added, "b", 6), markedAt(6)}, []spot{{seq: 1}, {seq: 1}, {seq: 2}, {seq: 2}})
	if got := l.take(0); len(got) != 0 {
		t.Errorf("nothing is finished, got %v", recordNames(got))
	}
	if diff := cmp.Diff([]string{"Aa5", "@5"}, recordNames(l.take(1))); diff != "" {
		t.Errorf("up to 1 (-want +got):\n%s", diff)
	}
	l.add([]record.Record{nodeRecord(t, watch.Deleted, "a", 7)}, []spot{{seq: 3}})
	if diff := cmp.Diff([]string{"Ab6", "@6", "Da7"}, recordNames(l.take(9))); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
}

// TestBacklogIsBounded: behind what is not finished it keeps of each object the last, and
// all of that or nothing is given, because the marks between are gone.
func TestBacklogIsBounded(t *testing.T) {
	l := &backlog{}
	seq := int64(0)
	more := func(n int) {
		for range n {
			seq++
			rev := int(seq)
			l.add([]record.Record{nodeRecord(t, watch.Modified, string(rune('a'+seq%3)), rev), markedAt(rev)}, []spot{{seq: seq}, {seq: seq}})
		}
	}
	more(10 * leastBacklog)
	if n := len(l.records); n > 2*leastBacklog || n != len(l.seqs) {
		t.Errorf("it keeps %d records", n)
	}
	first := l.seqs[l.closed-1]
	if first > seq/2 {
		t.Errorf("what came first waits for %d of %d: with constant load it is never finished", first, seq)
	}
	if got := l.take(first - 1); len(got) != 0 {
		t.Errorf("a part is given: %v", recordNames(got))
	}
	want := []string{fmt.Sprint("M", string(rune('a'+(first-2)%3)), first-2), fmt.Sprint("M", string(rune('a'+(first-1)%3)), first-1), fmt.Sprint("M", string(rune('a'+first%3)), first), fmt.Sprint("@", first)}
	if diff := cmp.Diff(want, recordNames(l.take(first))); diff != "" {
		t.Errorf("what came first (-want +got):\n%s", diff)
	}
	rest := l.take(seq)
	if got := recordNames(rest); got[len(got)-1] != fmt.Sprint("@", seq) || len(l.records) != 0 {
		t.Errorf("then %d of %d are left, the last is %s", len(l.records), len(rest), got[len(got)-1])
	}
}

// TestBacklogKeepsEachIncarnation: the end of one object is not lost in its namesake.
func TestBacklogKeepsEachIncarnation(t *testing.T) {
	l := &backlog{}
	again := nodeRecord(t, watch.Added, "a", 7)
	again.ID.UID = "other"
	l.add([]record.Record{nodeRecord(t, watch.Modified, "a", 5), {Mark: record.MarkListing}, markedAt(5), nodeRecord(t, watch.Deleted, "a", 6), markedAt(6), again, markedAt(7), {Mark: record.MarkListing}}, make([]spot, 8))
	l.shrink()
	if diff := cmp.Diff([]string{"Da6", "Aa7", "@7", "@"}, recordNames(l.records)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// TestForetoldIsOnlySuspected: until its hook has ended, an object may have been told,
// and what was finished before stays.
func TestForetoldIsOnlySuspected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f, _, err := checkpoint.Open(path, onlyNodes)
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{file: f}
	look := func(when, want string) {
		t.Helper()
		p := &peek{t: t, path: path, id: onlyNodes}
		p.look(when)
		if p.seen[0] != when+": "+want {
			t.Errorf("%s; want %s", p.seen[0], want)
		}
	}
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, b := []record.Record{nodeRecord(t, watch.Added, "a", 5), markedAt(5)}, []record.Record{nodeRecord(t, watch.Added, "b", 6), markedAt(6)}
	try(k.beginSuspected(a, true))
	k.late.add(a, []spot{{seq: 1}, {seq: 1}})
	try(k.finish(0))
	look("a is told", `0 noted, 1 perhaps, at ""`)
	try(k.beginSuspected(b, true))
	k.late.add(b, []spot{{seq: 2}, {seq: 2}})
	try(k.finish(1))
	look("a is finished", `1 noted, 1 perhaps, at "5"`)
	try(k.finish(2))
	look("b is finished", `2 noted, 0 perhaps, at "6"`)
	try(k.close(nil))
}

// TestForetellingKeepsWhatWasFinished: a mark alone is not committed by itself, and is not
// lost where an object is foretold before the next commit.
func TestForetellingKeepsWhatWasFinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f, _, err := checkpoint.Open(path, onlyNodes)
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{file: f}
	p := &peek{t: t, path: path, id: onlyNodes}
	for i, records := range [][]record.Record{{nodeRecord(t, watch.Added, "a", 5), markedAt(5)}, {{Mark: record.MarkListing}}} {
		seq := int64(i + 1)
		k.late.add(records, []spot{{seq: seq}, {seq: seq}})
		if err := k.finish(seq); err != nil {
			t.Fatal(err)
		}
	}
	p.look("a list begins")
	if err := k.beginSuspected([]record.Record{nodeRecord(t, watch.Added, "b", 6)}, true); err != nil {
		t.Fatal(err)
	}
	p.look("b is told")
	if err := k.close(nil); err != nil {
		t.Fatal(err)
	}
	want := []string{`a list begins: 1 noted, 0 perhaps, at "5"`, `b is told: 1 noted, 1 perhaps, at ""`}
	if diff := cmp.Diff(want, p.seen); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}

// narrow takes so many bytes and no more.
type narrow struct {
	bytes.Buffer
	room int
}

func (n *narrow) Write(b []byte) (int, error) {
	took := min(len(b), n.room-n.Len())
	n.Buffer.Write(b[:took])
	if took < len(b) {
		return took, io.ErrClosedPipe
	}
	return took, nil
}

// TestCheckpointHasWhatStdoutTook wherever in its output stdout fails: the objects of
// the lines that it took in whole.
func TestCheckpointHasWhatStdoutTook(t *testing.T) {
	custom, err := print.CustomColumns([]string{"N"}, []string{".metadata.name"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		step   int
		output output
	}{
		{"lines", 3, output{format: print.Format{Name: "name", Events: true}}},
		{"a table", 7, output{format: print.Format{Events: true, Headers: true}}},
		{"custom columns", 3, output{format: print.Format{Custom: custom, Headers: true}}},
		{"json", 61, output{format: print.Format{Name: "ndjson"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for room, all := 0, false; !all; room += test.step {
				path := filepath.Join(t.TempDir(), "state")
				f, _, err := checkpoint.Open(path, onlyNodes)
				if err != nil {
					t.Fatal(err)
				}
				stdout := &narrow{room: room}
				records := make(chan record.Record, 100)
				for i, name := range []string{"alpha", "beta", "gamma", "delta"} {
					records <- nodeRecord(t, watch.Added, name, 5+i)
					records <- markedAt(5 + i)
				}
				close(records)
				k := &keeper{file: f}
				p := &printer{output: test.output, w: stdout, keeper: k, stop: func(error) {}, errs: func(err error) { t.Error(err) }}
				ended := p.run(records)
				all = ended == nil
				if err := k.close(ended); err != ended {
					t.Fatal(err)
				}
				f, states, err := checkpoint.Open(path, onlyNodes)
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				text := stdout.String()
				whole := text[:strings.LastIndexByte(text, '\n')+1]
				var want, got []string
				for i, name := range []string{"alpha", "beta", "gamma", "delta"} {
					if strings.Contains(whole, name) {
						want = append(want, fmt.Sprint(name, 5+i))
					}
				}
				for _, o := range states[0].Objects {
					got = append(got, o.Raw.GetName()+string(o.Revision))
				}
				slices.SortFunc(got, func(a, b string) int { return strings.Compare(a[len(a)-1:], b[len(b)-1:]) })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("stdout took %q; noted (-want +got):\n%s", text, diff)
				}
				if rev := string(states[0].Revision); len(want) > 0 && rev != want[len(want)-1][len(want[len(want)-1])-1:] {
					t.Fatalf("stdout took %q; noted up to %q", text, rev)
				}
			}
		})
	}
}

// TestWhatWasNotedStaysWhereStdoutFails: the marks of earlier writes count, committed or not.
func TestWhatWasNotedStaysWhereStdoutFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f, _, err := checkpoint.Open(path, onlyNodes)
	if err != nil {
		t.Fatal(err)
	}
	stdout := &narrow{room: len("ADDED node/a\nADDED node/b\nADD")}
	records := make(chan record.Record)
	k := &keeper{file: f}
	p := &printer{output: output{format: print.Format{Name: "name", Events: true}}, w: stdout, keeper: k, stop: func(error) {}, errs: func(err error) { t.Error(err) }}
	ended := make(chan error)
	go func() { ended <- p.run(records) }()
	written := record.Record{Say: func() {}}
	records <- nodeRecord(t, watch.Added, "a", 5)
	records <- markedAt(5)
	records <- written
	records <- record.Record{Mark: record.MarkListing} // from here on nothing comes in order
	records <- written
	records <- nodeRecord(t, watch.Added, "b", 9)
	records <- nodeRecord(t, watch.Added, "c", 7)
	close(records)
	if err := k.close(<-ended); err != exit.ErrPipe {
		t.Fatal(err)
	}
	f, states, err := checkpoint.Open(path, onlyNodes)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if st := states[0]; st.Revision != "" || !st.Synced || (len(st.Objects) != 2 && stdout.Len() > 0) {
		t.Errorf("at %q, synced %t, %d objects, after %q", st.Revision, st.Synced, len(st.Objects), stdout)
	}
}
