package archive

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/kube"
)

// Ops of states.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
)

// State is one state of an object.
type State struct {
	At       int64 // when it arrived, in milliseconds since 1970
	Op       string
	Key      kube.Key
	UID      string
	Revision string
	By       string // who wrote it
	Cells    Row
	First    bool // the object existed when the segment began
	Inferred bool // found by comparing a list with the states before
	Object   compressed.Raw
}

// Column is one of the cells of a state.
type Column struct {
	Name string `json:"name"`
	Age  bool   `json:"age,omitempty"`
	Wide bool   `json:"wide,omitempty"`
}

// Gap is a time whose changes are not known one by one.
type Gap struct {
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Reason   string `json:"reason"`
	Idle     bool   `json:"idle,omitempty"` // the changes were taken later
	Added    int64  `json:"added,omitempty"`
	Modified int64  `json:"modified,omitempty"`
	Deleted  int64  `json:"deleted,omitempty"`
}

// Begin says that the states of a type begin again: Columns, where there are any, and
// those with First follow, and then Ready. It comes first: with it ends what is known of
// the time before.
type Begin struct {
	Reason string `json:"reason,omitempty"` // of not knowing what was before
}

// Entry is one of Begin, Ready, State, Columns, Gap and none of them, which says that
// there were no changes until At.
type Entry struct {
	Resource kube.Resource
	At       int64
	Begin    *Begin
	Ready    bool
	State    *State
	JSON     []byte // of State
	Columns  []Column
	Gap      *Gap
}

// head is a state without its object.
type head struct {
	At       int64    `json:"at"`
	Op       string   `json:"op"`
	NS       string   `json:"ns,omitempty"`
	Name     string   `json:"name"`
	UID      string   `json:"uid"`
	Revision string   `json:"rv,omitempty"`
	By       string   `json:"by,omitempty"`
	Cells    []string `json:"cells,omitempty"`
	First    bool     `json:"first,omitempty"`
	Inferred bool     `json:"inferred,omitempty"`
}

// text is a line with the head and one with the object. Equal states have equal texts.
func (s *State) text() ([]byte, error) {
	h := head{At: s.At, Op: s.Op, NS: s.Key.Namespace, Name: s.Key.Name, UID: s.UID, Revision: s.Revision, By: s.By, First: s.First, Inferred: s.Inferred}
	for _, c := range s.Cells.All() {
		h.Cells = append(h.Cells, c)
	}
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	o, err := s.Object.Raw()
	if err != nil {
		return nil, err
	}
	return append(append(b, '\n'), o.JSON()...), nil
}

var errText = errors.New("a record is no state")

// parse reads a text.
func parse(text []byte) (*State, []byte, error) {
	line, object, ok := bytes.Cut(text, []byte("\n"))
	var h head
	if !ok || json.Unmarshal(line, &h) != nil {
		return nil, nil, errText
	}
	s := &State{At: h.At, Op: h.Op, Key: kube.Key{Namespace: h.NS, Name: h.Name}, UID: h.UID, Revision: h.Revision, By: h.By, Cells: RowOf(h.Cells...), First: h.First, Inferred: h.Inferred}
	return s, object, nil
}
