package replay_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// recorded is a watcher whose events are recorded.
type recorded struct {
	s *replay.Stream
	w *watch.Watcher[codec.RawFull]
}

func (r recorded) Events(ctx context.Context) seq { return replay.Record(r.s, r.w.Events(ctx)) }

// record runs a story of a watcher of configMaps in a bubble, and returns what
// the loop saw and its recording.
func record(t *testing.T, o replay.Options, wo watch.Options, story func(*apitest.Server)) (*eventLog, []byte) {
	t.Helper()
	srv := apitest.NewInMemory(t)
	for i := range 3 {
		srv.Put(kube.ConfigMaps, configMap(fmt.Sprint("a", i), "0"))
	}
	var f file
	w := newWriter(t, &f, o)
	s := w.Stream(replay.Target{Resource: kube.ConfigMaps})
	wo.Trace = s.Trace(wo.Trace)
	c := newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial, Timeout: 30 * time.Second})
	live := newLog(true)
	stop := watching(t.Context(), live, recorded{s, watch.New(configMaps(c), wo)})
	pass(time.Second)
	story(srv)
	stop()
	closed(t, w)
	return live, f.bytes()
}

// eventful is a story with changes, a broken watch, an object that is no object,
// and a loss of history in which one object goes and one is replaced.
func eventful(srv *apitest.Server) {
	churn(srv, "1")
	srv.On(apitest.Match{Verb: "watch"}, faults.Answer(apitest.StatusThrottled(3))).Times(1)
	srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, faults.ReplaceObject(`{"metadata":{"name":7}}`)).Times(1)
	srv.CutWatches()
	pass(2 * time.Minute)
	churn(srv, "2")
	srv.SetDoor(apitest.Refusing)
	srv.Cut()
	srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "d", Name: "a0"})
	srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "d", Name: "a1"})
	srv.Put(kube.ConfigMaps, configMap("a1", "reborn"))
	srv.Expire()
	pass(10 * time.Second)
	srv.SetDoor(apitest.Open)
	pass(time.Minute)
	churn(srv, "3")
}

// TestSourceDeliversWhatTheLoopReceived: byte for byte, and at the same times.
func TestSourceDeliversWhatTheLoopReceived(t *testing.T) {
	for _, o := range []watch.Options{{}, {Initial: watch.Paged, Limit: 2}} {
		for _, gz := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,gzip=%t", o.Initial, gz), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					live, b := record(t, replay.Options{Gzip: gz}, o, eventful)
					src, err := replay.NewSource[codec.RawFull](load(t, b), 0, replay.SourceOptions{Hold: true})
					if err != nil {
						t.Fatal(err)
					}
					again := newLog(true)
					stop := watching(t.Context(), again, src)
					pass(time.Hour)
					stop()
					if diff := cmp.Diff(live.all(), again.all()); diff != "" {
						t.Errorf("events (-live +replayed):\n%s", diff)
					}
					all := strings.Join(live.all(), "\n")
					for _, want := range []string{"RESTART", "SYNCED", "DELETED", "because", "error", "BOOKMARK", "managedFields"} {
						if !strings.Contains(all, want) {
							t.Errorf("the story has no %s:\n%s", want, all)
						}
					}
				})
			})
		}
	}
}

// kinds are the types of some events, with what else they say.
func kinds(events iter.Seq2[watch.Event[kube.Partial], error]) (out []string) {
	start := time.Now()
	for ev, err := range events {
		out = append(out, fmt.Sprintf("%v %s %s %v", time.Since(start), ev.Type, ev.Object.Name, err))
	}
	return out
}

const small = `{"t":"header","format":"lwrec","version":1,"timeBase":"2026-01-01T00:00:00Z"}
{"t":"stream","at":1000000000,"id":1,"target":{"version":"v1","plural":"pods","kind":"Pod","namespaced":true}}
{"t":"ev","at":2000000000,"id":1,"type":"RESTART"}
{"t":"ev","at":2000000000,"id":1,"type":"ADDED","rv":"5","object":{"metadata":{"namespace":"n","name":"a","resourceVersion":"5"}}}
{"t":"ev","at":4000000000,"id":1,"type":"SYNCED","rv":"6"}
{"t":"ev","at":8000000000,"id":1,"type":"MODIFIED","rv":"7","object":{"metadata":{"namespace":"n","name":"a","resourceVersion":"7","labels":7}}}
`

