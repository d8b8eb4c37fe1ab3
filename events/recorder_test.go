package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
)

func TestRecorderWritesWhatKubectlShows(t *testing.T) {
	play(t, events.Options{Host: "node-1"}, func(s *story) {
		at := time.Now().UTC()
		s.pass(1500 * time.Millisecond) // times on the wire have no fractions
		s.r.Eventf(events.About(kube.Pods, pod).Field("spec.containers{web}"), events.Warning, "BackOff", "waits %d s", 10)
		synctest.Wait()

		list, _ := s.srv.List(kube.Events)
		if len(list) != 1 {
			t.Fatalf("%d events, want 1", len(list))
		}
		var got map[string]any
		if err := json.Unmarshal(list[0], &got); err != nil {
			t.Fatal(err)
		}
		meta := got["metadata"].(map[string]any)
		delete(got, "metadata")
		want := map[string]any{
			"apiVersion": "v1", "kind": "Event",
			"involvedObject": map[string]any{"kind": "Pod", "apiVersion": "v1", "namespace": "shop", "name": "web-0",
				"uid": "u-0", "resourceVersion": "7", "fieldPath": "spec.containers{web}"},
			"type": "Warning", "reason": "BackOff", "message": "waits 10 s", "count": 1.0,
			"firstTimestamp": at.Add(time.Second).Format(time.RFC3339), "lastTimestamp": at.Add(time.Second).Format(time.RFC3339),
			"source":    map[string]any{"component": "test", "host": "node-1"},
			"eventTime": nil, "reportingComponent": "test", "reportingInstance": "node-1",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		name := fmt.Sprintf("web-0.%x", at.Add(1500*time.Millisecond).UnixNano())
		if meta["name"] != name || meta["namespace"] != "shop" {
			t.Errorf("it is %v in %v, want %s in shop", meta["name"], meta["namespace"], name)
		}
		s.asked("create 201")
		s.logged()
	})
}

func TestRecorderCountsWhatHappensAgain(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		begin := time.Now()
		s.emit("Synced", "done")
		s.pass(time.Minute)
		s.emit("Synced", "done")
		s.pass(time.Minute)
		changed := pod
		changed.ResourceVersion = "8"
		s.r.Eventf(events.About(kube.Pods, changed), events.Normal, "Synced", "done")
		s.has(recorded{"done", 3})
		if e := s.stored()[0]; !e.FirstTimestamp.Equal(begin) || !e.LastTimestamp.Equal(begin.Add(2*time.Minute)) {
			t.Errorf("from %v to %v, want two minutes from %v", e.FirstTimestamp, e.LastTimestamp, begin)
		}
		for _, r := range s.srv.Requests()[1:] {
			if got := r.Header.Get("Content-Type"); got != "application/strategic-merge-patch+json" {
				t.Errorf("a patch of type %q", got)
			}
		}
		s.asked("create 201", "patch 200", "patch 200")
		s.counts(events.Stats{Recorded: 3, Written: 3})
	})
}

// TestRecorderDistinguishesEvents: whatever differs makes another Event.
func TestRecorderDistinguishesEvents(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		about := events.About(kube.Pods, pod)
		other := about
		other.UID = "u-1" // of the same name
		s.r.Eventf(about, events.Normal, "Synced", "done")
		s.r.Eventf(other, events.Normal, "Synced", "done")
		s.r.Eventf(about.Field("spec"), events.Normal, "Synced", "done")
		s.r.Eventf(about, events.Warning, "Synced", "done")
		s.r.Eventf(about, events.Normal, "Other", "done")
		s.r.Eventf(about, events.Normal, "Synced", "other")
		s.has(recorded{"done", 1}, recorded{"done", 1}, recorded{"done", 1}, recorded{"done", 1}, recorded{"done", 1}, recorded{"other", 1})
	})
}

func TestRecorderTakesEventsBeforeItRuns(t *testing.T) {
	prepare(t, apitest.Options{}, events.Options{}, func(s *story) {
		s.emit("Synced", "one")
		s.emit("Synced", "two")
		s.emit("Synced", "one")
		s.counts(events.Stats{Recorded: 3, Waiting: 3})
		s.asked()
		s.start()
		s.has(recorded{"one", 2}, recorded{"two", 1})
		s.asked("create 201", "create 201")
	})
}

func TestRecorderPutsEventsOfClusterScopedObjectsIntoDefault(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.r.Eventf(events.About(kube.Nodes, kube.Partial{Meta: kube.Meta{Name: "n1", Namespace: "none", UID: "u"}}), events.Normal, "Ready", "up")
		synctest.Wait()
		e := s.stored()[0]
		want := events.Reference{Kind: "Node", Name: "n1", UID: "u", APIVersion: "v1"}
		if e.Metadata.Namespace != "default" || e.InvolvedObject != want {
			t.Errorf("it is in %q about %+v", e.Metadata.Namespace, e.InvolvedObject)
		}
	})
}

// typed has a UID as the objects of k8s.io/api have it.
type typed struct {
	Metadata struct {
		Name string `json:"name"`
		UID  uid    `json:"uid"`
	} `json:"metadata"`
}

type uid string

func (o *typed) GetNamespace() string       { return "" }
func (o *typed) GetName() string            { return o.Metadata.Name }
func (o *typed) GetResourceVersion() string { return "1" }
func (o *typed) GetUID() uid                { return o.Metadata.UID }

