package scenario

import (
	"net/http"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
)

// frames returns the scenarios about watches whose bytes arrive in pieces, or are
// invalid.
func frames() []Scenario {
	const taken = "Takes the changes: when the watch ends, it goes on from the last."
	watches := apitest.Match{Verb: "watch"}
	end := strike("the watch ends", func(s *stage) { s.srv.CloseWatches() })
	// shaped sends changes in another form.
	shaped := func(name, summary string, h http.HandlerFunc) Scenario {
		return Scenario{
			Name: "frame/" + name, Layer: "frame", Limit: 100 * time.Second, Summary: summary, Correct: taken,
			steps: []step{follows(30 * time.Second), on(watches, h, 0), end, pause(2 * time.Second), put("a", "b", "c", "d", "e", "f"), has("f")},
		}
	}
	// spoilt sends invalid data between two changes.
	spoilt := func(name, summary string, h http.HandlerFunc) Scenario {
		return Scenario{
			Name: "frame/" + name, Layer: "frame", Limit: 100 * time.Second, Summary: summary,
			Correct: "Leaves it out, or watches or lists again with a pause; takes what comes after it.",
			steps: []step{follows(30 * time.Second), arm(summary, h), strikeAfter("a"), put("b"),
				calm(10, 10*time.Second), has("b")},
		}
	}
	return []Scenario{
		shaped("bytes", "Events come in chunks of one byte.", faults.Chop(1)),
		shaped("joined", "Three events come in one chunk.", faults.Coalesce(3)),
		shaped("split-runes", "Chunks end within characters and escapes.", faults.SplitRunes()),
		shaped("no-newline", "Events follow each other without a newline.", faults.NoNewline()),
		shaped("pretty", "Events are indented over many lines.", faults.Pretty()),
		shaped("blank-lines", "Events end in CRLF, with blank lines between them.", faults.CRLF()),
		{
			Name: "frame/huge", Layer: "frame", Limit: 100 * time.Second,
			Summary: "An object of 256 KiB changes.",
			Correct: "Takes the change: when the watch ends, it goes on from there.",
			steps: []step{follows(30 * time.Second), act("a large object", func(s *stage) { s.put("large", strings.Repeat("x", 256<<10)) }), pause(time.Second),
				has("large"), act("", func(s *stage) { s.remove("large") }), proof()},
		},
		{
			Name: "frame/cut", Layer: "frame", Limit: 60 * time.Second,
			Summary: "The connection is closed in the middle of an event, after its resourceVersion.",
			Correct: "Does not count that event: watches again within 30 s from the one before, without a list.",
			steps: []step{follows(30 * time.Second), arm("the next event is cut", faults.EachEvent(cutShort)), strikeAfter("a"),
				put("b"), resumes(30 * time.Second), proof()},
		},
		spoilt("garbage", "A line that is no JSON comes between two events.", faults.InvalidJSON()),
		spoilt("unknown-type", "An event of an unknown type comes between two others.", faults.UnknownType()),
		spoilt("null-object", "An event without an object comes between two others.", faults.NullObject()),
		spoilt("deep", "An event nests 100,000 arrays.", faults.Deep(100_000)),
		{
			Name: "frame/poison", Layer: "frame", Limit: 100 * time.Second,
			Summary: "An event holds an object whose labels are a list: no client can decode it.",
			Correct: "Does not stop, and does not hammer; takes what comes after it.",
			steps: []step{follows(30 * time.Second), arm("the next object does not decode", faults.ReplaceObject(
				`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","name":"b","resourceVersion":"1","labels":["no map"]}}`)),
				strikeAfter("a"), put("b"), calm(10, 10*time.Second), put("c"), has("c"), put("b"), has("b")},
		},
		{
			Name: "frame/garbage-again", Layer: "frame", Limit: 120 * time.Second,
			Summary: "For 20 s each watch brings a line that is no JSON before its first event.",
			Correct: "Does not hammer: at most 15 requests in 20 s; takes the change in the end.",
			steps: []step{follows(30 * time.Second), put("a"), on(watches, faults.InvalidJSON(), 0),
				end, pause(2 * time.Second), put("b"), calm(15, 20*time.Second), heal(), recovers(60 * time.Second), has("b")},
		},
	}
}

// cutShort sends an event without its last bytes, and closes the connection.
func cutShort(w http.ResponseWriter, event []byte) {
	w.Write(event[:len(event)*9/10])
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}
