package cache

import (
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Status is the state of an informer at one moment.
type Status struct {
	// Name of the informer, as [Informer.Name] returns it.
	Name string

	// Synced: a list was completed, or a snapshot loaded, and Run has not returned.
	Synced   bool
	Objects  int
	Revision kube.Revision

	// Bytes is the memory of the objects, as counted for the budget; 0 without a budget.
	Bytes int64

	// Lag is how long ago the event that is being handled was read from the server. Later
	// events wait for that event. 0 = no event is being handled.
	Lag time.Duration

	// Busy is the function name of the handler that is running, and BusySince is when
	// its call began; zero values = none is running.
	Busy      string
	BusySince time.Time

	// Started is when Run was called; zero = it was not called.
	Started time.Time

	// LastContact is when the server last sent something or accepted a watch. With several sources
	// it is the time of the one with the oldest contact. The objects may be out of date
	// since then. A source without any contact yet counts with Started. LastContact is zero
	// if Run was not called or no source reports contacts; a custom [Source] needs a method
	// LastContact() time.Time. A healthy server sends something about every minute.
	LastContact time.Time

	// MaxStaleness of the informer; 0 = no limit.
	MaxStaleness time.Duration

	// Err joins the current errors: why Run returned, why the last request of a
	// source failed, and the objects that could not be decoded. nil = none.
	Err error

	// Ended is the error of Run; nil = Run has not returned.
	Ended error
}

// ErrNotRunning is the reason of an informer whose Run was not called. Often it was not
// added to a Manager.
var ErrNotRunning = errors.New("Run was not called")

// StaleError reports that an informer had no contact with the server for longer than
// its Options.MaxStaleness. Its objects may be out of date.
type StaleError struct {
	Since time.Time     // last contact
	For   time.Duration // time since then
	Max   time.Duration // Options.MaxStaleness
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("stale: no contact with the server for %s, since %s; the limit is %s",
		e.For.Round(time.Second), e.Since.UTC().Format(time.RFC3339), e.Max)
}

// Ready returns nil if the informer is synced, runs, and had contact with the server within its
// Options.MaxStaleness, else an error. Requests that failed since that contact, and objects that
// could not be decoded, do not count: see Status.Err. The error, which does not name the informer,
// wraps ErrNotRunning, the error of Run, a *StaleError or the error of the last request.
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

// busyLongEnough is the duration after which a running call of a handler is named as a
// reason.
const busyLongEnough = time.Second

// reason returns why the informer makes no progress, or nil if that is not known.
func (s Status) reason() error {
	switch {
	case s.Ended != nil:
		return fmt.Errorf("the informer ended: %w", s.Ended)
	case s.Started.IsZero():
		return ErrNotRunning
	}
	if d := time.Since(s.BusySince); !s.BusySince.IsZero() && d >= busyLongEnough {
		return errors.Join(s.Err, fmt.Errorf("the handler %s is busy since %s (%s)",
			s.Busy, s.BusySince.UTC().Format(time.RFC3339), d.Round(time.Millisecond)))
	}
	return s.Err
}

// because adds a reason, if there is one, to an error text.
func because(what string, reason error) error {
	if reason == nil {
		return errors.New(what)
	}
	return fmt.Errorf("%s: %w", what, reason)
}
