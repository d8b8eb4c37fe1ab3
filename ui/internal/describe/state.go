package describe

import (
	"strings"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/ui/internal/diff"
	"github.com/listwatch/listwatch/ui/internal/history"
)

// State is a state as PROTOCOL.md has it.
type State struct {
	Pos      int64         `json:"pos"`
	At       int64         `json:"at"`
	Op       string        `json:"op"`
	By       string        `json:"by,omitempty"`
	Revision string        `json:"revision,omitempty"`
	Inferred bool          `json:"inferred,omitempty"`
	First    bool          `json:"first,omitempty"`
	Headline string        `json:"headline"`
	Changes  []diff.Change `json:"changes"`
	More     int           `json:"more,omitempty"`
	From     int64         `json:"from,omitempty"`
	To       int64         `json:"to,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Idle     bool          `json:"idle,omitempty"`
}

// maxDiffs is how many differences of a state are shown with it.
const maxDiffs = 8

// StateOf describes a state by the one before it, which may be nil.
func StateOf(t history.Text, before *history.Text) State {
	w := State{Pos: t.Pos, At: t.At, Op: t.Op.String(), By: t.By, Revision: t.Revision, Inferred: t.Inferred, First: t.First, Changes: []diff.Change{}}
	switch {
	case t.Op == history.Deleted:
		w.Headline = "Deleted"
	case t.First:
		w.Headline = "First seen"
	case t.Op == history.Added && before != nil:
		w.Headline = headline(diff.Again(before.JSON, t.JSON))
	case t.Op == history.Added:
		w.Headline = "Created"
	case before == nil:
		w.Headline = "Changed"
	}
	if before == nil {
		return w
	}
	changes, _, err := diff.Texts(before.JSON, t.JSON, 500)
	if err != nil {
		return w
	}
	if t.Op == history.Added {
		changes = diff.Wanted(changes)
	}
	if w.Headline == "" {
		w.Headline = headline(diff.Summary(changes))
	}
	all := len(changes)
	if changes = changes[:min(len(changes), maxDiffs)]; changes != nil {
		w.Changes = changes
	}
	w.More = all - len(w.Changes)
	return w
}

// headline is a summary without the names of what it only counts.
func headline(summary string) string {
	line, _, _ := strings.Cut(summary, diff.Rest)
	return printable.Cut(line, 200)
}
