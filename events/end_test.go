package events_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/events"
)

func TestRecorderWritesWhatWaitsAtTheEnd(t *testing.T) {
	prepare(t, apitest.Options{}, events.Options{}, func(s *story) {
		s.srv.On(apitest.Match{}, faults.Delay(time.Second))
		for i := range 3 {
			s.emit("Synced", fmt.Sprint(i))
		}
		s.start()
		if d := s.end(); d != 3*time.Second {
			t.Errorf("it took %v, want 3 s", d)
		}
		s.has(recorded{"0", 1}, recorded{"1", 1}, recorded{"2", 1})
		s.emit("Synced", "late")
		s.counts(events.Stats{Recorded: 4, Written: 3, Late: 1})
		s.logged()
	})
}

func TestRecorderTakesEventsWhileItEnds(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.srv.On(apitest.Match{}, faults.Delay(time.Second))
		s.emit("Synced", "before")
		s.pass(0)
		s.stop(errStop)
		s.pass(time.Second / 2)
		s.emit("Synced", "after")
		<-s.done
		s.has(recorded{"before", 1}, recorded{"after", 1})
	})
}

func TestRecorderEndsAtOnceWhereNothingWaits(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.emit("Synced", "done")
		s.pass(time.Second)
		if d := s.end(); d != 0 {
			t.Errorf("it took %v", d)
		}
	})
}

func TestRecorderGivesUpAfterTheGracePeriod(t *testing.T) {
	for _, c := range []struct {
		name  string
		grace time.Duration
		door  apitest.Door
		want  time.Duration
	}{
		{"a silent server", 0, apitest.Hanging, 5 * time.Second},
		{"no server", 0, apitest.Refusing, 5 * time.Second},
		{"its own", 7500 * time.Millisecond, apitest.Refusing, 7500 * time.Millisecond},
		{"none", -1, apitest.Hanging, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, events.Options{Grace: c.grace}, func(s *story) {
				s.door(c.door)
				for i := range 3 {
					s.emit("Synced", fmt.Sprint(i))
				}
				s.pass(12 * time.Second)
				s.log.Reset()
				if d := s.end(); d != c.want {
					t.Errorf("it took %v, want %v", d, c.want)
				}
				s.counts(events.Stats{Recorded: 3, Late: 3})
				s.logged(`msg="events dropped: not written before the end" dropped=3`)
			})
		})
	}
}

// TestRecorderTriesAgainAtTheEnd: at once, and every second.
func TestRecorderTriesAgainAtTheEnd(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.door(apitest.Refusing)
		s.emit("Synced", "one")
		s.pass(15 * time.Second) // amid a pause of 10 s
		s.stop(errStop)
		s.pass(2500 * time.Millisecond)
		s.door(apitest.Open)
		s.pass(500 * time.Millisecond)
		<-s.done
		s.has(recorded{"one", 1})
		s.counts(events.Stats{Recorded: 1, Written: 1})
	})
}

func TestRecorderWritesWhatWaitsThoughItsContextIsDone(t *testing.T) {
	prepare(t, apitest.Options{}, events.Options{}, func(s *story) {
		s.emit("Synced", "one")
		s.start()
		s.stop(errStop)
		<-s.done
		s.has(recorded{"one", 1})
	})
}
