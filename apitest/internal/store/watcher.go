package store

import (
	"cmp"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/network"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// Ending is how a watch ends.
type Ending int

const (
	Running  Ending = iota
	EndClean        // the body ends normally
	EndCut          // in the middle of an event
	EndReset        // the connection is reset
)

// Watcher is one open watch. Its fields are guarded by Store.mu.
type Watcher struct {
	Query    *Query
	conn     *network.Conn
	Signal   chan struct{} // has a value when there may be something for Next
	first    Collection    // the initial objects that Initial has not returned yet
	next     kube.Key      // position in first
	slow     bool          // it lagged too far behind, and keeps nothing
	cursor   int           // index of the next event since the beginning
	held     []Event       // events from cursor on that the log has dropped
	live     int           // end of the log when the watch began
	after    uint64        // only events with higher revisions are sent
	bookmark bool          // a bookmark is due
	how      Ending
	status   *kube.Status // a last ERROR event
}

// NewWatcher returns a watcher for q, to be begun by [Store.Join].
func NewWatcher(q *Query, conn *network.Conn) *Watcher {
	return &Watcher{Query: q, conn: conn, Signal: make(chan struct{}, 1), after: q.RV}
}

// Refuse makes w end with an ERROR event. It is for a watch that has not joined.
func (w *Watcher) Refuse(st *kube.Status) { w.how, w.status = EndClean, st }

// Ending returns how w ends, and the Status of its last event, nil for none.
func (st *Store) Ending(w *Watcher) (Ending, *kube.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return w.how, w.status
}

// AskBookmark makes [Store.Next] return a bookmark when there are no events.
func (st *Store) AskBookmark(w *Watcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	w.bookmark = true
}

func (w *Watcher) wake() {
	select {
	case w.Signal <- struct{}{}:
	default: // it was woken already
	}
}

// end ends the watch; the first call counts.
func (w *Watcher) end(how Ending) {
	if w.how == Running {
		w.how = how
	}
	w.wake()
}

// overtaken ends a watch that is too slow, and frees what it has yet to send.
func (w *Watcher) overtaken() {
	w.end(EndClean)
	w.first, w.held, w.slow = Collection{}, nil, true
}

// Seen returns the event as the filter selects it: its type and object, or nil.
func (f *filter) Seen(e Event, info *object.Info) (string, *object.Object) {
	was, is := f.Matches(e.prev), f.Matches(e.next)
	switch {
	case was && is:
		return "MODIFIED", e.next
	case is:
		return "ADDED", e.next
	case was && e.next == nil:
		return "DELETED", e.gone
	case was:
		return "DELETED", e.prev.Stamped(info, e.rv)
	}
	return "", nil
}

// Join begins a watch: after w.after, or, with initial, with the current objects, which
// [Store.Initial] returns. A returned Status means that the history was dropped.
func (st *Store) Join(t *Table, w *Watcher, initial bool) (rv uint64, gone *kube.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	end := t.base + len(t.log)
	w.cursor, w.live = end, end
	if st.tables[t.Info.GroupResource()] != t {
		w.end(EndClean) // the resource was removed since the request was routed
	}
	switch {
	case initial:
		w.first = t.sorted
		w.after = st.rev
	case w.after == 0:
		w.after = st.rev
	case w.after < t.recent:
		return 0, wire.Expired(w.after, t.recent)
	default:
		i, _ := slices.BinarySearchFunc(t.log, w.after+1, func(e Event, rv uint64) int { return cmp.Compare(e.rv, rv) })
		w.cursor = t.base + i
	}
	t.watches[w] = struct{}{}
	return st.rev, nil
}

// Initial returns the next initial objects of w; none if there are no more, or if w is
// too slow and ends.
func (st *Store) Initial(w *Watcher) (objects []*object.Object, slow bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	size := 0
	for o := range w.first.from(w.next) {
		if size >= batchBytes {
			w.next = o.Key
			return objects, false
		}
		objects = append(objects, o)
		size += len(o.Body)
	}
	w.first = Collection{}
	return objects, w.slow
}

// Leave ends a watch that Join began.
func (st *Store) Leave(t *Table, w *Watcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(t.watches, w)
}

// A watch takes at most that many events at once, and no further one after that many
// bytes. It keeps them until its client has read them.
const (
	batchSize  = 256
	batchBytes = 64 << 10
)

// batchOf returns how many of events a watch takes at once.
func batchOf(events []Event) (n int) {
	for size := 0; n < min(len(events), batchSize) && size < batchBytes; n++ {
		for _, o := range []*object.Object{events[n].prev, events[n].next} {
			if o != nil {
				size += len(o.Body)
			}
		}
	}
	return n
}

// Next returns the next events of w. Without events it returns the revision for a
// bookmark, if one is due and w has not sent a later one, and how w should end.
func (st *Store) Next(t *Table, w *Watcher) (batch []Event, bookmark uint64, how Ending) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if at := w.cursor + len(w.held); w.how == EndReset || at < t.base || at > t.base+len(t.log) {
		w.end(EndClean)
		return nil, 0, w.how
	}
	if w.slow || w.how == EndClean && w.overrun(t, st.options.WatchBuffer) {
		return nil, 0, w.how // it was too slow, and gets no more
	}
	for w.cursor < t.base+len(t.log) {
		if len(w.held) > 0 {
			n := batchOf(w.held)
			batch = slices.Clone(w.held[:n])
			w.held = slices.Delete(w.held, 0, n)
		} else {
			log := t.log[w.cursor-t.base:]
			batch = slices.Clone(log[:batchOf(log)])
		}
		w.cursor += len(batch)
		batch = slices.DeleteFunc(batch, func(e Event) bool { return e.rv <= w.after })
		if len(batch) > 0 {
			return batch, 0, Running
		}
	}
	if w.bookmark {
		w.bookmark = false
		if st.rev >= w.after {
			bookmark = st.rev
		}
	}
	return nil, bookmark, w.how
}

