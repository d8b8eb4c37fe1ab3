package scenario

import (
	"context"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// watches returns the scenarios about watches that end, and where the next one begins.
func watches() []Scenario {
	all := apitest.Match{Verb: "watch"}
	end := strike("the watch ends", func(s *stage) { s.srv.CloseWatches() })
	return []Scenario{
		{
			Name: "watch/ends", Layer: "semantics", Limit: 60 * time.Second,
			Summary: "The server ends the watch in good order, three times, as it does every few minutes.",
			Correct: "Watches again within 10 s from the last event, without a list.",
			steps: []step{follows(30 * time.Second), put("a"), exactly(), end, resumes(10 * time.Second),
				put("b"), exactly(), end, put("c"), resumes(10 * time.Second), put("d"), exactly(), end, resumes(10 * time.Second), proof()},
		},
		{
			Name: "watch/ends-at-once", Layer: "semantics", Limit: 100 * time.Second,
			Summary: "For 20 s the server ends each watch as soon as it begins.",
			Correct: "Backs off: at most 20 requests; afterwards watches again within 60 s.",
			steps: []step{follows(30 * time.Second), on(all, faults.EndStream(), 0), end,
				calm(20, 20*time.Second), heal(), recovers(60 * time.Second), proof()},
		},
		{
			Name: "watch/error-500", Layer: "semantics", Limit: 60 * time.Second,
			Summary: "The stream ends with an ERROR event of code 500.",
			Correct: "Watches again within 30 s.",
			steps: []step{follows(30 * time.Second), arm("ERROR 500", faults.ErrorEvent(apitest.StatusInternal("etcdserver: request timed out"))), strikeAfter("a"),
				put("b"), recovers(30 * time.Second), proof()},
		},
		{
			Name: "watch/error-429", Layer: "semantics", Limit: 60 * time.Second,
			Summary: "The stream ends with an ERROR event of code 429.",
			Correct: "Watches again from the last event within 30 s, without a list: that would be more load.",
			steps: []step{follows(30 * time.Second), arm("ERROR 429", faults.ErrorEvent(apitest.StatusThrottled(2))), strikeAfter("a"),
				put("b"), resumes(30 * time.Second), proof()},
		},
		{
			Name: "watch/storage-read-error", Layer: "semantics", Limit: 60 * time.Second,
			Summary: "The stream ends with ERROR 500 StorageReadError: a corrupt object was deleted by force, which no event reports.",
			Correct: "Lists again, or streams the collection, within 30 s: to watch on would keep that object for ever.",
			steps: []step{follows(30 * time.Second), arm("ERROR StorageReadError", faults.ErrorEvent(&kube.Status{Code: 500, Reason: "StorageReadError",
				Message: "data from the storage is not transformable or its decoding failed"})), strikeAfter("a"), relists(30 * time.Second), proof()},
		},
		{
			Name: "bookmark/resumes", Layer: "semantics", Limit: 45 * time.Second,
			Summary: "Only other resources change. A bookmark comes, the history before it expires, and the watch ends.",
			Correct: "Has asked for bookmarks, and watches from the bookmark's revision, without a list.",
			steps: []step{follows(30 * time.Second), marks, ticks(50), act("a bookmark", func(s *stage) { s.srv.Bookmark() }), pause(settle), exactly(),
				strike("the history expires, and the watch ends", func(s *stage) {
					s.srv.Compact(s.srv.Revision())
					s.srv.CloseWatches()
				}), resumes(15 * time.Second), proof()},
		},
		{
			Name: "bookmark/goes-back", Layer: "semantics", Limit: 45 * time.Second,
			Summary: "A bookmark comes with an earlier revision than the event before it, and the history in between expires.",
			Correct: "Does not go back: watches from the event's revision, without a list.",
			steps: []step{follows(30 * time.Second), marks, ticks(50), arm("a bookmark of 20 revisions ago", faults.BookmarkBehind(20)), put("a"), exactly(),
				strike("the watch ends", func(s *stage) {
					s.srv.Compact(s.srv.Revision())
					s.srv.CloseWatches()
				}), resumes(15 * time.Second), proof()},
		},
		{
			Name: "bookmark/of-another-kind", Layer: "semantics", Limit: 45 * time.Second,
			Summary: "A bookmark comes for objects of another kind, with a revision that is far ahead.",
			Correct: "Does not take it for its own: watches from the last event, or lists the collection again.",
			steps: []step{follows(30 * time.Second), arm("a bookmark of another kind", faults.BookmarkOf("Other")), put("a"), end,
				recovers(15 * time.Second), proof()},
		},
	}
}

// marks fails if the watch does not request bookmarks.
func marks(_ context.Context, s *stage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.current.bookmarks {
		return failed("its watch does not ask for bookmarks (allowWatchBookmarks)")
	}
	return nil
}
