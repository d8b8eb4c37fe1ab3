package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Mode says what a sink keeps.
type Mode string

// Values of Mode.
const (
	ModeBoth    Mode = ""        // the table and the history
	ModeTable   Mode = "table"   // the table; of the history GAP and QUARANTINED only
	ModeHistory Mode = "history" // the history; rows of the table have no object
)

// Scope is what one position covers: a selection of one resource of one cluster, or a
// shard of it.
type Scope struct {
	// Cluster names the cluster for ever: the UID of the namespace kube-system is the
	// custom, a context's name is not fit.
	Cluster string

	// Resource is what is watched. Group and Plural identify it; the Version is that
	// of the objects, and may change.
	Resource kube.Resource

	// The selection: a sink refuses another one for the same table, unless Rescope is
	// set. Namespace "" is all. Labels and Fields are selectors for the server. Where
	// and Project are the texts of Options.Where and Options.Project.
	Namespace string
	Labels    string
	Fields    string
	Where     string
	Project   string

	// Shard is one of 0 to Shards-1, Shards at least 1; 0 means 1. The number is fixed
	// when the table is made. See ShardOf.
	Shard  int
	Shards int

	Mode Mode

	// Rescope replaces the selection of the table by this one: the epoch is raised, the
	// collection is listed, and records of type LEFT say what is no longer selected.
	Rescope bool
}

// Count returns the number of shards, at least 1.
func (s Scope) Count() int { return max(1, s.Shards) }

// Selection returns the selection as text: that of two scopes is equal if and only if
// they select the same, in the same form.
func (s Scope) Selection() string {
	b, err := json.Marshal(selection{s.Namespace, s.Labels, s.Fields, s.Where, s.Project, s.Mode})
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}

type selection struct {
	Namespace string `json:"namespace,omitempty"`
	Labels    string `json:"labels,omitempty"`
	Fields    string `json:"fields,omitempty"`
	Where     string `json:"where,omitempty"`
	Project   string `json:"project,omitempty"`
	Mode      Mode   `json:"mode,omitempty"`
}

// Select sets the selection to what Selection returned.
func (s *Scope) Select(text string) error {
	var l selection
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return fmt.Errorf("read a stored selection: %w", err)
	}
	s.Namespace, s.Labels, s.Fields, s.Where, s.Project, s.Mode = l.Namespace, l.Labels, l.Fields, l.Where, l.Project, l.Mode
	return nil
}

// String names the scope for people: "deployments.apps" or "pods shard 1 of 3".
func (s Scope) String() string {
	if s.Count() == 1 {
		return s.Resource.GroupResource()
	}
	return fmt.Sprintf("%s shard %d of %d", s.Resource.GroupResource(), s.Shard, s.Count())
}

// check returns why the scope cannot be watched.
func (s Scope) check() error {
	switch {
	case s.Cluster == "":
		return errors.New("the scope has no cluster: set Scope.Cluster, such as the UID of the namespace kube-system")
	case s.Resource.Plural == "" || s.Resource.Version == "":
		return errors.New("the scope has no resource")
	case s.Shard < 0 || s.Shard >= s.Count():
		return fmt.Errorf("shard %d of %d: shards are counted from 0", s.Shard, s.Count())
	case s.Mode != ModeBoth && s.Mode != ModeTable && s.Mode != ModeHistory:
		return fmt.Errorf("mode %q: there are %q and %q, and both is empty", s.Mode, ModeTable, ModeHistory)
	}
	return nil
}

// Position says how far a sink has come with a scope.
type Position struct {
	Scope Scope

	// Revision is where to watch from: the sink holds all that happened up to it. Empty
	// until the first list is complete. In phase LOADING it is where the history ended
	// that was lost, and a watch from it would not help: list again.
	Revision kube.Revision

	// Generation counts the calls of Open, Sequence the commits. See Sink.
	Generation int64
	Sequence   int64

	// Epoch is raised when the server went back in time, and when the table is written
	// again for another selection. It is part of each record's id.
	Epoch int64

	Phase Phase
	Cause string // LOADING: why the history before is lost; empty for the first list

	Time time.Time // of the commit, by the clock of the Runner
}

// Held is an object that the table of a sink holds.
type Held struct {
	Key      kube.Key
	UID      string
	Revision kube.Revision
	Epoch    int64 // of the record that wrote it last
}

// Known iterates the objects that the table of a sink holds for a scope, in any order,
// as of the last commit when the iteration begins. It may be called again. Of a shard it
// yields that shard's objects only. An error is the last element. The caller commits
// nothing to the scope before the iteration has ended.
type Known func(ctx context.Context) iter.Seq2[Held, error]

// Sink is a system that records are committed to. A sink serves many scopes at once;
// the calls for one scope come one at a time.
//
// Sinks of this module pass the suite of package sinktest.
type Sink interface {
	// Open takes possession of a scope and returns where it stands. It adds one to the
	// generation, in one step (compare-and-swap), so that every Commit of the former
	// possessor fails. Of a scope that it has never seen it makes one in phase LOADING,
	// epoch 1, generation 1, without a revision. ctx bounds Open only.
	//
	// It fails with ErrRefused where the scope contradicts what the sink holds: another
	// selection without Scope.Rescope, another number of shards, a schema of a later
	// version. With Rescope the stored selection becomes that of the scope, epoch grows
	// by one, phase is LOADING and Cause is CauseRescoped; where the selection is equal
	// Rescope does nothing. After any other error Open may be called again.
	Open(ctx context.Context, s Scope) (Position, Known, error)

	// Commit writes records to the table and the history, in their order, and p as the
	// position of p.Scope: all of it or nothing, durably. It succeeds only where the
	// position that the sink holds has the generation of p and the sequence of p less
	// one.
	//
	// An error that is ErrFenced says that the position was another, and that nothing
	// was written. After any other error it is unknown whether the commit happened:
	// the caller opens the scope again and goes on from the position it finds. It never
	// sends the batch again.
	//
	// A record that the system cannot store is not an error: the sink stores it as
	// QUARANTINED, with the reason.
	Commit(ctx context.Context, records []Record, p Position) error
}

// Reader reads what a Sink holds: for status, verify and the tests.
type Reader interface {
	// Positions returns the positions of all scopes, ordered.
	Positions(ctx context.Context) ([]Position, error)

	// Rows iterates the table of one resource, ordered by key; Version and Kind of r do
	// not count. An error is the last element.
	Rows(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[Row, error]

	// Records iterates the history of one resource in the order of the commits. An error
	// is the last element.
	Records(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[Record, error]

	// Gaps returns the GAP records of a resource in the order of the commits.
	Gaps(ctx context.Context, cluster string, r kube.Resource) ([]Record, error)
}

var (
	// ErrFenced means that another process has opened the scope since.
	ErrFenced = errors.New("fenced: another process has taken over this position")

	// ErrRefused means that the sink cannot take the scope as it is, however often it
	// is asked.
	ErrRefused = errors.New("refused by the sink")
)

// Causes of a load, and reasons of a GAP.
const (
	CauseExpired    = "the server no longer had the history"
	CauseRestored   = "the server was restored to an earlier state"
	CauseRescoped   = "the selection was changed"
	CauseNotServed  = "the server did not serve the resource"
	CauseDisorder   = "the server sent events out of their order"
	CauseUnreadable = "the server sent an event of an object that cannot be identified"
)
