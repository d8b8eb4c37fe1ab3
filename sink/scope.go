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

// Mode selects what a sink stores.
type Mode string

// Values of Mode.
const (
	ModeBoth    Mode = ""        // the table and the history
	ModeTable   Mode = "table"   // the table, and of the history only GAP and QUARANTINED records
	ModeHistory Mode = "history" // the history, and a table whose rows have no object
)

// Scope is the set of objects of one position: a selection of one resource of one cluster, or
// a shard of it.
type Scope struct {
	// Cluster is a permanent name of the cluster. Use the UID of the namespace kube-system
	// (cache.ClusterID), not the name of a context, which may change.
	Cluster string

	// Resource is the watched resource. Group and Plural identify it; Version is that of
	// the stored objects, and may change.
	Resource kube.Resource

	// These fields are the selection. A sink refuses another selection for the same table
	// unless Rescope is set. Namespace "" selects all namespaces. Labels and Fields are
	// selectors for the server. Where and Project identify Options.Where and Options.Project.
	Namespace string
	Labels    string
	Fields    string
	Where     string
	Project   string

	// Shard is a number from 0 to Shards-1; see ShardOf. Shards is the number of shards, 0 = 1.
	// It is fixed when the table is created; see Resharder.
	Shard  int
	Shards int

	Mode Mode

	// Rescope replaces the selection of the table by this one: the epoch is increased, the
	// collection is listed, and objects that are no longer selected get a LEFT record.
	Rescope bool

	// Release is set by Pause, Resume and Backfill: a Runner fenced by their Open may open
	// the scope again. See Control.
	Release bool
}

// Opened returns the Control that Open stores in place of c.
func (s Scope) Opened(c Control) Control {
	switch {
	case c == Paused:
		return Paused
	case s.Release:
		return Released
	}
	return ""
}

// Count returns the number of shards, at least 1.
func (s Scope) Count() int { return max(1, s.Shards) }

// Selection returns the selection as text, which is equal for two scopes if and only if their
// selections and modes are equal.
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

// Select sets the selection from a text that Selection returned.
func (s *Scope) Select(text string) error {
	var l selection
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return fmt.Errorf("read a stored selection: %w", err)
	}
	s.Namespace, s.Labels, s.Fields, s.Where, s.Project, s.Mode = l.Namespace, l.Labels, l.Fields, l.Where, l.Project, l.Mode
	return nil
}

// String returns a name for people, such as "deployments.apps" or "pods shard 1 of 3".
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

// Position is the progress of a sink in a scope.
type Position struct {
	Scope Scope

	// Revision is the revision from which to watch: the sink has all changes up to it. It is
	// empty until the first list is complete. In phase LOADING the history is complete up
	// to it, and the collection must be listed again.
	Revision kube.Revision

	// Generation counts the calls of Open, and Sequence the commits. See Sink.
	Generation int64
	Sequence   int64

	// Epoch is increased by each list that begins after the server was restored to an earlier
	// state, until one is complete; by a Backfill; when the table is written again for another
	// selection; by a Reshard unless all shards are complete at one revision; when package
	// cloudevents has to post all objects again; and when a resource is served again after Drop. It
	// is part of each record's ID.
	Epoch int64

	Phase Phase
	Cause string // in phase LOADING, why the collection is listed again; empty for the first list

	Time time.Time // of the commit, by the Runner's clock

	Control Control
}

// Control is a request of Pause, Resume, Backfill or Reshard to the Runners of a scope.
type Control string

// Values of Control.
const (
	Paused   Control = "paused"   // no Runner commits to the scope
	Released Control = "released" // a Runner that was fenced may open the scope; a Runner's Open resets it

	// Resharding means that Reshard has begun and has not ended. Open refuses the scope until
	// a Reshard has succeeded.
	Resharding Control = "resharding"

	// PausedResharding is Resharding of a scope that was, and stays, paused.
	PausedResharding Control = "paused, resharding"
)

// Unfinished reports whether c is of a Reshard that has not ended.
func (c Control) Unfinished() bool { return c == Resharding || c == PausedResharding }