func TestAboutFindsTheUIDOfTypedObjects(t *testing.T) {
	o := &typed{}
	o.Metadata.Name, o.Metadata.UID = "a", "u"
	want := events.Reference{Kind: "Deployment", APIVersion: "apps/v1", Name: "a", UID: "u", ResourceVersion: "1"}
	if got := events.About(kube.Deployments, o); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestRecorderKeepsNoObjects: the name of a codec.Raw is a part of all of it.
func TestRecorderKeepsNoObjects(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		before := heap()
		for i := range 16 {
			o, err := codec.Decode[codec.Raw](fmt.Appendf(nil, `{"metadata":{"namespace":"shop","name":"a-%d","uid":"u","resourceVersion":"1"},"data":"%s"}`, i, strings.Repeat("x", 1<<18)))
			if err != nil {
				t.Fatal(err)
			}
			s.r.Eventf(events.About(kube.ConfigMaps, o), events.Normal, "Synced", "done")
		}
		synctest.Wait()
		if grown := heap() - before; grown > 2<<20 {
			t.Errorf("16 objects of 256 KiB: it keeps %d bytes", grown)
		}
		s.counts(events.Stats{Recorded: 16, Written: 16})
	})
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestRecorderClipsLongTexts(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.emit(strings.Repeat("R", 200), strings.Repeat("m", 2000))
		synctest.Wait()
		if e := s.stored()[0]; e.Message != strings.Repeat("m", 1021)+"..." || e.Reason != strings.Repeat("R", 125)+"..." {
			t.Errorf("got %d bytes of a reason, %d of a message", len(e.Reason), len(e.Message))
		}
	})
}

func TestRecorderTakesNoNonsense(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		about := events.About(kube.Pods, pod)
		s.r.Eventf(events.About(kube.Pods, nil), events.Normal, "Synced", "nil")
		s.r.Eventf(events.About(kube.Pods, (*kube.Partial)(nil)), events.Normal, "Synced", "a nil pointer")
		s.r.Eventf(events.About(kube.Pods, kube.Partial{}), events.Normal, "Synced", "no name")
		s.r.Eventf(events.Reference{Name: "a"}, events.Normal, "Synced", "no kind")
		s.r.Eventf(about, "normal", "Synced", "no type")
		s.r.Eventf(about, events.Normal, "", "no reason")
		s.asked()
		s.counts(events.Stats{Recorded: 6, Invalid: 6})
		line := "invalid event dropped"
		s.logged(line, line, line, line, line, line)
	})
}

func TestNilRecorderDoesNothing(t *testing.T) {
	var r *events.Recorder
	r.Eventf(events.About(kube.Pods, pod), events.Normal, "Synced", "done")
	if got := r.Stats(); got != (events.Stats{}) {
		t.Errorf("it counts %+v", got)
	}
	r.SetLogger(slog.Default())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	if err := r.Run(ctx); err != errStop {
		t.Errorf("Run: %v", err)
	}
}

func TestRecorderRunsOnce(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		if err := s.r.Run(s.t.Context()); err != events.ErrRunning {
			t.Errorf("got %v, want ErrRunning", err)
		}
	})
}

// TestRecorderNeverWaits: virtual time stands still while anything can run.
func TestRecorderNeverWaits(t *testing.T) {
	play(t, events.Options{Queue: 10}, func(s *story) {
		if err := s.srv.SetDoor(apitest.Hanging); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for i := range 1000 {
			s.emit("Synced", "done")
			s.r.Eventf(events.Reference{Kind: "Foo", Namespace: "shop", Name: fmt.Sprint(i)}, events.Normal, "Synced", "done")
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("2000 calls took %v", d)
		}
		synctest.Wait()
		if n := s.r.Stats(); n.Recorded != 2000 || n.Overflow < 1000-11 {
			t.Errorf("got %+v, want all but 10 dropped, and the one that is being written", n)
		}
	})
}

func TestRecorderDropsTheOldestWhereTheQueueIsFull(t *testing.T) {
	prepare(t, apitest.Options{}, events.Options{Queue: 3}, func(s *story) {
		for _, message := range []string{"a", "b", "b", "c", "d", "e"} { // b happened twice
			s.emit("Synced", message)
		}
		s.counts(events.Stats{Recorded: 6, Waiting: 3, Overflow: 3})
		s.logged() // whoever records does not wait for a log
		s.start()
		s.has(recorded{"c", 1}, recorded{"d", 1}, recorded{"e", 1})
		s.logged(`msg="events dropped: the queue was full" dropped=3`)
		s.emit("Synced", "b") // and that is not forgotten
		s.has(recorded{"b", 3}, recorded{"c", 1}, recorded{"d", 1}, recorded{"e", 1})
		s.logged()
	})
}

// TestRecorderForgetsWhatWasLongAgo: the Event that was not recorded for longest is new
// when it happens again.
func TestRecorderForgetsWhatWasLongAgo(t *testing.T) {
	play(t, events.Options{Keys: 2}, func(s *story) {
		for _, step := range []struct{ message, want string }{
			{"a", "create 201"}, {"b", "create 201"}, {"a", "patch 200"}, {"c", "create 201"}, {"a", "patch 200"}, {"b", "create 201"},
		} {
			s.emit("Synced", step.message)
			s.asked(step.want)
		}
	})
}
