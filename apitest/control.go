package apitest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Gone is how the loss of history shows.
type Gone int

const (
	// GoneEvent: a watch gets 200 and one ERROR event with a 410 Status, as
	// kube-apiserver does; watches that run get the event too.
	GoneEvent Gone = iota
	// GoneStatus: a watch gets HTTP 410; watches that run are closed without a word.
	GoneStatus
	// GoneSilent: watches that run are closed without a word, and the next gets
	// the ERROR event.
	GoneSilent
)

func revision(rv uint64) kube.Revision { return kube.Revision(strconv.FormatUint(rv, 10)) }

// Put creates or updates an object: JSON as []byte or string, or a value that
// encodes to it. It sets what the server sets; status is stored as given, the
// resourceVersion in obj is ignored. Putting what is there already changes
// nothing. It returns the object's revision.
func (s *Server) Put(r kube.Resource, obj any) kube.Revision {
	b, err := objectBytes(obj)
	if err != nil {
		s.fail("put %s: %v", r, err)
		return ""
	}
	var rv uint64
	s.locked(r, func(st *store, t *table) {
		var o *object
		if o, err = parseObject(t.info.Resource, b); err == nil && o.key.Name == "" {
			err = errors.New("it has no name")
		}
		if err == nil {
			rv = st.put(t, o)
		}
	})
	if err != nil {
		s.fail("put %s: want an object with a name: %v", r, err)
	}
	return revision(rv)
}

// put is Put of what has been parsed. The caller holds mu.
func (st *store) put(t *table, o *object) uint64 {
	old := t.objects[o.key]
	if old == nil {
		st.prepareCreate(t.info, o)
		return st.commit(t, o.key, o)
	}
	deleted := o.meta.DeletionTimestamp
	prepareUpdate(t.info, old, o)
	o.meta.DeletionTimestamp = cmp.Or(deleted, o.meta.DeletionTimestamp)
	if old.same(o) {
		return old.rv
	}
	return st.commit(t, o.key, o)
}

// Edit changes an object without losing what others write meanwhile: it stores, as
// Put does, what change makes of old, the object as JSON, nil where there is none.
// If somebody else has written it before the result could be stored, change is
// called again with what they wrote. What change returns is as Put takes it; nil
// leaves everything as it is. change must not change old, and may use the server.
//
// It returns the object's revision, "" where there is no object.
func (s *Server) Edit(r kube.Resource, key kube.Key, change func(old []byte) any) kube.Revision {
	for {
		var old *object
		s.locked(r, func(_ *store, t *table) { old = t.objects[key] })
		var before []byte
		var rv kube.Revision
		if old != nil {
			before, rv = old.body, revision(old.rv)
		}
		obj := change(before)
		if obj == nil {
			return rv
		}
		b, err := objectBytes(obj)
		stored := false
		s.locked(r, func(st *store, t *table) {
			var o *object
			if err == nil {
				o, err = parseObject(t.info.Resource, b)
			}
			switch {
			case err == nil && o.key != key:
				err = fmt.Errorf("the object is that of %s", o.key)
			case err == nil && t.objects[key] == old:
				rv, stored = revision(st.put(t, o)), true
			}
		})
		if err != nil {
			s.fail("edit %s %s: %v", r, key, err)
			return ""
		}
		if stored {
			return rv
		}
	}
}

// Delete removes an object at once, whatever its finalizers, and returns the
// revision of the deletion; "" if there is no such object.
func (s *Server) Delete(r kube.Resource, key kube.Key) kube.Revision {
	var rv kube.Revision
	s.locked(r, func(st *store, t *table) {
		if t.objects[key] != nil {
			rv = revision(st.commit(t, key, nil))
		}
	})
	return rv
}

// DeleteIf is Delete for an object of which want holds, as it is at that moment.
// want is as the function that Edit takes.
func (s *Server) DeleteIf(r kube.Resource, key kube.Key, want func(old []byte) bool) kube.Revision {
	for {
		var old *object
		s.locked(r, func(_ *store, t *table) { old = t.objects[key] })
		if old == nil || !want(old.body) {
			return ""
		}
		var rv kube.Revision
		s.locked(r, func(st *store, t *table) {
			if t.objects[key] == old {
				rv = revision(st.commit(t, key, nil))
			}
		})
		if rv != "" {
			return rv
		}
	}
}

// Get returns an object as JSON, nil if there is none. The caller must not
// change it.
func (s *Server) Get(r kube.Resource, key kube.Key) []byte {
	var b []byte
	s.locked(r, func(_ *store, t *table) {
		if o := t.objects[key]; o != nil {
			b = o.body
		}
	})
	return b
}

