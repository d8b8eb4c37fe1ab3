package events_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
)

func TestRecorderSurvivesAnOutage(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.emit("Synced", "before")
		synctest.Wait()
		s.door(apitest.Refusing)
		for range 5 {
			s.emit("Synced", "before")
			s.emit("Failed", "during")
			s.pass(6 * time.Second)
		}
		s.has(recorded{"before", 1})
		s.counts(events.Stats{Recorded: 11, Written: 1, Waiting: 10})
		s.srv.ForgetRequests()
		s.door(apitest.Open)
		s.pass(10 * time.Second)
		s.has(recorded{"before", 6}, recorded{"during", 5})
		s.asked("patch 200", "create 201")
		s.counts(events.Stats{Recorded: 11, Written: 11})
		s.logged(`msg="event not written, retrying" object="Pod shop/web-0" type=Normal reason=Synced err="patch`, "events are written again")
	})
}

// door changes what happens to connections, and cuts those that are there.
func (s *story) door(d apitest.Door) {
	s.t.Helper()
	if err := s.srv.SetDoor(d); err != nil {
		s.t.Fatal(err)
	}
	s.srv.Cut()
	synctest.Wait()
}

func TestRecorderKeepsTheOrder(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.door(apitest.Refusing)
		for i := range 8 {
			s.emit("Synced", fmt.Sprint("message-", i))
			s.pass(time.Second)
		}
		s.emit("Synced", "message-0") // keeps its place
		s.door(apitest.Open)
		s.pass(10 * time.Second)
		var got []string
		list, _ := s.srv.List(kube.Events)
		byName := make(map[string]string)
		for i, e := range s.stored() {
			byName[e.Metadata.Name] = e.Message
			if e.Message != fmt.Sprint("message-", i) {
				t.Errorf("%q is number %d by its first time", e.Message, i)
			}
		}
		for _, b := range list { // the names hold the time
			_, after, _ := strings.Cut(string(b), `"name":"web-0.`)
			name, _, _ := strings.Cut(after, `"`)
			got = append(got, byName["web-0."+name])
		}
		want := strings.Fields("message-0 message-1 message-2 message-3 message-4 message-5 message-6 message-7")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestRecorderTriesTwelveTimes: then the next has its turn.
func TestRecorderTriesTwelveTimes(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		down := s.srv.On(apitest.Match{Verb: "create"}, faults.Answer(&kube.Status{Code: 503, Reason: "ServiceUnavailable"}))
		begin := time.Now()
		s.emit("Synced", "one")
		s.emit("Synced", "two")
		s.pass(115 * time.Second)
		requests := s.srv.Requests()
		if len(requests) < 13 {
			t.Fatalf("%d requests, want 12 of the first event and more of the second", len(requests))
		}
		if first := requests[1].Start.Sub(begin); first <= 0 || first >= 10*time.Second {
			t.Errorf("the second try is after %v, want less than 10 s", first)
		}
		for i := 2; i < 12; i++ {
			if d := requests[i].Start.Sub(requests[i-1].Start); d != 10*time.Second {
				t.Errorf("try %d is %v after that before it, want 10 s", i+1, d)
			}
		}
		if d := requests[12].Start.Sub(requests[11].Start); d != 0 {
			t.Errorf("the second event waited %v more, want no pause", d)
		}
		s.counts(events.Stats{Recorded: 2, GivenUp: 1, Waiting: 1})
		s.logged("retrying", "event dropped after the last retry", "retrying")
		down.Remove()
		s.pass(10 * time.Second)
		s.has(recorded{"two", 1})
		s.emit("Synced", "one")
		s.has(recorded{"one", 2}, recorded{"two", 1})
	})
}