// overrun reports whether w lags behind the events since its beginning by more than the
// buffer.
func (w *Watcher) overrun(t *Table, buffer int) bool {
	return t.base+len(t.log)-max(w.cursor, w.live) > buffer
}

// Revision returns the revision of the last write.
func (st *Store) Revision() uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.rev
}

// Advance sets the revision to rv, as writes to unrelated resources do. It does nothing
// if the revision is not lower.
func (st *Store) Advance(rv uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if rv > st.rev {
		st.rev = rv
		st.notify()
	}
}

// Tick increments the revision and returns it.
func (st *Store) Tick() uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.rev++
	st.notify()
	return st.rev
}

// Expire makes all previous revisions too old, and ends the watches, with an ERROR
// event if requested.
func (st *Store) Expire(event bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	old := st.rev
	st.rev++
	st.compact(st.rev)
	st.notify()
	for _, t := range st.tables {
		for w := range t.watches {
			if event {
				w.status = wire.Expired(old, st.rev)
			}
			w.end(EndClean)
		}
	}
}

// CompactTo drops events up to rv, or up to now.
func (st *Store) CompactTo(rv uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.compact(min(rv, st.rev))
}

// ForgetWatches makes all revisions before the current one too old for a watch.
func (st *Store) ForgetWatches() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, t := range st.tables {
		t.recent = st.rev
	}
}

// EndWatches ends all watches, and returns the connections to reset.
func (st *Store) EndWatches(how Ending) (conns []*network.Conn) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, t := range st.tables {
		for w := range t.watches {
			w.end(how)
			if how == EndReset && w.conn != nil {
				conns = append(conns, w.conn)
			}
		}
	}
	return conns
}

// Bookmark makes each watch that requested bookmarks send one.
func (st *Store) Bookmark() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, t := range st.tables {
		for w := range t.watches {
			w.bookmark = true
			w.wake()
		}
	}
}
