package events_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
)

func TestRecorderCombinesSimilarEvents(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		var want []recorded
		for i := range 9 {
			s.emit("Failed", fmt.Sprint("number ", i))
			want = append(want, recorded{fmt.Sprint("number ", i), 1})
		}
		s.has(want...)
		s.r.Eventf(events.About(kube.Pods, pod).Field("spec"), events.Normal, "Failed", "number 9")
		s.has(append(want, recorded{"(combined from similar events): number 9", 1})...)
		s.emit("Failed", "number 10")
		s.has(append(want, recorded{"(combined from similar events): number 10", 2})...)

		s.emit("Failed", "number 0") // has an Event of its own
		want[0].Count++
		s.emit("Other", "number 11")
		s.r.Eventf(events.About(kube.Pods, pod), events.Warning, "Failed", "number 11")
		s.r.Eventf(events.About(kube.Services, pod), events.Normal, "Failed", "number 11")
		want = append(want, recorded{"number 11", 1}, recorded{"number 11", 1}, recorded{"number 11", 1})
		s.has(append(want, recorded{"(combined from similar events): number 10", 2})...)
		for _, e := range s.stored() {
			if e.InvolvedObject.FieldPath != "" {
				t.Errorf("%q is about %q only", e.Message, e.InvolvedObject.FieldPath)
			}
		}
	})
}

// TestRecorderCombinesOnlyWhatFollowsSoon: ten quiet minutes, and messages count
// from one again.
func TestRecorderCombinesOnlyWhatFollowsSoon(t *testing.T) {
	for _, c := range []struct {
		pause time.Duration
		want  string
	}{
		{10 * time.Minute, "(combined from similar events): last"},
		{10*time.Minute + time.Nanosecond, "last"},
	} {
		play(t, events.Options{}, func(s *story) {
			for i := range 9 {
				s.emit("Failed", fmt.Sprint("number ", i))
				s.pass(5 * time.Minute)
			}
			s.emit("Failed", "number 8")
			s.pass(c.pause)
			s.emit("Failed", "last")
			synctest.Wait()
			all := s.stored()
			if got := all[len(all)-1].Message; got != c.want {
				t.Errorf("after %v: %q, want %q", c.pause, got, c.want)
			}
		})
	}
}

func TestRecorderLimitsEventsAboutOneObject(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		reasons := func(n int) {
			for i := range n {
				s.emit(fmt.Sprint("Reason", i), "same")
				synctest.Wait()
			}
		}
		reasons(30)
		s.counts(events.Stats{Recorded: 30, Written: 25, Filtered: 5})

		// Others are not concerned.
		s.r.Eventf(events.About(kube.Pods, pod), events.Warning, "Reason0", "same")
		s.r.Eventf(events.About(kube.Services, pod), events.Normal, "Reason0", "same")
		s.counts(events.Stats{Recorded: 32, Written: 27, Filtered: 5})

		s.pass(5*time.Minute - time.Second)
		s.emit("Reason0", "same")
		s.counts(events.Stats{Recorded: 33, Written: 27, Filtered: 6})
		s.pass(time.Second)
		s.srv.ForgetRequests()
		s.emit("Reason0", "same")
		s.emit("Reason1", "same")
		s.counts(events.Stats{Recorded: 35, Written: 28, Filtered: 7})
		s.asked("patch 200")
		if e := s.stored()[0]; e.Reason != "Reason0" || e.Count != 3 {
			t.Errorf("%s has count %d, want 3, with the one that was filtered", e.Reason, e.Count)
		}

		// What was only ever filtered is created with the next.
		s.pass(5 * time.Minute)
		s.srv.ForgetRequests()
		s.emit("Reason29", "same")
		s.asked("create 201")
		all := s.stored()
		last := all[len(all)-1]
		for _, e := range all {
			if e.Reason == "Reason29" {
				last = e
			}
		}
		if last.Count != 2 {
			t.Errorf("%s has count %d, want 2", last.Reason, last.Count)
		}
	})
}

// TestRecorderLimitsRequests: what waits for the same request costs nothing more.
func TestRecorderLimitsRequests(t *testing.T) {
	prepare(t, apitest.Options{}, events.Options{}, func(s *story) {
		for range 100 {
			s.emit("Synced", "done")
		}
		s.emit("Other", "done")
		s.start()
		s.counts(events.Stats{Recorded: 101, Written: 101})
		s.asked("create 201", "create 201")
	})
}

func TestRecorderFollowsItsLimits(t *testing.T) {
	play(t, events.Options{Burst: 2, Refill: time.Second}, func(s *story) {
		for range 4 {
			s.emit("Synced", "done")
			synctest.Wait()
		}
		s.counts(events.Stats{Recorded: 4, Written: 2, Filtered: 2})
		s.pass(time.Second)
		s.emit("Synced", "done")
		s.has(recorded{"done", 5})
	})
}
