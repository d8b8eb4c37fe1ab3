package cache

import (
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Status is the state of an informer at one moment.
type Status struct {
	// Name is that of the informer, as [Informer.Name] returns it.
	Name string

	// Synced: everything that existed at the beginning is in the store, and Run
	// has not returned.
	Synced   bool
	Objects  int
	Revision kube.Revision

	// Bytes is how much memory the objects take, as counted for the budget; 0
	// where there is none.
	Bytes int64

	// Lag is the age of the event that handlers are processing, since it was
	// read from the server: later events wait behind it. 0 = no event waits.
	Lag time.Duration

	// Busy is the function name of the handler that is running, and BusySince is
	// when its call began; empty and zero while none is.
	Busy      string
	BusySince time.Time

	// Started is when Run was called; zero = it was not.
	Started time.Time

	// LastContact is when the server was last heard from, by the source that was
	// heard last the longest ago: the objects may be out of date since then. It
	// is Started for a source that was not heard from yet, and zero if Run was
	// not called or no source can say, as a custom [Source] cannot. A healthy
	// server is heard from about every minute.
	LastContact time.Time

	// MaxStaleness is the informer's; 0 = there is none.
	MaxStaleness time.Duration

	// Err joins what is wrong now: why Run returned, why the last request of a
	// source failed, and the objects that could not be decoded. nil = nothing.
	Err error

	// Ended is why Run returned; nil = it has not.
	Ended error
}

// ErrNotRunning is the reason of an informer whose Run was not called: it is
// often not added to a Manager.
var ErrNotRunning = errors.New("Run was not called")

// StaleError says that an informer has heard nothing from the server for longer
// than its Options.MaxStaleness. Its objects may be out of date.
type StaleError struct {
	Since time.Time     // of the last contact
	For   time.Duration // since then
	Max   time.Duration // Options.MaxStaleness
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("stale: not heard from the server for %s, since %s; the limit is %s",
		e.For.Round(time.Second), e.Since.UTC().Format(time.RFC3339), e.Max)
}

// Ready returns nil if the informer is synced, runs, and has heard from the server
// within its Options.MaxStaleness; otherwise why not: an error that wraps
// ErrNotRunning, the error of Run, a *StaleError or the error of the last
// request. Objects that could not be decoded do not count: see Status.Err. The
// error does not name the informer.
func (s Status) Ready() error {
	stale := s.stale()
	switch {
	case s.Ended != nil:
		return fmt.Errorf("ended: %w", s.Ended)
	case s.Started.IsZero():
		return fmt.Errorf("not synced: %w", ErrNotRunning)
	case !s.Synced:
		return because("not synced", s.reason())
	case stale != nil && s.reason() != nil:
		return fmt.Errorf("%w: %w", stale, s.reason())
	}
	return stale
}

// stale returns a *StaleError if the last contact is too long ago.
func (s Status) stale() error {
	if s.MaxStaleness <= 0 || s.LastContact.IsZero() {
		return nil
	}
	if d := time.Since(s.LastContact); d > s.MaxStaleness {
		return &StaleError{Since: s.LastContact, For: d, Max: s.MaxStaleness}
	}
	return nil
}

// busyLongEnough is how long a call of a handler lasts before it is named as a
// reason.
const busyLongEnough = time.Second

// reason returns what keeps the informer from making progress, as far as it is
// known.
func (s Status) reason() error {
	switch {
	case s.Ended != nil:
		return fmt.Errorf("the informer ended: %w", s.Ended)
	case s.Started.IsZero():
		return ErrNotRunning
	}
	if !s.BusySince.IsZero() {
		if d := time.Since(s.BusySince); d >= busyLongEnough {
			return errors.Join(s.Err, fmt.Errorf("the handler %s is busy since %s (%s)",
				s.Busy, s.BusySince.UTC().Format(time.RFC3339), d.Round(time.Millisecond)))
		}
	}
	return s.Err
}

// because adds a reason, if there is one, to what is wrong.
func because(what string, reason error) error {
	if reason == nil {
		return errors.New(what)
	}
	return fmt.Errorf("%s: %w", what, reason)
}