// Held is an object in the table of a sink.
type Held struct {
	Key      kube.Key
	UID      string
	Revision kube.Revision
	Epoch    int64 // of the last record of the object
}

// Known iterates over the objects of a scope in the table of a sink, in any order, as of the
// last commit before the iteration. For a shard it yields only that shard's objects. It may be
// called again. An error is the last element. The caller must not commit to the scope during
// the iteration.
type Known func(ctx context.Context) iter.Seq2[Held, error]

// Sink is a system to which records are committed. A sink serves many scopes at a time. A
// Runner makes one call at a time; another Runner, or Pause, may open the scope meanwhile.
//
// The sinks of this module pass the suite of package sinktest.
type Sink interface {
	// Open takes over a scope and returns its position. It increments the generation by a
	// compare-and-swap, so that every Commit of the previous owner fails. A new scope gets a
	// position with phase LOADING, epoch 1, generation 1 and no revision. ctx limits Open only.
	//
	// Open fails with ErrRefused if the scope contradicts the stored position: another
	// selection without Scope.Rescope, another number of shards, a Reshard that has not
	// ended, a schema of a later version. With Rescope the sink stores the new selection,
	// increments the epoch, sets Phase to LOADING, and sets Cause to CauseRescoped unless Cause is
	// CauseRestored; if the selection is equal, Rescope has no effect. Control becomes what
	// Scope.Opened returns.
	// After any other error Open may be called again.
	Open(ctx context.Context, s Scope) (Position, Known, error)

	// Commit writes records to the table and the history, in their order, and p as the
	// position of p.Scope, atomically and durably. It succeeds only if the stored position
	// has p's generation, and p's sequence minus one.
	//
	// ErrFenced means that the stored position was another one, and that nothing was
	// written. After any other error it is unknown whether the commit happened: the caller
	// opens the scope again and continues from the position that Open returns. It never
	// sends the same batch again.
	//
	// A record that the system cannot store is not an error: the sink stores it as
	// QUARANTINED, with the reason.
	Commit(ctx context.Context, records []Record, p Position) error
}

// Reader reads what a Sink has stored, for the commands status and verify and for tests.
type Reader interface {
	// Positions returns the positions of all scopes, sorted.
	Positions(ctx context.Context) ([]Position, error)

	// Rows iterates over the table of one resource, sorted by key; Version and Kind of r are
	// ignored. An error is the last element.
	Rows(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[Row, error]

	// Records iterates over the history of one resource in the order of the commits. An
	// error is the last element.
	Records(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[Record, error]

	// Gaps returns the GAP records of a resource in the order of the commits.
	Gaps(ctx context.Context, cluster string, r kube.Resource) ([]Record, error)
}

var (
	// ErrFenced means that another process has opened the scope since.
	ErrFenced = errors.New("fenced: another process has taken over this position")

	// ErrRefused means that the sink does not accept the scope, and that a retry cannot
	// succeed.
	ErrRefused = errors.New("refused by the sink")
)

// Resharder is a Sink that can change the number of shards of a table.
type Resharder interface {
	// Reshard divides the table of a resource into another number of shards, and takes over
	// all of them: the Runners of the old shards end, and new ones must use the new number. If
	// the old shards are at different revisions, the Runners of the new ones list the
	// collection, write each object again with the next epoch, and report a GAP. After an
	// error or a crash, either nothing has changed, or Open refuses the resource until a
	// Reshard, to any number of shards, has succeeded.
	Reshard(ctx context.Context, cluster string, r kube.Resource, shards int) error
}

// Causes in a Position, and reasons of a GAP.
const (
	CauseExpired    = "the server no longer had the history"
	CauseRestored   = "the server was restored to an earlier state"
	CauseRescoped   = "the selection was changed"
	CauseNotServed  = "the server did not serve the resource"
	CauseDisorder   = "the server sent events out of their order"
	CauseResharded  = "the number of shards was changed"
	CauseBackfill   = "a backfill was requested"
	CauseReceiver   = "the records have another receiver"
	CauseUnreadable = "the server sent an event of an object that cannot be identified"
)
