package replay_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

const corpus = "../testdata/recordings"

// TestCorpus holds every way to play the recordings of a real kube-apiserver
// against what an informer delivered to its handlers when they were made.
func TestCorpus(t *testing.T) {
	files := glob(t, "*.lwrec.ndjson*")
	var golden []string
	for _, path := range files {
		golden = append(golden, goldenOf(path))
	}
	if diff := gocmp.Diff(golden, glob(t, "*.deltas")); diff != "" || len(files) < 5 {
		t.Errorf("%d recordings, and their deltas (-wanted +there):\n%s", len(files), diff)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(goldenOf(path)), ".deltas"), func(t *testing.T) {
			rec, err := replay.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Run("Origin", func(t *testing.T) { testOrigin(t, path, rec) })
			t.Run("Source", func(t *testing.T) { testSource(t, path, rec) })
			t.Run("Fast", func(t *testing.T) { testFast(t, path, rec) })
			t.Run("Script", func(t *testing.T) { testScript(t, path, rec) })
			t.Run("Strict", func(t *testing.T) { testStrict(t, rec) })
			t.Run("State", func(t *testing.T) { testState(t, path, rec) })
		})
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(corpus, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func goldenOf(path string) string {
	name, _, _ := strings.Cut(path, ".lwrec.")
	return name + ".deltas"
}

// TestCorpusHoldsWhatItIsFor: a recording that is made again may lack what the old
// one was kept for.
func TestCorpusHoldsWhatItIsFor(t *testing.T) {
	for name, want := range map[string][]string{
		"rolling-update.lwrec.ndjson.gz": {"example.com/web:1", "example.com/web:2", "deletionTimestamp", `"type":"DELETED"`, "kube-controller-manager"},
		"drain.lwrec.ndjson.gz":          {`"unschedulable":true`, "DisruptionTarget", "EvictionByEvictionAPI", `"type":"DELETED"`, "node-b"},
		"crd-added.lwrec.ndjson": {"404 page not found\n", "customresourcecleanup.apiextensions.k8s.io", `"type":"DELETED"`,
			`"APIResourceList"`, "too old resource version"},
		"gone-storm.lwrec.ndjson": {"The resourceVersion for the provided watch is too old.", "The resourceVersion for the provided list is too old.",
			"The provided continue parameter is too old", `"metadata":{"continue":"`, "too old resource version", "end reset", "end cut"},
		"restart.lwrec.ndjson": {"end cut", "end reset", "end error", "end eof", "too old resource version"},
	} {
		rec, err := replay.Open(filepath.Join(corpus, name))
		if err != nil {
			t.Error(err)
			continue
		}
		var text strings.Builder
		for _, e := range rec.Entries {
			fmt.Fprintf(&text, "%s%s %s\n", e.Text, e.Kind, e.Cause)
		}
		for _, s := range want {
			if !strings.Contains(text.String(), s) {
				t.Errorf("%s has no %q", name, s)
			}
		}
	}
}

// testOrigin: a recording says where it comes from, is whole and small, and holds
// nothing of the machine that it was made on.
func testOrigin(t *testing.T, path string, rec *replay.Recording) {
	h := rec.Header
	if rec.Truncated || h.Tool == "" || h.Origin == "" || !strings.HasPrefix(h.Cluster.GitVersion, "v1.") || !h.Redaction.Secrets || h.Cluster.Server != "" {
		t.Errorf("truncated %t, header %+v", rec.Truncated, h)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 150_000 {
		t.Errorf("%v, %d bytes, want at most 150,000", err, info.Size())
	}
	for _, e := range rec.Entries {
		for _, s := range []string{"/root/", "/home/", "/tmp/", "Bearer "} {
			if strings.Contains(e.Text, s) || strings.Contains(string(e.Object), s) || e.B64 != "" {
				t.Errorf("at %v: it holds %q, or what is no text", e.At, s)
			}
		}
	}
}

// isGolden compares what was delivered with what the golden file says.
func isGolden(t *testing.T, path string, got string) {
	t.Helper()
	want, err := os.ReadFile(goldenOf(path))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("deltas (-recorded +replayed):\n%s", diff)
	}
}

// testSource: the events of the recording, delivered at their times; at each mark the
// informers have what ObjectsAt says.
func testSource(t *testing.T, path string, rec *replay.Recording) {
	synctest.Test(t, func(t *testing.T) {
		targets := rec.Streams()
		followers, stop := following(t.Context(), rec, func(n int) cache.Source[codec.Raw] {
			s, err := replay.NewSource[codec.Raw](rec, n, replay.SourceOptions{Hold: true})
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
		defer stop()
		start, first, marks := time.Now(), -1*time.Second, 0
		for _, e := range rec.Entries {
			if e.Kind == replay.KindStream && first < 0 {
				first = e.At
			}
			if e.Kind != replay.KindMark {
				continue
			}
			marks++
			pass(time.Until(start.Add(e.At - first)))
			var want []string
			for _, object := range rec.ObjectsAt(e.At) {
				want = append(want, string(object))
			}
			if diff := gocmp.Diff(want, stored(targets, followers)); diff != "" {
				t.Errorf("at %q (-ObjectsAt +informers):\n%s", e.Label, diff)
			}
		}
		if marks == 0 {
			t.Error("it has no marks")
		}
		pass(last(rec))
		stop()
		got := wording(rec, followers)
		if *update {
			if err := os.WriteFile(goldenOf(path), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		isGolden(t, path, got)
	})
}

// queue is a source of what it is given.
type queue chan replay.Delivery[codec.Raw]

func (q queue) Events(context.Context) iter.Seq2[watch.Event[codec.Raw], error] {
	return func(yield func(watch.Event[codec.Raw], error) bool) {
		for d := range q {
			if !yield(d.Event, d.Err) {
				return
			}
		}
	}
}

// testFast: all streams at once, without waiting, in the order of their times;
// the trace reports each 410.
func testFast(t *testing.T, path string, rec *replay.Recording) {
	synctest.Test(t, func(t *testing.T) {
		queues := make([]queue, len(rec.Streams()))
		for n := range queues {
			queues[n] = make(queue)
		}
		followers, stop := following(t.Context(), rec, func(n int) cache.Source[codec.Raw] { return queues[n] })
		defer stop()
		pass(last(rec)) // all of them have begun
		gone := 0
		trace := func(int) watch.Trace {
			return watch.Trace{Interrupted: func(i watch.Interruption) {
				if errors.Is(i.Err, kube.ErrGone) && i.Op != watch.OpList {
					gone++
				}
			}}
		}
		var marks []string
		for d := range replay.All[codec.Raw](t.Context(), rec, replay.Pace{Fast: true}, trace) {
			if d.Stream < 0 {
				marks = append(marks, d.Mark)
				continue
			}
			queues[d.Stream] <- d
		}
		for _, q := range queues {
			close(q)
		}
		synctest.Wait()
		got := wording(rec, followers)
		isGolden(t, path, got)
		if want := strings.Count(got, " because of 410 "); gone != want {
			t.Errorf("the trace reported 410 %d times, the events %d times", gone, want)
		}
		var want []string
		for _, e := range rec.Entries {
			if e.Kind == replay.KindMark {
				want = append(want, e.Label)
			}
		}
		if diff := gocmp.Diff(want, marks); diff != "" {
			t.Errorf("marks (-recorded +got):\n%s", diff)
		}
	})
}

// testState: a server that goes through the states yields the same changes. It
// gives revisions of its own where several collections were listed at different
// times, and never loses its history.
func testState(t *testing.T, path string, rec *replay.Recording) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		state, err := replay.NewState(t.Context(), rec, srv)
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial})
		targets := rec.Streams()
		followers, stop := following(t.Context(), rec, func(n int) cache.Source[codec.Raw] {
			return watch.New(client.Of[codec.Raw](c, targets[n].Resource).In(targets[n].Namespace), watch.Options{})
		})
		defer stop()
		pass(last(rec)) // all of them have begun
		if err := state.Play(t.Context(), replay.Pace{}); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute) // whose resource was gone looks again after a while, which is by chance
		stop()
		golden, err := os.ReadFile(goldenOf(path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(changes(string(golden)), changes(wording(rec, followers))); diff != "" {
			t.Errorf("changes of each object (-recorded +served):\n%s", diff)
		}
	})
}

// changes returns what happened to each object, without how it was learnt. Of a
// definition, changes in a row are one: the server that plays writes its status
// too, as any that serves it.
func changes(text string) map[string][]string {
	out, stream := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case words[0] == "#":
			stream = words[1]
		case words[0] != "RESTART" && words[0] != "SYNCED":
			key := stream + " " + words[1]
			out[key] = append(out[key], words[0])
		}
	}
	for key := range out {
		if strings.HasPrefix(key, kube.CustomResourceDefinitions.String()+" ") {
			out[key] = slices.Compact(out[key])
		}
	}
	return out
}
