package monitor

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/watch"
)

// Phases of a stream, as --listen shows them.
const (
	phaseListing      = "listing"
	phaseSynced       = "synced"
	phaseReconnecting = "reconnecting"
	phaseStale        = "stale" // in any phase: the server was silent for too long
	phaseSkipped      = "skipped"
)

// State is the state of a running stream. A nil State keeps nothing. It is safe for
// concurrent use.
type State struct {
	target.Target
	began   time.Time
	contact func() time.Time // returns when the server last sent something
	size    func() int       // objects

	mu       sync.Mutex
	phase    string
	complete bool // the collection was reported once, or a watch began at a revision
	events   map[string]int64
	revision string // of the collection
	relists  int64
	breaks   int64
	failures int64
	skipped  string // why no requests are sent; empty = they are
	fine     bool   // to be skipped is no failure
	err      string // the last one
	failed   time.Time
	lost     lag // since when the collection is not watched
}

func newStreamState(t target.Target) *State {
	return &State{Target: t, began: time.Now(), phase: phaseListing, events: map[string]int64{}}
}

// Bind sets the functions that return what changes with every event.
func (s *State) Bind(contact func() time.Time, size func() int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contact, s.size = contact, size
}

// See updates the state with a record.
func (s *State) See(r *record.Record) {
	if s == nil || r.Say != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[r.Type]++
	s.skipped = ""
	switch r.Type {
	case string(watch.Synced):
		s.phase, s.complete, s.lost = phaseSynced, true, lag{}
	case record.RelistedType:
		s.phase, s.complete, s.lost = phaseSynced, true, lag{}
		s.relists++
	case record.DisconnectedType:
		s.phase = phaseReconnecting
		s.breaks++
		s.lose(r.Time, "connection lost")
	case record.ReconnectedType:
		if s.phase == phaseReconnecting && s.complete {
			s.phase = phaseSynced
		}
	case record.ErrorType, record.QuarantinedType:
		if d, ok := r.Detail.(record.ErrorDetail); ok {
			s.failures++
			s.err, s.failed = d.Error, r.Time
			if r.Type == record.ErrorType {
				s.lose(r.Time, reasonOf(d))
			}
		}
	}
	if rev := r.ID.ResourceVersion; rev != "" && !r.Initial && r.Synthetic == "" && r.Type != record.QuarantinedType {
		s.revision = rev
	}
}

// Skip notes that no further requests are sent, because of err. With fine this is expected
// and not a failure.
func (s *State) Skip(err error, fine bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped, s.fine = printable.Line(err.Error()), fine
}

// List notes that the collection is listed, perhaps again.
func (s *State) List() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase = phaseListing; s.lost.why != "" {
		s.lost.why = "listing again"
	}
}

// Connect notes the response to a request that stays open. A plain watch begins at a
// revision, so nothing is missing before it.
func (s *State) Connect(op watch.Op) {
	if s == nil || op != watch.OpWatch {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase, s.complete, s.lost = phaseSynced, true, lag{}
}

// reasonOf returns in a few words why a request failed.
func reasonOf(d record.ErrorDetail) string {
	switch {
	case d.Status == nil:
		return "no connection"
	case d.Status.Reason != "":
		return "the server reports " + printable.Line(d.Status.Reason)
	}
	return fmt.Sprintf("the server reports %d", d.Status.Code)
}

// streamView is a stream at one moment, as /debug/state prints it: nothing of any
// object.
type streamView struct {
	Cluster     string           `json:"cluster,omitempty"`
	Resource    string           `json:"resource"`
	Namespace   string           `json:"namespace,omitempty"`
	Name        string           `json:"name,omitempty"`
	State       string           `json:"state"`
	Ready       bool             `json:"ready"`
	Objects     int              `json:"objects"`
	Events      map[string]int64 `json:"events"`
	Revision    string           `json:"resourceVersion,omitempty"`
	Began       time.Time        `json:"began"`
	LastContact *time.Time       `json:"lastContact,omitempty"`
	Silence     float64          `json:"secondsSinceContact"`
	Relists     int64            `json:"relists"`
	Disconnects int64            `json:"disconnects"`
	Errors      int64            `json:"errors"`
	LastError   string           `json:"lastError,omitempty"`
	ErrorTime   *time.Time       `json:"lastErrorTime,omitempty"`

	complete bool
	silence  time.Duration
	reason   string // why it is not ready
}

// view returns the current state. Silence is counted from the start until the server
// first responds.
func (s *State) view(limit time.Duration) streamView {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := streamView{Cluster: s.Cluster, Resource: s.Resource.GroupResource(), Namespace: s.Namespace, Name: s.Name, complete: s.complete,
		State: s.phase, Events: maps.Clone(s.events), Revision: s.revision, Began: s.began.UTC(),
		Relists: s.relists, Disconnects: s.breaks, Errors: s.failures, LastError: s.err}
	if !s.failed.IsZero() {
		at := s.failed.UTC()
		v.ErrorTime = &at
	}
	if s.skipped != "" {
		v.State, v.Ready = phaseSkipped, s.fine
		if !s.fine {
			v.reason = "skipped: " + s.skipped
		}
		return v
	}
	last := s.began
	if s.contact != nil {
		v.Objects = s.size()
		if at := s.contact(); !at.IsZero() {
			last, at = at, at.UTC()
			v.LastContact = &at
		}
	}
	v.silence = max(0, time.Since(last))
	v.Silence = v.silence.Round(time.Millisecond).Seconds()
	switch {
	case v.silence >= limit:
		v.State = phaseStale
		v.reason = "no contact for " + printable.Rough(v.silence) + ", the limit is " + limit.String()
	case !s.complete:
		v.reason = "the first list is not complete"
	}
	if v.reason != "" && s.err != "" && !(s.complete && s.failed.Before(last)) {
		v.reason += "; last error: " + s.err
	}
	v.Ready = v.reason == ""
	return v
}
