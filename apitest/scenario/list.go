package scenario

import (
	"context"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
)

// many objects do not fit in a page of usual clients.
const many = 600

// lists returns the scenarios about LIST: pages, revisions, and incomplete responses.
func lists() []Scenario {
	first, pages := apitest.Match{Verb: "list"}, apitest.Match{Verb: "list", Query: "continue="}
	noStreams := on(apitest.Match{Verb: "watch", Query: "sendInitialEvents"}, faults.RejectInitialEvents(), 0)
	listed := asked(30*time.Second, "there was no LIST", kindList)
	// Clients that list from revision 0 get no pages from a server's cache, but they
	// get pages for resources that are not cached, such as Events.
	uncached := on(apitest.Match{Verb: "list", Query: "limit="}, func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("resourceVersion") == "0" {
			q.Del("resourceVersion")
			r.URL.RawQuery = q.Encode()
		}
		apitest.Continue(w, r)
	}, 0)
	paged := asked(30*time.Second, "the client does not list in pages", kindPage)
	return []Scenario{
		{
			Name: "list/truncated", Layer: "http", Limit: 75 * time.Second,
			Summary: "The first two LISTs end before the Content-Length that was promised.",
			Correct: "Takes neither for the collection: lists again, and watches from that list's revision.",
			before:  []step{noStreams, on(first, faults.Truncate(300), 2)},
			steps:   []step{listed, asks(40*time.Second, 3, "third LIST, after two that were cut off", kindList), follows(20 * time.Second), proof()},
		},
		{
			Name: "list/truncated-gzip", Layer: "http", Limit: 75 * time.Second,
			Summary: "The first LIST is compressed, and half of it is there.",
			Correct: "Lists again.",
			before:  []step{noStreams, on(first, faults.TruncatedGzip(), 1)},
			steps:   []step{listed, asks(40*time.Second, 2, "second LIST, after one that was cut off", kindList), follows(20 * time.Second), proof()},
		},
		{
			Name: "list/metadata-last", Layer: "semantics", Limit: 60 * time.Second,
			Summary: "The metadata of a list comes after its items, and its revision is later than theirs.",
			Correct: "Watches from the list's revision, not from an item's.",
			before:  []step{noStreams, ticks(5), on(first, faults.MetadataLast(), 0)},
			steps:   []step{listed, follows(30 * time.Second), proof()},
		},
		{
			Name: "list/empty-page", Layer: "semantics", Limit: 60 * time.Second,
			Summary: "The first page of a list is empty, but has a continue token.",
			Correct: "Asks for the next page: a list ends where there is no token.",
			before:  []step{noStreams, on(first, faults.EmptyPage(), 1)},
			steps:   []step{listed, asks(20*time.Second, 1, "request with the token", kindPage), follows(20 * time.Second), proof()},
		},
		{
			Name: "list/page-expired", Layer: "semantics", Limit: 75 * time.Second, objects: many,
			Summary: "The second page is answered 410, with a token to go on inconsistently. Meanwhile an object of the first page was deleted.",
			Correct: "Goes on with that token and watches from the first page's revision, or lists again.",
			before:  []step{noStreams, uncached, removing(pages, faults.ExpireContinue())},
			steps:   []step{paged, follows(40 * time.Second), proof()},
		},
		{
			Name: "list/page-expired-for-good", Layer: "semantics", Limit: 75 * time.Second, objects: many,
			Summary: "The second page is answered 410, without a token. Meanwhile an object of the first page was deleted.",
			Correct: "Lists again, to the end, and keeps nothing of the first page.",
			before:  []step{noStreams, uncached, removing(pages, faults.ExpireContinueForGood())},
			steps:   []step{paged, follows(40 * time.Second), proof()},
		},
		{
			Name: "list/pages-expire-always", Layer: "semantics", Limit: 75 * time.Second, objects: many,
			Summary: "Every second page is answered 410, without a token: the history is shorter than the list takes.",
			Correct: "Does not begin in pages for ever: lists without a limit, and watches, within 40 s.",
			before:  []step{noStreams, uncached, on(pages, faults.ExpireContinueForGood(), 0)},
			steps:   []step{paged, follows(40 * time.Second), proof()},
		},
		{
			Name: "list/compacted", Layer: "semantics", Limit: 75 * time.Second, objects: many,
			Summary: "The server compacts its history between two pages.",
			Correct: "Ends with a complete list, and a watch that the server takes.",
			before:  []step{noStreams, uncached, on(pages, faults.Forget(), 1)},
			steps:   []step{paged, follows(40 * time.Second), proof()},
		},
		{
			Name: "list/revision-moves", Layer: "semantics", Limit: 75 * time.Second, objects: many,
			Summary: "The pages after the first are of a later revision.",
			Correct: "Watches from the revision of the first page: what changed in between is in no page.",
			before:  []step{noStreams, uncached, on(pages, faults.ShiftRevision(3), 0)},
			steps:   []step{paged, follows(40 * time.Second)},
		},
	}
}

// removing is on for one request, before which the first object of the collection is
// deleted.
func removing(m apitest.Match, h http.HandlerFunc) step {
	return func(ctx context.Context, s *stage) error {
		return on(m, func(w http.ResponseWriter, r *http.Request) {
			s.remove("object-0000")
			h(w, r)
		}, 1)(ctx, s)
	}
}

// ticks writes n times to a resource without watches.
func ticks(n int) step {
	return act("", func(s *stage) {
		for range n {
			s.srv.Tick()
		}
	})
}
