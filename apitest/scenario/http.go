package scenario

import (
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
)

// overHTTP returns the scenarios about responses that are not the requested ones.
func overHTTP() []Scenario {
	everything, watches, lists := apitest.Match{}, apitest.Match{Verb: "watch"}, apitest.Match{Verb: "list"}
	end := strike("the watch ends", func(s *stage) { s.srv.CloseWatches() })
	noStreams := on(apitest.Match{Verb: "watch", Query: "sendInitialEvents"}, faults.RejectInitialEvents(), 0)
	return []Scenario{
		{
			Name: "http/429-watch", Layer: "http", Limit: 60 * time.Second,
			Summary: "A watch is answered 429 with Retry-After: 5.",
			Correct: "Sends nothing for 5 s, and then watches from where it was, without a list.",
			steps: []step{follows(30 * time.Second), put("a"), on(watches, faults.Throttle("5"), 1), end,
				waits(5*time.Second, 429), resumes(30 * time.Second), proof()},
		},
		{
			Name: "http/429-first", Layer: "http", Limit: 60 * time.Second,
			Summary: "The first request for the collection is answered 429 with Retry-After: 4.",
			Correct: "Sends nothing for 4 s, and then asks again.",
			before:  []step{on(everything, faults.Throttle("4"), 1)},
			steps:   []step{asked(30*time.Second, "there was no request", kindList, kindStream, kindInitial), waits(4*time.Second, 429), follows(30 * time.Second)},
		},
		{
			Name: "http/429-date", Layer: "http", Limit: 60 * time.Second,
			Summary: "A watch is answered 429 with a Retry-After that is a date, 5 s ahead by the clock of the server, which is an hour slow.",
			Correct: "Takes the date relative to the answer's own Date: sends nothing for 4 s, and watches again within 40 s.",
			steps: []step{follows(30 * time.Second), on(watches, faults.Skew(-time.Hour), 1), on(watches, faults.ThrottleUntil(5*time.Second), 1), end,
				waits(4*time.Second, 429), recovers(40 * time.Second), proof()},
		},
		{
			Name: "http/429-bare", Layer: "http", Limit: 90 * time.Second,
			Summary: "Everything is answered 429, without Retry-After, for 12 s.",
			Correct: "Backs off: at most 10 requests; afterwards watches again within 60 s.",
			steps: []step{follows(30 * time.Second), on(everything, faults.Throttle(""), 0), end,
				calm(10, 12*time.Second), heal(), recovers(60 * time.Second), proof()},
		},
		{
			Name: "http/503-storm", Layer: "http", Limit: 100 * time.Second,
			Summary: "All connections break, and a proxy answers everything with 503 and HTML, for 15 s.",
			Correct: "Backs off: at most 15 requests; afterwards watches again within 60 s.",
			steps: []step{follows(30 * time.Second), on(everything, faults.HTML(503), 0), strike("503 for all", func(s *stage) { s.srv.Cut() }),
				calm(15, 15*time.Second), heal(), recovers(60 * time.Second), proof()},
		},
		{
			Name: "http/502-list", Layer: "http", Limit: 60 * time.Second,
			Summary: "The first two LISTs are answered with 502 and HTML.",
			Correct: "Lists again, and watches from the list's revision.",
			before:  []step{noStreams, on(lists, faults.HTML(502), 2)},
			steps:   []step{asked(30*time.Second, "there was no LIST", kindList), asks(40*time.Second, 3, "third LIST", kindList), follows(20 * time.Second), proof()},
		},
		{
			Name: "http/200-html", Layer: "http", Limit: 60 * time.Second,
			Summary: "A portal answers the first two requests with 200 and HTML.",
			Correct: "Does not take that for an empty collection: asks again.",
			before:  []step{on(everything, faults.HTML(200), 2)},
			steps:   []step{asked(30*time.Second, "there was no request", kindList, kindStream, kindInitial), follows(60 * time.Second), proof()},
		},
		{
			Name: "http/401-once", Layer: "http", Limit: 90 * time.Second,
			Summary: "A watch is answered 401, once, as while tokens are rotated.",
			Correct: "Reads its credentials again and watches from the same revision within 60 s, without a list.",
			steps: []step{follows(30 * time.Second), put("a"), exactly(), on(watches, faults.Answer(apitest.StatusUnauthorized()), 1), end,
				resumes(60 * time.Second), proof()},
		},
		{
			Name: "http/403-for-a-while", Layer: "http", Limit: 100 * time.Second,
			Summary: "Everything is forbidden for 15 s: somebody edits a role.",
			Correct: "Keeps trying, with pauses: at most 12 requests; afterwards watches again within 60 s.",
			steps: []step{follows(30 * time.Second), forbidden(), end,
				calm(12, 15*time.Second), heal(), recovers(60 * time.Second), proof()},
		},
		{
			Name: "http/500-once", Layer: "http", Limit: 45 * time.Second,
			Summary: "A watch is answered 500, once.",
			Correct: "Watches again within 30 s.",
			steps: []step{follows(30 * time.Second), put("a"), on(watches, faults.Answer(apitest.StatusInternal("etcdserver: leader changed")), 1), end,
				recovers(30 * time.Second), proof()},
		},
	}
}

// forbidden responds to everything with 403.
func forbidden() step {
	return act("", func(s *stage) {
		s.faults = append(s.faults, s.srv.On(apitest.Match{Resource: s.resource.GroupResource()},
			faults.Answer(apitest.StatusForbidden("system:anonymous", "watch", s.resource, ""))))
	})
}
