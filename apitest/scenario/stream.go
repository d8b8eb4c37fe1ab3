package scenario

import (
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
)

// streamed returns the scenarios about initial objects within a watch
// (sendInitialEvents).
func streamed() []Scenario {
	streams := apitest.Match{Verb: "watch", Query: "sendInitialEvents"}
	among := streams // the initial objects
	among.AfterEvent = 2
	asksForIt := asked(30*time.Second, "the client does not use sendInitialEvents", kindStream)
	const list = "LIST: the client hangs"
	return []Scenario{
		{
			Name: "stream/refused", Layer: "semantics", Limit: 60 * time.Second,
			Summary: "sendInitialEvents is answered 422, as by a server without streaming lists.",
			Correct: "Lists instead, within 15 s.",
			before:  []step{on(streams, faults.RejectInitialEvents(), 0)},
			steps:   []step{asksForIt, asks(15*time.Second, 1, list, kindList), follows(20 * time.Second), proof()},
		},
		{
			Name: "stream/no-mark", Layer: "semantics", Limit: 100 * time.Second,
			Summary: "The initial objects are never followed by their mark.",
			Correct: "Does not wait for ever: lists within 60 s.",
			before:  []step{on(streams, faults.NoInitialEventsEnd(), 0)},
			steps:   []step{asksForIt, asks(60*time.Second, 1, list, kindList), follows(20 * time.Second), proof()},
		},
		{
			Name: "stream/ignored", Layer: "semantics", Limit: 100 * time.Second,
			Summary: "sendInitialEvents is ignored, as by an old server or a proxy.",
			Correct: "Does not wait for ever: lists within 60 s.",
			before:  []step{on(streams, faults.IgnoreInitialEvents(), 0)},
			steps:   []step{asksForIt, asks(60*time.Second, 1, list, kindList), follows(20 * time.Second), proof()},
		},
		{
			Name: "stream/broken", Layer: "semantics", Limit: 75 * time.Second,
			Summary: "The first two streams break off among the initial objects, which come in no order of revision. Meanwhile one of them is deleted.",
			Correct: "Asks for the whole collection again, never watches from the revision of one of them, and keeps nothing of the first stream.",
			before:  []step{removing(among, faults.Reset()), on(among, faults.Reset(), 1)},
			steps:   []step{asksForIt, follows(45 * time.Second), proof()},
		},
	}
}