// TestRecorderTriesAgain: an answer that may be another one next time.
func TestRecorderTriesAgain(t *testing.T) {
	for name, fault := range map[string]http.HandlerFunc{
		"401":          faults.Answer(&kube.Status{Code: 401, Reason: "Unauthorized"}),
		"429":          faults.Throttle(""),
		"500":          faults.Answer(&kube.Status{Code: 500, Reason: "InternalError"}),
		"502":          faults.HTML(502),
		"504":          faults.Answer(&kube.Status{Code: 504, Reason: "Timeout"}),
		"reset":        faults.Reset(),
		"hangup":       faults.Hangup(),
		"a login page": faults.HTML(200),
	} {
		t.Run(name, func(t *testing.T) {
			play(t, events.Options{}, func(s *story) {
				s.srv.On(apitest.Match{Resource: "events"}, fault).Times(2)
				s.emit("Synced", "done")
				s.pass(20 * time.Second)
				s.has(recorded{"done", 1})
				s.counts(events.Stats{Recorded: 1, Written: 1})
				s.logged("retrying", "events are written again")
			})
		})
	}
}

// TestRecorderWaitsAsTheServerAsks: but not for ever.
func TestRecorderWaitsAsTheServerAsks(t *testing.T) {
	for after, want := range map[string]time.Duration{"30": 30 * time.Second, "86400": time.Minute} {
		play(t, events.Options{}, func(s *story) {
			s.srv.On(apitest.Match{}, faults.Throttle(after)).Times(1)
			s.emit("Synced", "done")
			s.pass(want - time.Second)
			s.has()
			s.pass(time.Second)
			s.has(recorded{"done", 1})
		})
	}
}

// TestRecorderIsNotHeldUpByOneEvent: where the server fails on one, such as by a
// webhook, others wait for seconds only.
func TestRecorderIsNotHeldUpByOneEvent(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.srv.On(apitest.Match{Namespace: "shop"}, faults.Answer(&kube.Status{Code: 500, Reason: "InternalError"}))
		s.emit("Synced", "broken")
		s.r.Eventf(events.Reference{Kind: "Foo", Namespace: "other", Name: "a"}, events.Normal, "Synced", "well")
		s.pass(20 * time.Second)
		s.has(recorded{"well", 1})
		s.asked("create 500", "create 500", "create 500", "create 201")
		s.counts(events.Stats{Recorded: 2, Written: 1, GivenUp: 1})
	})
}

func TestRecorderDropsWhatTheServerRefuses(t *testing.T) {
	for _, st := range []*kube.Status{
		{Code: 400, Reason: "BadRequest"}, {Code: 403, Reason: "Forbidden"}, {Code: 404, Reason: "NotFound"},
		{Code: 409, Reason: "AlreadyExists"}, {Code: 409, Reason: "Conflict"}, {Code: 413}, {Code: 422, Reason: "Invalid"},
	} {
		t.Run(fmt.Sprint(st.Code, st.Reason), func(t *testing.T) {
			play(t, events.Options{}, func(s *story) {
				s.srv.On(apitest.Match{}, faults.Answer(st)).Times(1)
				s.emit("Synced", "a secret")
				s.emit("Synced", "next")
				s.has(recorded{"next", 1})
				s.asked(fmt.Sprint("create ", st.Code), "create 201")
				s.counts(events.Stats{Recorded: 2, Written: 1, Refused: 1})
				if strings.Contains(s.log.String(), "a secret") {
					t.Error("the log has the message")
				}
				want := []string{`level=WARN msg="event refused" object="Pod shop/web-0" type=Normal reason=Synced err="create`}
				if st.Code == 403 {
					want = append(want, "events are written again")
				}
				s.logged(want...)
			})
		})
	}
}

