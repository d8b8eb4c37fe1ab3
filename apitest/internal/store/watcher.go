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
	chunk    int           // position in first
	at       int           // position in the chunk
	slow     bool          // it lagged too far behind, and keeps nothing
	cursor   int           // index of the next event since the beginning
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
	w.first, w.chunk, w.slow = Collection{}, 0, true
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
func (st *Store) Join(t *Table, form *object.Info, w *Watcher, initial bool) (rv uint64, gone *kube.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	end := t.base + len(t.log)
	w.cursor, w.live = end, end
	if st.removed(t) != nil || !st.serves(form) {
		w.end(EndClean)
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

// Initial returns the next initial object of w, the same one until [Store.Took]; nil if
// there are no more, or if w is too slow and ends. A watch that waits keeps its position
// only, so that the object can be dropped.
func (st *Store) Initial(w *Watcher) (o *object.Object, slow bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if w.chunk == len(w.first.chunks) {
		w.first, w.chunk = Collection{}, 0
		return nil, w.slow
	}
	return w.first.chunks[w.chunk][w.at], false
}

// Took notes that the object that [Store.Initial] has returned, or the event that
// [Store.Next] has returned, is being sent.
func (st *Store) Took(w *Watcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case w.slow: // it gets no more
	case w.chunk == len(w.first.chunks):
		w.cursor++
	case w.at+1 == len(w.first.chunks[w.chunk]):
		w.chunk, w.at = w.chunk+1, 0
	default:
		w.at++
	}
}

// Leave ends a watch that Join began.
func (st *Store) Leave(t *Table, w *Watcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(t.watches, w)
}

// Next returns the next event of w, the same one until [Store.Took]. Without an event it
// returns the revision for a bookmark, if one is due and w has not sent a later one, and
// how w should end.
func (st *Store) Next(t *Table, w *Watcher) (e Event, ok bool, bookmark uint64, how Ending) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if w.how == EndReset || w.cursor < t.base || w.cursor > t.base+len(t.log) {
		w.end(EndClean)
		return Event{}, false, 0, w.how
	}
	if w.slow || w.how == EndClean && w.overrun(t, st.options.WatchBuffer) {
		return Event{}, false, 0, w.how // it was too slow, and gets no more
	}
	for ; w.cursor < t.base+len(t.log); w.cursor++ {
		if e := t.log[w.cursor-t.base]; e.rv > w.after {
			return e, true, 0, Running
		}
	}
	if w.bookmark {
		w.bookmark = false
		if st.rev >= w.after {
			bookmark = st.rev
		}
	}
	return Event{}, false, bookmark, w.how
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
