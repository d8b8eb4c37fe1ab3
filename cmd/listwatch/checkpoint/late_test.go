package checkpoint

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// twoClusters is a run over east and west, of which some may be late.
func twoClusters(uids string, late ...string) Identity {
	id := Identity{Cluster: uids, Server: "https://e https://w", Form: "objects", Late: late}
	for _, name := range []string{"east", "west"} {
		if len(late) == 0 || late[0] != name {
			id.Streams = append(id.Streams, Stream{Cluster: name, Resource: "pods.v1"})
		}
	}
	return id
}

// admitted is the identity of a run that began as id, and in which west has come.
func admitted(id Identity, uids string) Identity {
	id.Cluster, id.Late = uids, nil
	id.Streams = append(id.Streams[:len(id.Streams):len(id.Streams)], Stream{Cluster: "west", Resource: "pods.v1"})
	return id
}

// TestLateClusterIsAdmitted: a file that began without a cluster gets its streams when it
// comes, and what is noted of the others stays; the next run finds both in any order.
func TestLateClusterIsAdmitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	id := twoClusters("ue ?", "west")
	f, states, err := Open(path, id)
	if err != nil || len(states) != 1 {
		t.Fatal(states, err)
	}
	put(t, f, 0, pod(t, "shop", "a", 5, ""))
	f.Move(0, "5")
	must(t, f.Write())
	must(t, f.Commit())
	states, err = f.Admit(admitted(id, "ue uw"))
	if diff := gocmp.Diff([]string{`0 "5" true`, "0 shop/a u-a 5", `1 "" false`}, told(states)); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	put(t, f, 1, pod(t, "shop", "b", 7, ""))
	f.Move(1, "7")
	f.Move(0, "6")
	closed(t, f)
	f, states, err = Open(path, twoClusters("ue uw"))
	want := []string{`0 "6" true`, "0 shop/a u-a 5", `1 "7" true`, "1 shop/b u-b 7"}
	if diff := gocmp.Diff(want, told(states)); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	closed(t, f)
}

// TestAbsentClusterKeepsItsState: a run without a cluster that earlier runs had neither
// forgets nor needs what is noted of it.
func TestAbsentClusterKeepsItsState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	f, _, err := Open(path, twoClusters("ue uw"))
	must(t, err)
	put(t, f, 1, pod(t, "shop", "b", 7, ""))
	f.Move(1, "7")
	closed(t, f)
	id := twoClusters("ue ?", "west")
	f, states, err := Open(path, id)
	if diff := gocmp.Diff([]string{`0 "" false`}, told(states)); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	for i := range 200 { // until it is compacted
		put(t, f, 0, pod(t, "shop", "a", 10+i, strings.Repeat("x", 1<<10)))
		must(t, f.Commit())
	}
	closed(t, f)
	f, _, err = Open(path, id)
	must(t, err)
	states, err = f.Admit(admitted(id, "ue uw"))
	if diff := gocmp.Diff([]string{`0 "" false`, "0 shop/a u-a 209", `1 "7" true`, "1 shop/b u-b 7"}, told(states)); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	closed(t, f)
}

// TestClusterThatComesIsCompared: with what the file knows of it, at the start as later.
func TestClusterThatComesIsCompared(t *testing.T) {
	for name, test := range map[string]struct {
		was, id Identity
		want    string
	}{
		"another cluster":         {twoClusters("ue uw"), twoClusters("ue ux"), "it is of the cluster uw (https://w), not ux (https://w)"},
		"late, and another":       {twoClusters("ue uw"), admitted(twoClusters("ue ?", "west"), "ue ux"), "it is of the cluster uw (https://w), not ux (https://w)"},
		"known now":               {twoClusters("ue -"), twoClusters("ue uw"), ""},
		"unknown now":             {twoClusters("ue uw"), twoClusters("ue -"), ""},
		"never asked":             {twoClusters("ue ?", "west"), twoClusters("ue uw"), ""},
		"before it was separate":  {twoClusters("ue"), twoClusters("ue uw"), ""},
		"one was late, now other": {twoClusters("ue ?", "west"), twoClusters("? uw", "east"), ""},
		"a cluster less":          {twoClusters("ue uw"), Identity{Cluster: "ue", Server: "https://e", Form: "objects", Streams: []Stream{{Cluster: "east", Resource: "pods.v1"}}}, "it is of the server https://e https://w, not https://e"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c")
			f, _, err := Open(path, test.was)
			must(t, err)
			closed(t, f)
			f, _, err = Open(path, test.id)
			if test.want == "" {
				must(t, err)
				closed(t, f)
				return
			}
			if !errors.Is(err, ErrForeign) || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("%v, want one that ends in %q", err, test.want)
			}
		})
	}
}

// TestForeignClusterIsNotAdmitted: what was noted before stays as it is.
func TestForeignClusterIsNotAdmitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	f, _, err := Open(path, twoClusters("ue uw"))
	must(t, err)
	closed(t, f)
	id := twoClusters("ue ?", "west")
	f, _, err = Open(path, id)
	must(t, err)
	put(t, f, 0, pod(t, "shop", "a", 5, ""))
	if _, err := f.Admit(admitted(id, "ue ux")); !errors.Is(err, ErrForeign) || !strings.HasPrefix(err.Error(), "checkpoint "+path) {
		t.Errorf("%v", err)
	}
	if err := f.Close(); !errors.Is(err, ErrForeign) {
		t.Errorf("it went on: %v", err)
	}
	f, states, err := Open(path, twoClusters("ue uw"))
	if diff := gocmp.Diff([]string{`0 "" false`, "0 shop/a u-a 5", `1 "" false`}, told(states)); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	closed(t, f)
}

// TestAnotherVersionContinues: where none was asked for, from what is noted of the other.
func TestAnotherVersionContinues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	id := Identity{Server: "s", Form: "objects", Streams: []Stream{{Resource: "jobs.v1.x", AnyVersion: true}, {Resource: "jobs.v1.y"}}}
	f, _, err := Open(path, id)
	must(t, err)
	put(t, f, 0, pod(t, "shop", "a", 5, ""))
	f.Move(0, "6")
	closed(t, f)
	id.Streams = []Stream{{Resource: "jobs.v1.y"}, {Resource: "jobs.v2.x", AnyVersion: true}}
	for range 2 {
		f, states, err := Open(path, id)
		want := []string{`0 "" false`, `1 "6" true`, "1 shop/a u-a 5"}
		if diff := gocmp.Diff(want, told(states)); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		closed(t, f)
		id.Streams[1].AnyVersion = false // the file is of this one now
	}
}