func TestRecorderDropsEventsOfANamespaceThatIsBeingDeleted(t *testing.T) {
	prepare(t, apitest.Options{Namespaces: true}, events.Options{}, func(s *story) {
		s.srv.Put(kube.Namespaces, `{"metadata":{"name":"shop"},"spec":{"finalizers":["kubernetes"]}}`)
		s.srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"shop","name":"held","finalizers":["example.com/held"]}}`)
		if err := client.Of[kube.Partial](s.client, kube.Namespaces).Delete(s.t.Context(), kube.Key{Name: "shop"}, client.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.srv.ForgetRequests()
		s.start()
		s.emit("Synced", "late")
		s.pass(time.Minute)
		s.asked("create 403")
		s.counts(events.Stats{Recorded: 1, Refused: 1})
		s.logged(`level=DEBUG msg="event refused"`)
	})
}

func TestRecorderCreatesAgainWhatTheServerDeleted(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		begin := time.Now()
		s.emit("Synced", "done")
		s.pass(time.Hour)
		first := s.stored()[0]
		s.srv.Delete(kube.Events, kube.Key{Namespace: "shop", Name: first.Metadata.Name})
		s.emit("Synced", "done")
		s.has(recorded{"done", 2})
		s.emit("Synced", "done")
		s.has(recorded{"done", 3})
		s.asked("create 201", "patch 404", "create 201", "patch 200")
		if again := s.stored()[0]; !again.FirstTimestamp.Equal(begin) || again.Metadata.Name != first.Metadata.Name {
			t.Errorf("it is %s since %v, want %s since %v", again.Metadata.Name, again.FirstTimestamp, first.Metadata.Name, begin)
		}
	})
}

// TestRecorderFindsWhatALostAnswerSaid: the Event is there, though the answer to
// its creation never came.
func TestRecorderFindsWhatALostAnswerSaid(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.srv.On(apitest.Match{Verb: "create"}, faults.Truncate(10)).Times(1)
		s.emit("Synced", "done")
		synctest.Wait()
		s.emit("Synced", "done") // before the second try
		s.pass(10 * time.Second)
		s.has(recorded{"done", 2})
		s.asked("create 201", "create 409", "patch 200")
		s.counts(events.Stats{Recorded: 2, Written: 2})
		s.emit("Synced", "done")
		s.has(recorded{"done", 3})
		s.asked("patch 200")
	})
}

// TestRecorderRemembersALostAnswerAfterARefusal: the Event is there, and the server refused
// the second request to create it for another reason.
func TestRecorderRemembersALostAnswerAfterARefusal(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.srv.On(apitest.Match{Verb: "create"}, faults.Truncate(10)).Times(1)
		s.emit("Synced", "done")
		synctest.Wait()
		allow := s.srv.Deny("", apitest.Match{Resource: "events"})
		s.pass(20 * time.Second)
		allow()
		s.emit("Synced", "done")
		s.has(recorded{"done", 2})
		s.asked("create 201", "create 403", "create 409", "patch 200")
		s.counts(events.Stats{Recorded: 2, Written: 1, Refused: 1})
	})
}

func TestRecorderUpdatesTheMessageOfCombinedEventsOnly(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		s.emit("Synced", "one")
		synctest.Wait()
		// Somebody changed it; a patch of the count leaves it.
		name := s.stored()[0].Metadata.Name
		if _, err := client.Of[kube.Partial](s.client, kube.Events).Patch(s.t.Context(), kube.Key{Namespace: "shop", Name: name},
			client.MergePatch, `{"message":"other"}`); err != nil {
			t.Fatal(err)
		}
		s.emit("Synced", "one")
		s.has(recorded{"other", 2})
	})
}

// A missing right is one line, however many Events are refused.
func TestRecorderLogsAMissingRightOnce(t *testing.T) {
	play(t, events.Options{}, func(s *story) {
		forbid := s.srv.On(apitest.Match{}, faults.Answer(&kube.Status{Code: 403, Reason: "Forbidden"}))
		for n := range 20 {
			s.emit("Synced", fmt.Sprint(n))
		}
		s.pass(time.Minute)
		s.counts(events.Stats{Recorded: 20, Refused: 20})
		if warnings := strings.Count(s.log.String(), "level=WARN"); warnings != 1 {
			s.t.Errorf("%d warnings:\n%s", warnings, s.log.String())
		}
		forbid.Remove()
		s.emit("Synced", "again")
		s.pass(time.Second)
		if !strings.Contains(s.log.String(), `level=INFO msg="events are written again"`) {
			s.t.Errorf("log:\n%s", s.log.String())
		}
	})
}