func TestSourceKeepsItsPace(t *testing.T) {
	want := func(times ...string) []string {
		return []string{
			times[0] + " RESTART  <nil>", times[1] + " ADDED a <nil>", times[2] + " SYNCED  <nil>",
			times[3] + ` MODIFIED  object "n/a" of 74 bytes: decode metadata.labels: number into map[string]string`,
			times[4] + "   the recording ends here: it was truncated",
		}
	}
	tests := []struct {
		name string
		pace replay.Pace
		want []string
	}{
		{"as recorded", replay.Pace{}, want("1s", "1s", "3s", "7s", "7s")},
		{"twice as fast", replay.Pace{Speed: 2}, want("500ms", "500ms", "1.5s", "3.5s", "3.5s")},
		{"half as fast", replay.Pace{Speed: 0.5}, want("2s", "2s", "6s", "14s", "14s")},
		{"at once", replay.Pace{Fast: true}, want("0s", "0s", "0s", "0s", "0s")},
		{"nonsense", replay.Pace{Speed: -1}, want("1s", "1s", "3s", "7s", "7s")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, err := replay.NewSource[kube.Partial](load(t, []byte(small)), 0, replay.SourceOptions{Pace: tt.pace})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, kinds(src.Events(t.Context()))); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestStepReleasesOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := &replay.Step{}
		src, err := replay.NewSource[codec.RawFull](load(t, []byte(small)), 0, replay.SourceOptions{Pace: replay.Pace{Step: step}})
		if err != nil {
			t.Fatal(err)
		}
		l := newLog(false)
		stop := watching(t.Context(), l, src)
		for n, want := range []int{0, 1, 2, 2, 5} {
			pass(time.Hour)
			if got := len(l.all()); got != want {
				t.Fatalf("step %d: got %d events, want %d", n, got, want)
			}
			step.Release([]int{1, 1, 0, 2, 0}[n])
		}
		stop()
		// Who stops waiting takes no release with it.
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		if diff := cmp.Diff([]string{"0s   enough"}, kinds(mustSource(t, step).Events(ctx))); diff != "" {
			t.Error(diff)
		}
		step.Release(4)
		got := kinds(mustSource(t, step).Events(t.Context()))
		if len(got) != 5 {
			t.Errorf("got %q", got)
		}
	})
}

func mustSource(t *testing.T, step *replay.Step) *replay.Source[kube.Partial] {
	t.Helper()
	src, err := replay.NewSource[kube.Partial](load(t, []byte(small)), 0, replay.SourceOptions{Pace: replay.Pace{Step: step}})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestRecordedErrorsAreWhatTheyWere: what a program asks of an error has the same
// answer in a replay.
func TestRecordedErrorsAreWhatTheyWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, b := record(t, replay.Options{}, watch.Options{Initial: watch.Paged}, func(srv *apitest.Server) {
			srv.On(apitest.Match{Verb: "watch"}, faults.Answer(apitest.StatusThrottled(3))).Times(1)
			srv.CloseWatches()
			pass(time.Minute)
			srv.On(apitest.Match{Verb: "watch"}, faults.Hang()).Times(1)
			srv.CutWatches()
			pass(time.Minute)
			srv.Expire()
			pass(time.Minute)
		})
		src, err := replay.NewSource[codec.RawFull](load(t, b), 0, replay.SourceOptions{Pace: replay.Pace{Fast: true}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for ev, err := range src.Events(t.Context()) {
			var i *watch.Interruption
			var st *kube.Status
			if errors.As(err, &i) && i.Op == watch.OpWatch && i.Wait > 0 {
				got["interruption"]++
			}
			if errors.As(err, &st) && st.RetryAfter == 3*time.Second {
				got["status"]++
			}
			for name, target := range map[string]error{"throttled": kube.ErrThrottled, "idle": client.ErrIdle, "end": replay.ErrEnd} {
				if errors.Is(err, target) {
					got[name]++
				}
			}
			if ev.Type == watch.Restart && errors.Is(ev.Cause, kube.ErrGone) {
				got["gone"]++
			}
		}
		want := map[string]int{"interruption": 4, "status": 1, "throttled": 1, "idle": 1, "end": 1, "gone": 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", diff, strings.Join(live.all(), "\n"))
		}
	})
}

// TestRecordKeepsErrorsOfOtherSources: one that the loop went on after is delivered
// again, one that ended it is not.
func TestRecordKeepsErrorsOfOtherSources(t *testing.T) {
	var f file
	w := newWriter(t, &f, replay.Options{})
	other := func(yield func(watch.Event[codec.RawFull], error) bool) {
		_ = yield(watch.Event[codec.RawFull]{}, errors.New("a failure")) &&
			yield(watch.Event[codec.RawFull]{Type: watch.Bookmark, Revision: "5"}, nil) &&
			yield(watch.Event[codec.RawFull]{}, errors.New("the end"))
	}
	for range replay.Record(w.Stream(replay.Target{Resource: kube.Pods}), other) {
	}
	closed(t, w)
	rec := load(t, f.bytes())
	src, err := replay.NewSource[codec.RawFull](rec, 0, replay.SourceOptions{Pace: replay.Pace{Fast: true}})
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(false)
	for ev, err := range src.Events(t.Context()) {
		l.add(ev, err)
	}
	if diff := cmp.Diff([]string{"     error a failure", "BOOKMARK   5 ", "     error the recording ends here"}, l.all()); diff != "" {
		t.Error(diff)
	}
	end := rec.Entries[len(rec.Entries)-1]
	if end.Kind != replay.KindEnd || end.Cause != replay.EndError || end.Failure.Text != "the end" {
		t.Errorf("%+v", end)
	}
}