// List returns the objects of r, sorted by key, and the revision at which they
// are current. The caller must not change them.
func (s *Server) List(r kube.Resource) ([][]byte, kube.Revision) {
	var objects collection
	var rv uint64
	s.locked(r, func(st *store, t *table) { objects, rv = t.sorted, st.rev })
	bodies := make([][]byte, 0, objects.size)
	for o := range objects.all() {
		bodies = append(bodies, o.body)
	}
	return bodies, revision(rv)
}

// Revision returns the revision of the last write to any resource.
func (s *Server) Revision() kube.Revision {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return revision(s.store.rev)
}

// Advance moves the revision on to rev, as writes to resources that nobody
// watches do. Where it is there already it does nothing.
func (s *Server) Advance(rev kube.Revision) {
	n, err := strconv.ParseUint(string(rev), 10, 64)
	if err != nil {
		s.fail("advance to %q: want a decimal revision", rev)
		return
	}
	st := s.store
	st.mu.Lock()
	defer st.mu.Unlock()
	if n > st.rev {
		st.rev = n
		st.notify()
	}
}

// Tick advances the revision as a write to a resource that nobody watches.
func (s *Server) Tick() kube.Revision {
	st := s.store
	st.mu.Lock()
	defer st.mu.Unlock()
	st.rev++
	st.notify()
	return revision(st.rev)
}

// SetGone changes how the loss of history shows from now on.
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

// Expire makes every revision and continue token that has been given out too
// old, and ends the watches, in the shape of [Options.Gone].
func (s *Server) Expire() {
	shape := s.goneShape()
	st := s.store
	st.mu.Lock()
	defer st.mu.Unlock()
	old := st.rev
	st.rev++
	st.compact(st.rev)
	st.notify()
	for _, t := range st.tables {
		for w := range t.watches {
			if shape == GoneEvent {
				w.status = StatusExpired(old, st.rev)
			}
			w.end(endClean)
		}
	}
}

// Compact forgets the history up to rv: from an older revision there is no
// watch, no exact list and no next page. Watches that run go on.
func (s *Server) Compact(rv kube.Revision) {
	n, err := strconv.ParseUint(string(rv), 10, 64)
	if err != nil {
		s.fail("compact to %q: want a decimal revision", rv)
		return
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.compact(min(n, s.store.rev))
}

// CloseWatches ends all watches in good order, as at their timeout: what has
// been written before is delivered.
func (s *Server) CloseWatches() { s.endWatches(endClean) }

// CutWatches ends all watches in the middle of an event.
func (s *Server) CutWatches() { s.endWatches(endCut) }

// DropWatches resets the connections of all watches.
func (s *Server) DropWatches() { s.endWatches(endReset) }

func (s *Server) endWatches(how ending) {
	st := s.store
	var conns []*conn
	st.mu.Lock()
	for _, t := range st.tables {
		for w := range t.watches {
			w.end(how)
			if how == endReset && w.conn != nil {
				conns = append(conns, w.conn)
			}
		}
	}
	st.mu.Unlock()
	for _, c := range conns {
		c.reset()
	}
}

// Bookmark sends a bookmark on each watch that asked for bookmarks.
func (s *Server) Bookmark() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for _, t := range s.store.tables {
		for w := range t.watches {
			w.bookmark = true
			w.wake()
		}
	}
}

// SetDoor changes what happens to new connections; those that exist stay. It
// fails only where the port has been taken while the server refused.
func (s *Server) SetDoor(d Door) error { return s.door.set(d) }

// Cut resets every connection.
func (s *Server) Cut() { s.door.cut() }

// Restart is a crash and a restart: every connection is reset, and the history
// for watches starts at present, so that older revisions are too old for them.
// Continue tokens and exact lists, which etcd serves, stay valid. For a server
// that is down a while, SetDoor(Refusing) first, and SetDoor(Open) later.
func (s *Server) Restart() {
	st := s.store
	st.mu.Lock()
	for _, t := range st.tables {
		t.recent = st.rev
	}
	st.mu.Unlock()
	s.endWatches(endReset)
	s.door.cut()
}

// RestoreTo is a restore of etcd from a backup: every connection is reset, and
// objects and the revision go back to what they were at rv, which must still be
// in the history. A watch from a later revision is accepted and stays silent
// until the server has passed it; a list at a later one gets 504.
func (s *Server) RestoreTo(rv kube.Revision) {
	n, err := strconv.ParseUint(string(rv), 10, 64)
	st := s.store
	s.endWatches(endReset)
	st.mu.Lock()
	if err == nil {
		err = st.restore(n)
	}
	st.mu.Unlock()
	if err != nil {
		s.fail("%v", err)
		return
	}
	s.endWatches(endReset) // those that began in between
	s.door.cut()
}

// WaitForWatches returns when n watches have been answered and run. It fails
// when ctx ends first.
func (s *Server) WaitForWatches(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		watching, changed := s.watching, s.changed
		s.mu.Unlock()
		if watching == n {
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

// sleep waits for d; it reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
