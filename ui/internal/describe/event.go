package describe

import (
	"encoding/json"
	"time"

	"github.com/listwatch/listwatch/internal/printable"
)

// Event is an Event about an object, as PROTOCOL.md has it.
type Event struct {
	At      int64  `json:"at"`
	First   int64  `json:"first,omitempty"`
	Count   int64  `json:"count"`
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	From    string `json:"from,omitempty"`
	Gone    int64  `json:"gone,omitempty"` // when it was deleted
}

// EventOf reads an Event, and reports whether it is about an object of a kind.
func EventOf(text, kind, name, uid string) (Event, bool) {
	var e struct {
		InvolvedObject struct{ Kind, Name, UID string }
		Type           string
		Reason         string
		Message        string
		Count          int64
		First          time.Time `json:"firstTimestamp"`
		Last           time.Time `json:"lastTimestamp"`
		Time           time.Time `json:"eventTime"`
		Source         struct{ Component string }
		Reporting      string `json:"reportingComponent"`
		Series         struct {
			Count int64
			Last  time.Time `json:"lastObservedTime"`
		}
		Metadata struct {
			Created time.Time `json:"creationTimestamp"`
		}
	}
	// Fields of another form are left out: an Event with a broken time is one still.
	_ = json.Unmarshal([]byte(text), &e)
	o := e.InvolvedObject
	if o.Name != name || o.Kind != kind || o.UID != "" && uid != "" && o.UID != uid {
		return Event{}, false
	}
	at, first := e.Last, e.First
	for _, t := range []time.Time{e.Series.Last, e.Time, e.Metadata.Created} {
		if at.IsZero() {
			at = t
		}
		if first.IsZero() {
			first = t
		}
	}
	from := e.Source.Component
	if from == "" {
		from = e.Reporting
	}
	return Event{millis(at), millis(first), max(e.Count, e.Series.Count, 1), e.Type, e.Reason, printable.Cut(e.Message, 4<<10), from, 0}, true
}

// Within returns at, or, if that is a whole second, when it arrived in this second: that orders it
// among what happened before and after it.
func Within(at, arrived int64) int64 {
	if at%1000 == 0 && arrived/1000 == at/1000 {
		return arrived
	}
	return at
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Report says in a line what an Event says, by its cells: "Warning BackOff, pod/web: Back-off
// restarting failed container". It is empty if the columns are others.
func Report(cells map[string]string) string {
	if cells["Reason"] == "" {
		return ""
	}
	return cells["Type"] + " " + cells["Reason"] + ", " + cells["Object"] + ": " + cells["Message"]
}