// TestStateServesTheRecording: the fake server goes through the recorded states,
// deletions that the watcher only learnt from a new listing included.
func TestStateServesTheRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var truth [][]byte
		_, b := record(t, replay.Options{}, watch.Options{}, func(srv *apitest.Server) {
			eventful(srv)
			truth, _ = srv.List(kube.ConfigMaps)
		})
		rec := load(t, b)
		srv := apitest.NewInMemory(t)
		s, err := replay.NewState(t.Context(), rec, srv)
		if err != nil {
			t.Fatal(err)
		}
		began := srv.Revision()
		start := time.Now()
		if err := s.Play(t.Context(), replay.Pace{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < time.Minute {
			t.Errorf("it took %v", took)
		}
		got, _ := srv.List(kube.ConfigMaps)
		if diff := cmp.Diff(withoutRevision(t, truth), withoutRevision(t, got)); diff != "" {
			t.Errorf("objects (-recorded +served):\n%s", diff)
		}

		// A client watches from the beginning of the recording, though it is over.
		c := newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial})
		l := newLog(false)
		stop := watching(t.Context(), l, watch.New(configMaps(c), watch.Options{Revision: began}))
		pass(time.Second)
		stop()
		var changes []string
		for _, line := range l.all() {
			if f := strings.Fields(line); f[0] != "BOOKMARK" {
				changes = append(changes, f[0]+" "+f[1])
			}
		}
		want := []string{
			"ADDED d/a0", "ADDED d/a1", "ADDED d/a2", // delivered first
			"MODIFIED d/a0", "MODIFIED d/a1", "MODIFIED d/a2", "ADDED d/gone-1", "DELETED d/gone-1",
			"MODIFIED d/a1", "MODIFIED d/a2", "ADDED d/gone-2", "DELETED d/gone-2", // a0 was not readable
			"DELETED d/a1", "ADDED d/a1", "DELETED d/a0", // listed again
			"ADDED d/a0", "MODIFIED d/a1", "MODIFIED d/a2", "ADDED d/gone-3", "DELETED d/gone-3",
		}
		if diff := cmp.Diff(want, changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func withoutRevision(t *testing.T, objects [][]byte) []string {
	t.Helper()
	var out []string
	for _, b := range objects {
		m, err := codec.Decode[map[string]any](b)
		if err != nil {
			t.Fatal(err)
		}
		delete(m["metadata"].(map[string]any), "resourceVersion")
		out = append(out, fmt.Sprint(m))
	}
	return out
}

// TestStateServesOtherResources: those of the recording that the server has not
// heard of.
func TestStateServesOtherResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.NewReplacer(`"plural":"pods","kind":"Pod"`, `"group":"x.io","plural":"foos","kind":"Foo"`, `,"labels":7`, "").Replace(small)
		srv := apitest.NewInMemory(t)
		s, err := replay.NewState(t.Context(), load(t, []byte(text)), srv)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Play(t.Context(), replay.Pace{Fast: true}); err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), "GET", srv.URL+"/apis/x.io/v1/foos", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		meta, items := codec.Items(resp.Body, 0)
		n := 0
		for _, err := range items {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if meta.Kind != "FooList" || n != 1 {
			t.Errorf("%s of %d", meta.Kind, n)
		}
		if rev, ok := s.Revision("5"); !ok || rev == "" {
			t.Errorf("5 is %q", rev)
		}
	})
}

func TestObjectsAtATime(t *testing.T) {
	rec := load(t, []byte(strings.Replace(small, `,"labels":7`, "", 1)))
	for at, want := range map[time.Duration]string{
		0: "[]", 3 * time.Second: "[]", // the listing was not complete
		4 * time.Second: `[{"metadata":{"namespace":"n","name":"a","resourceVersion":"5"}}]`,
		time.Hour:       `[{"metadata":{"namespace":"n","name":"a","resourceVersion":"7"}}]`,
	} {
		if got := fmt.Sprintf("%s", rec.ObjectsAt(at)); got != want {
			t.Errorf("at %v: %s, want %s", at, got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var truth [][]byte
		_, b := record(t, replay.Options{}, watch.Options{}, func(srv *apitest.Server) {
			eventful(srv)
			truth, _ = srv.List(kube.ConfigMaps)
		})
		if diff := cmp.Diff(truth, load(t, b).ObjectsAt(time.Hour)); diff != "" {
			t.Error(diff)
		}
	})
}
