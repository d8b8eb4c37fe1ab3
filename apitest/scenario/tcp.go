package scenario

import (
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
)

// tcp returns the scenarios about connections.
func tcp() []Scenario {
	everything, lists := apitest.Match{}, apitest.Match{Verb: "list"}
	return []Scenario{
		{
			Name: "tcp/reset", Layer: "tcp", Limit: 45 * time.Second,
			Summary: "The connection of a watch is reset between two events.",
			Correct: "Watches again within 30 s from the last event it took, without a list.",
			steps: []step{follows(30 * time.Second), put("a"), exactly(), strike("every watch is reset", func(s *stage) { s.srv.DropWatches() }),
				put("b"), resumes(30 * time.Second), proof()},
		},
		{
			Name: "tcp/closed", Layer: "tcp", Limit: 45 * time.Second,
			Summary: "The connection is closed in mid-stream: the body has no end.",
			Correct: "Watches again within 30 s from the last event it took, without a list.",
			steps: []step{follows(30 * time.Second), arm("the connection is closed", faults.Hangup()), strikeAfter("a"),
				put("b"), resumes(30 * time.Second), proof()},
		},
		{
			Name: "tcp/refused", Layer: "tcp", Limit: 90 * time.Second,
			Summary: "The server is down for 8 s and refuses connections. Meanwhile an object is deleted, and another recreated under its name.",
			Correct: "Keeps trying, and resumes its watch within 45 s of the server's return, without a list.",
			steps: []step{follows(30 * time.Second), put("a"), strike("connections are refused", shut), act("", func(s *stage) {
				s.remove("object-0000")
				s.remove("object-0001")
				s.put("object-0001", "again")
			}), pause(8 * time.Second), act("the server is back", open), resumes(45 * time.Second), proof()},
		},
		{
			Name: "tcp/unanswered", Layer: "tcp", Limit: 110 * time.Second,
			Summary: "A LIST is never answered, on a connection that stays open.",
			Correct: "Gives up waiting, and lists again, within 75 s.",
			before:  []step{on(apitest.Match{Verb: "watch", Query: "sendInitialEvents"}, faults.RejectInitialEvents(), 0), on(lists, faults.Hang(), 1)},
			steps:   []step{asked(30*time.Second, "there was no LIST", kindList), asks(75*time.Second, 2, "second LIST: it waits for ever", kindList), follows(20 * time.Second)},
		},
		{
			Name: "tcp/half-open", Layer: "tcp", Limit: 290 * time.Second,
			Summary: "The peer of a watch dies without a word: nothing arrives any more, and nothing is refused.",
			Correct: "Notices the silence, since a server sends a bookmark every minute, and watches again within 4 minutes.",
			steps: []step{follows(30 * time.Second), arm("the connection goes dead", faults.HalfOpen()), strikeAfter("a"),
				put("b"), recovers(4 * time.Minute), proof()},
		},
		{
			Name: "tcp/half-open-http2", Layer: "tcp", TLS: true, Limit: 120 * time.Second,
			Summary: "As tcp/half-open, over HTTP/2.",
			Correct: "Sends pings, and watches again over another connection within 75 s.",
			steps: []step{follows(30 * time.Second), arm("the connection goes dead", faults.HalfOpen()), strikeAfter("a"),
				put("b"), recovers(75 * time.Second), proof()},
		},
		{
			Name: "tcp/slow-line", Layer: "tcp", Limit: 60 * time.Second,
			Summary: "The line carries 200 bytes a second.",
			Correct: "Has patience with what keeps coming, and asks for the collection once.",
			before:  []step{on(everything, faults.Trickle(10, 50*time.Millisecond), 0)},
			steps:   []step{asked(30*time.Second, "there was no request", kindList, kindStream, kindInitial), once(20 * time.Second), follows(30 * time.Second)},
		},
		{
			Name: "tcp/go-away", Layer: "tcp", TLS: true, Limit: 45 * time.Second,
			Summary: "The server sends GOAWAY on each HTTP/2 connection, as it does to spread its load.",
			Correct: "Reads on; the next watch goes over a new connection, from the last event, without a list.",
			before:  []step{on(everything, faults.GoAway(), 0)},
			steps:   []step{follows(30 * time.Second), put("a"), exactly(), strike("the watch ends", func(s *stage) { s.srv.CloseWatches() }), resumes(20 * time.Second), proof()},
		},
		{
			Name: "tcp/stream-reset", Layer: "tcp", TLS: true, Limit: 45 * time.Second,
			Summary: "The HTTP/2 stream of a watch is reset (RST_STREAM), its connection stays.",
			Correct: "Watches again within 30 s from the last event it took, without a list.",
			steps: []step{follows(30 * time.Second), arm("the stream is reset", faults.Hangup()), strikeAfter("a"),
				put("b"), resumes(30 * time.Second), proof()},
		},
	}
}
