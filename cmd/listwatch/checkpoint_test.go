package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

func clusterWithSeed(t *testing.T, seed uint64) *apitest.Server {
	t.Helper()
	srv, err := apitest.Start(apitest.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	srv.Put(kube.Namespaces, `{"metadata":{"name":"kube-system"}}`)
	srv.Put(kube.Nodes, `{"metadata":{"name":"a"}}`)
	return srv
}

// TestCheckpointIsOfOneCluster: by the UID of kube-system, so that an address may
// change; by the address where that may not be read.
func TestCheckpointIsOfOneCluster(t *testing.T) {
	one, other := clusterWithSeed(t, 1), clusterWithSeed(t, 2)
	once := func(srv, file string) (int, string, string) {
		return runProgram(t, nil, "watch", "nodes", "-o", "name", "--output-watch-events", "--once", "--checkpoint", file, "-s", srv)
	}
	file := filepath.Join(t.TempDir(), "state")
	if code, stdout, stderr := once(one.URL, file); code != 0 || stdout != "ADDED node/a\n" {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := once(other.URL, file); code != exit.CodeForeign || stdout != "" || !strings.Contains(stderr, "it is of the cluster ") || !strings.Contains(stderr, "--reset-checkpoint") {
		t.Errorf("another cluster: exit code %d\n%s%s", code, stdout, stderr)
	}
	name := strings.Replace(one.URL, "127.0.0.1", "localhost", 1)
	if code, stdout, stderr := once(name, file); code != 0 || stdout != "" {
		t.Errorf("another name of it: exit code %d\n%s%s", code, stdout, stderr)
	}

	one.Deny("", apitest.Match{Verb: "get", Resource: "namespaces"})
	file = filepath.Join(t.TempDir(), "state")
	for _, want := range []string{"ADDED node/a\n", ""} {
		if code, stdout, stderr := once(one.URL, file); code != 0 || stdout != want {
			t.Errorf("without the UID: exit code %d\n%s%s", code, stdout, stderr)
		}
	}
	if code, _, stderr := once(name, file); code != exit.CodeForeign || !strings.Contains(stderr, "it is of the server "+one.URL+", not "+name) {
		t.Errorf("another address without the UID: exit code %d\n%s", code, stderr)
	}
}

// TestCheckpointGoesOnWithAFirstListThatWasInterrupted: what was told of it is not
// told again, what was not is told as initial, and then that this was all.
func TestCheckpointGoesOnWithAFirstListThatWasInterrupted(t *testing.T) {
	srv := apitest.New(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		srv.Put(kube.Nodes, `{"metadata":{"name":"`+name+`"}}`)
	}
	node := func(name string) checkpoint.Object {
		raw, err := codec.ParseRaw(srv.Get(kube.Nodes, kube.Key{Name: name}))
		if err != nil {
			t.Fatal(err)
		}
		return checkpoint.Object{UID: raw.GetUID(), Revision: kube.Revision(raw.GetResourceVersion()), Raw: raw}
	}
	path := filepath.Join(t.TempDir(), "state")
	f, _, err := checkpoint.Open(path, checkpoint.Identity{Server: srv.URL, Form: "objects", Streams: []checkpoint.Stream{{Resource: "nodes.v1"}}})
	if err != nil {
		t.Fatal(err)
	}
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(f.Put(0, node("a")))
	try(f.Put(0, node("b")))
	try(f.Put(0, node("c")))
	try(f.Commit())
	try(f.Put(0, node("d"))) // it died with this
	try(f.Close())
	srv.Delete(kube.Nodes, kube.Key{Name: "b"})
	srv.Delete(kube.Nodes, kube.Key{Name: "d"})
	srv.Put(kube.Nodes, `{"metadata":{"name":"c","labels":{"x":"y"}}}`)
	srv.Put(kube.Nodes, `{"metadata":{"name":"e"}}`)
	code, stdout, stderr := runProgram(t, nil, "watch", "nodes", "-o", "ndjson", "--once", "--checkpoint", path, "-s", srv.URL)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	type line struct {
		Type              string `json:"type"`
		Name              string `json:"name"`
		Synthetic         string `json:"synthetic"`
		Initial           bool   `json:"initial"`
		FinalStateUnknown bool   `json:"finalStateUnknown"`
	}
	var got []line
	for text := range strings.Lines(stdout) {
		l, err := codec.Decode[line]([]byte(text))
		try(err)
		got = append(got, l)
	}
	want := []line{
		{Type: "MODIFIED", Name: "c", Synthetic: "relist"},
		{Type: "ADDED", Name: "e", Initial: true},
		{Type: "DELETED", Name: "b", Synthetic: "relist", FinalStateUnknown: true},
		{Type: "DELETED", Name: "d", Synthetic: "relist", FinalStateUnknown: true},
		{Type: "SYNCED"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestReckonTellsTheEndBeforeANamesake: what may have been told is told to be gone
// before the object that has taken its name, and never while history is replayed.
func TestReckonTellsTheEndBeforeANamesake(t *testing.T) {
	suspect := func(uid string) checkpoint.Object {
		raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"name":"a","uid":%q,"resourceVersion":"5"}}`, uid))
		if err != nil {
			t.Fatal(err)
		}
		return checkpoint.Object{UID: uid, Revision: "5", Raw: raw}
	}
	for _, test := range []struct {
		name    string
		listing bool
		uid     string // of the object a that comes
		all     bool   // or the list ends
		want    string
		left    int
	}{
		{"a list has a namesake", true, "u3", false, "DELETED u1 DELETED u2 ", 0},
		{"a list has the last of them", true, "u2", false, "DELETED u1 ", 0},
		{"a list has none", true, "", true, "DELETED u1 DELETED u2 ", 0},
		{"the history has one", false, "u1", false, "", 1},
		{"the history has something else", false, "u3", false, "", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			s := &stream[codec.Raw]{listing: test.listing, maybe: []checkpoint.Object{suspect("u1"), suspect("u2")},
				asRaw: func(o codec.Raw) codec.Raw { return o },
				give: func(r record.Record) {
					got += r.Type + " " + r.ID.UID + " "
					if r.Synthetic != "relist" || !r.Last {
						t.Errorf("%s is told as an event", r.ID.UID)
					}
				}}
			s.reckon(kube.Key{Name: "a"}, test.uid, test.all)
			if got != test.want || len(s.maybe) != test.left {
				t.Errorf("told %q, %d left; want %q, %d", got, len(s.maybe), test.want, test.left)
			}
		})
	}
}

// TestWatchEndsWhenItsCheckpointCannotBeWritten: at once, loudly, and with nothing
// on stdout that was not noted.
func TestWatchEndsWhenItsCheckpointCannotBeWritten(t *testing.T) {
	object := func(name string) record.Record {
		raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"kind":"Node","apiVersion":"v1","metadata":{"name":%q,"uid":"u","resourceVersion":"5"}}`, name))
		if err != nil {
			t.Fatal(err)
		}
		return record.Record{Type: string(watch.Added), ID: raw.Identity(), Object: raw, Resource: kube.Nodes}
	}
	path := filepath.Join(t.TempDir(), "state")
	id := checkpoint.Identity{Server: "s", Form: "objects", Streams: []checkpoint.Stream{{Resource: "nodes.v1"}}}
	f, _, err := checkpoint.Open(path, id)
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	var stopped error
	records := make(chan record.Record)
	k := &keeper{file: f}
	p := &printer{output: output{format: print.Format{Name: "name", Events: true}}, w: &stdout, keeper: k, stop: func(err error) { stopped = err }, errs: func(err error) { t.Error(err) }}
	ended := make(chan error)
	go func() { ended <- p.run(records) }()
	records <- object("a")
	records <- record.Record{Say: func() { // everything before is done
		if err := f.Close(); err != nil { // as good as a full disk
			t.Error(err)
		}
	}}
	records <- object("b")
	records <- object("c")
	close(records)
	err = k.close(<-ended)
	var fail *exit.Error
	if !errors.As(err, &fail) || fail.Code != exit.CodeFailed || !strings.Contains(err.Error(), "nothing is lost") || !errors.Is(err, os.ErrClosed) {
		t.Errorf("it ends with %v", err)
	}
	if stopped == nil || stdout.String() != "ADDED node/a\n" {
		t.Errorf("stopped by %v, printed %q", stopped, &stdout)
	}
	f, states, err := checkpoint.Open(path, id)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(states[0].Objects) != 1 || states[0].Objects[0].Raw.GetName() != "a" {
		t.Errorf("noted: %v", states)
	}
}

// peek is a stdout that looks at the checkpoint whenever it is written to: what it
// would be if the process died there.
type peek struct {
	t    *testing.T
	path string
	id   checkpoint.Identity
	seen []string
}

func (p *peek) Write(b []byte) (int, error) {
	p.look(strings.TrimSpace(string(b)))
	return len(b), nil
}

func (p *peek) look(when string) {
	b, err := os.ReadFile(p.path)
	if err != nil {
		p.t.Error(err)
	}
	other := filepath.Join(p.t.TempDir(), "copy")
	if err := os.WriteFile(other, b, 0o600); err != nil {
		p.t.Error(err)
	}
	f, states, err := checkpoint.Open(other, p.id)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer f.Close()
	p.seen = append(p.seen, fmt.Sprintf("%s: %d noted, %d perhaps, at %q", when, len(states[0].Objects), len(states[0].Maybe), states[0].Revision))
}

// TestCheckpointIsNeverAheadOfStdout, and knows what stdout may have got.
func TestCheckpointIsNeverAheadOfStdout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	id := checkpoint.Identity{Server: "s", Form: "objects", Streams: []checkpoint.Stream{{Resource: "nodes.v1"}}}
	f, _, err := checkpoint.Open(path, id)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := codec.ParseRaw([]byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"5"}}`))
	if err != nil {
		t.Fatal(err)
	}
	object := func(typ watch.Type) record.Record {
		return record.Record{Type: string(typ), ID: raw.Identity(), Object: raw, Resource: kube.Nodes}
	}
	stdout := &peek{t: t, path: path, id: id}
	records := make(chan record.Record)
	p := &printer{output: output{format: print.Format{Name: "name", Events: true}}, w: stdout, keeper: &keeper{file: f}, stop: func(err error) { t.Error(err) }, errs: func(err error) { t.Error(err) }}
	ended := make(chan error)
	go func() { ended <- p.run(records) }()
	look := func(when string) record.Record { return record.Record{Say: func() { stdout.look(when) }} }
	for _, r := range []record.Record{
		object(watch.Added), look("then"), {Mark: record.MarkAt, At: "5"}, object(watch.Deleted), look("then"),
		{Mark: record.MarkAt, At: "6"}, {Mark: record.MarkSync}, look("in a second"), {Mark: record.MarkListing}, {Mark: record.MarkSync}, look("a list begins"),
	} {
		records <- r
	}
	close(records)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	want := []string{
		`ADDED node/a: 0 noted, 1 perhaps, at ""`,
		`then: 1 noted, 0 perhaps, at ""`,
		`DELETED node/a: 1 noted, 0 perhaps, at ""`,
		`then: 0 noted, 0 perhaps, at "5"`,
		`in a second: 0 noted, 0 perhaps, at "6"`,
		`a list begins: 0 noted, 0 perhaps, at ""`,
	}
	if diff := cmp.Diff(want, stdout.seen); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}

// TestMarksAreBetweenListsOnly: amid a list there is no revision to resume from.
func TestMarksAreBetweenListsOnly(t *testing.T) {
	got := ""
	s := &stream[codec.Raw]{noted: true, give: func(r record.Record) { got += fmt.Sprint(r.Mark, r.At, " ") }}
	s.mark(watch.Event[codec.Raw]{Type: watch.Modified, Revision: "5"})
	s.mark(watch.Event[codec.Raw]{Type: watch.Restart})
	s.listing = true
	s.mark(watch.Event[codec.Raw]{Type: watch.Added, Revision: "7"})
	s.listing = false
	s.mark(watch.Event[codec.Raw]{Type: watch.Synced, Revision: "8"})
	if want := fmt.Sprint(record.MarkAt, "5 ", record.MarkListing, " ", record.MarkAt, "8 "); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("marks %q, want %q", got, want)
	}
}

// TestKeeperDoesNotCommitAtTheEndWhatWasNotDone: stdout was closed, say.
func TestKeeperDoesNotCommitAtTheEndWhatWasNotDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	id := checkpoint.Identity{Server: "s", Form: "objects", Streams: []checkpoint.Stream{{Resource: "nodes.v1"}}}
	f, _, err := checkpoint.Open(path, id)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := codec.ParseRaw([]byte(`{"metadata":{"name":"a","uid":"u","resourceVersion":"5"}}`))
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{file: f}
	if err := k.begin([]record.Record{{Type: string(watch.Added), ID: raw.Identity(), Object: raw, Resource: kube.Nodes}}, true); err != nil {
		t.Fatal(err)
	}
	if err := k.close(exit.ErrPipe); !errors.Is(err, exit.ErrPipe) {
		t.Errorf("it ends with %v", err)
	}
	f, states, err := checkpoint.Open(path, id)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(states[0].Objects) != 0 || len(states[0].Maybe) != 1 {
		t.Errorf("%d noted, %d perhaps; want 0 and 1", len(states[0].Objects), len(states[0].Maybe))
	}
}
