package apitest

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/network"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// Gone is how the loss of history is reported.
type Gone int

const (
	// GoneEvent: a watch gets 200 and one ERROR event with a 410 Status, as from
	// kube-apiserver; open watches get the event too.
	GoneEvent Gone = iota
	// GoneStatus: a watch gets HTTP 410; open watches are closed without an event.
	GoneStatus
	// GoneSilent: open watches are closed without an event, and the next watch gets the
	// ERROR event.
	GoneSilent
)

func revision(rv uint64) kube.Revision { return kube.Revision(strconv.FormatUint(rv, 10)) }

// Revision returns the revision of the last write to any resource.
func (s *Server) Revision() kube.Revision { return revision(s.store.Revision()) }

// Advance sets the revision to rev, as writes to unrelated resources do. It does
// nothing if the revision is not lower. As in etcd, a revision has at most 63 bits.
func (s *Server) Advance(rev kube.Revision) {
	n, err := strconv.ParseUint(string(rev), 10, 63)
	if err != nil {
		s.fail("advance to %q: want a decimal revision of at most 63 bits", rev)
		return
	}
	s.store.Advance(n)
}

// Tick advances the revision, as a write to an unrelated resource does.
func (s *Server) Tick() kube.Revision { return revision(s.store.Tick()) }

// SetGone changes how the loss of history is reported.
func (s *Server) SetGone(g Gone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = g
}

func (s *Server) goneShape() Gone {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// Expire makes all previous revisions and continue tokens too old, and ends the
// watches, as [Options.Gone] says.
func (s *Server) Expire() { s.store.Expire(s.goneShape() == GoneEvent) }

// Compact drops the history before rv: older revisions have no watch, no exact list and
// no next page. Open watches continue.
func (s *Server) Compact(rv kube.Revision) {
	n, err := strconv.ParseUint(string(rv), 10, 64)
	if err != nil {
		s.fail("compact to %q: want a decimal revision", rv)
		return
	}
	s.store.CompactTo(n)
}

// CloseWatches ends all watches normally, as at their timeout, after it has delivered earlier
// writes.
func (s *Server) CloseWatches() { s.endWatches(store.EndClean) }

// CutWatches ends all watches in the middle of an event.
func (s *Server) CutWatches() { s.endWatches(store.EndCut) }

// DropWatches resets the connections of all watches.
func (s *Server) DropWatches() { s.endWatches(store.EndReset) }

func (s *Server) endWatches(how store.Ending) {
	for _, c := range s.store.EndWatches(how) {
		c.Reset()
	}
}

// Bookmark sends a bookmark on each watch that asked for bookmarks.
func (s *Server) Bookmark() { s.store.Bookmark() }

// Door is the handling of new connections.
type Door int

const (
	Open      = Door(network.Open)      // served
	Refusing  = Door(network.Refusing)  // refused, as if nothing listens
	Hanging   = Door(network.Hanging)   // accepted without a response
	Resetting = Door(network.Resetting) // accepted and reset at once
	Untrusted = Door(network.Untrusted) // served, with a certificate of an unknown CA; without TLS like Open
	Outdated  = Door(network.Outdated)  // served, with an expired certificate; without TLS like Open
	HTTP1     = Door(network.HTTP1)     // served without HTTP/2
)

// SetDoor changes the handling of new connections; existing ones stay. It fails only if
// another process has taken the port while the server refused connections.
func (s *Server) SetDoor(d Door) error { return s.door.Set(network.State(d)) }

// Down resets every connection, and applies door to new ones for d; then they are
// served again. It does not block.
func (s *Server) Down(door Door, d time.Duration) {
	if s.SetDoor(door) == nil {
		s.running.Go(func() {
			// Another process may have taken the port, and may release it.
			for wait.For(s.ctx, d) == nil && s.SetDoor(Open) != nil {
			}
		})
	}
	s.Cut()
}

// Cut resets every connection.
func (s *Server) Cut() { s.door.Cut() }

// Restart simulates a crash and a restart: every connection is reset, and the history
// for watches begins now, so that older revisions are too old. Continue tokens and
// exact lists, which etcd serves, stay valid. For a longer downtime, call
// SetDoor(Refusing) before, and SetDoor(Open) later.
func (s *Server) Restart() {
	s.store.ForgetWatches()
	s.endWatches(store.EndReset)
	s.door.Cut()
}

// RestoreTo simulates a restore of etcd from a backup: every connection is reset, and
// objects and the revision return to their state at rv, which must still be in the
// history. Custom resources are served by their definitions of that time. A watch from
// a later revision is accepted and stays silent until the server has passed that
// revision; a list at a later one gets 504.
func (s *Server) RestoreTo(rv kube.Revision) {
	n, err := strconv.ParseUint(string(rv), 10, 64)
	if err == nil {
		err = s.restore(func() uint64 { return n })
	}
	if err != nil {
		s.fail("%v", err)
	}
}

// Rewind is [Server.RestoreTo] to the state of n revisions ago, or to the beginning of
// the history.
func (s *Server) Rewind(n int) {
	if err := s.restore(func() uint64 { return s.store.Past(n) }); err != nil {
		s.fail("%v", err) // it can be restored
	}
}

// RevisionBefore returns the revision of n writes ago, or the oldest that can be restored.
func (s *Server) RevisionBefore(n int) kube.Revision {
	return revision(s.store.Before(n))
}

// restore restores to the revision that to returns, which is called under the lock of
// the store.
func (s *Server) restore(to func() uint64) error {
	s.endWatches(store.EndReset)
	if err := s.store.RestoreTo(to); err != nil {
		return err
	}
	s.endWatches(store.EndReset) // those that began meanwhile
	s.door.Cut()
	return nil
}

// WaitForWatches returns when at least n watches are open; with 0, when none is. It
// fails if ctx ends first.
func (s *Server) WaitForWatches(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		watching, changed := s.watching, s.changed
		s.mu.Unlock()
		if watching == n || n > 0 && watching > n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d watches, have %d: %w", n, watching, ctx.Err())
		}
	}
}

// watchStarted counts a running watch until the result is called.
func (s *Server) watchStarted() (ended func()) {
	count := func(by int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watching += by
		close(s.changed)
		s.changed = make(chan struct{})
	}
	count(1)
	return func() { count(-1) }
}
