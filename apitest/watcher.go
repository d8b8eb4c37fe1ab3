package apitest

import (
	"cmp"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/network"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// ending is how a watch ends.
type ending int

const (
	running  ending = iota
	endClean        // the body ends as it should
	endCut          // in the middle of an event
	endReset        // the connection is reset
)

// watcher is one running watch. Its fields are guarded by store.mu.
type watcher struct {
	query    *query
	conn     *network.Conn
	signal   chan struct{} // of size 1
	cursor   int           // the next event, counted from the first ever
	held     []event       // those from cursor on that the log has forgotten
	live     int           // where the log ended when the watch began
	after    uint64        // only later revisions are sent
	bookmark bool          // one is due now
	how      ending
	status   *kube.Status // a last ERROR event
}

func (w *watcher) wake() {
	select {
	case w.signal <- struct{}{}:
	default: // it has been woken already
	}
}

// end asks the watch to end; the first call counts.
func (w *watcher) end(how ending) {
	if w.how == running {
		w.how = how
	}
	w.wake()
}

// seen returns how the filter sees an event: its type and object, or nil.
func (f *filter) seen(e event, info *object.Info) (string, *object.Object) {
	was, is := f.matches(e.prev), f.matches(e.next)
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

// join begins a watch: after w.after, or, with initial, with the objects that
// there are now. A returned Status says that the history is gone.
func (st *store) join(t *table, w *watcher, initial bool) (objects collection, rv uint64, gone *kube.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	end := t.base + len(t.log)
	w.cursor, w.live = end, end
	if st.tables[t.info.GroupResource()] != t {
		w.end(endClean) // the resource was removed since the request was routed
	}
	switch {
	case initial:
		objects = t.sorted
		w.after = st.rev
	case w.after == 0:
		w.after = st.rev
	case w.after < t.recent:
		return objects, 0, wire.Expired(w.after, t.recent)
	default:
		i, _ := slices.BinarySearchFunc(t.log, w.after+1, func(e event, rv uint64) int { return cmp.Compare(e.rv, rv) })
		w.cursor = t.base + i
	}
	t.watches[w] = struct{}{}
	return objects, st.rev, nil
}

func (st *store) leave(t *table, w *watcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(t.watches, w)
}

// batchSize bounds the events that a watch takes under the lock at once.
const batchSize = 256

// next returns the next events of w. Without any it returns the revision for a
// bookmark, if one is due and w has not been promised a later one, and how w
// should end.
func (st *store) next(t *table, w *watcher) (batch []event, bookmark uint64, how ending) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if at := w.cursor + len(w.held); w.how == endReset || at < t.base || at > t.base+len(t.log) {
		w.end(endClean)
		return nil, 0, w.how
	}
	if w.how == endClean && w.overrun(t, st.options.WatchBuffer) {
		return nil, 0, endClean // it was too slow, and gets no more
	}
	for w.cursor < t.base+len(t.log) {
		if len(w.held) > 0 {
			batch, w.held = w.held, nil
		} else {
			log := t.log[w.cursor-t.base:]
			batch = slices.Clone(log[:min(len(log), batchSize)])
		}
		w.cursor += len(batch)
		batch = slices.DeleteFunc(batch, func(e event) bool { return e.rv <= w.after })
		if len(batch) > 0 {
			return batch, 0, running
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

// overrun reports whether w lags behind the events since it began by more than
// the buffer holds.
func (w *watcher) overrun(t *table, buffer int) bool {
	return t.base+len(t.log)-max(w.cursor, w.live) > buffer
}

// revision returns the revision of the last write.
func (st *store) revision() uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.rev
}

// advance moves the revision on to rv, as writes to resources that nobody watches do.
// Where it is there already it does nothing.
func (st *store) advance(rv uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if rv > st.rev {
		st.rev = rv
		st.notify()
	}
}

// tick moves the revision on by one and returns it.
func (st *store) tick() uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.rev++
	st.notify()
	return st.rev
}

// expire makes every revision that has been given out too old, and ends the watches,
// with an ERROR event if that is wanted.
func (st *store) expire(event bool) {
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
			w.end(endClean)
		}
	}
}

// compactTo forgets events up to rv, or up to now.
func (st *store) compactTo(rv uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.compact(min(rv, st.rev))
}

// forgetWatches makes every revision before the present too old for a watch.
func (st *store) forgetWatches() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, t := range st.tables {
		t.recent = st.rev
	}
}

// endWatches ends all watches, and returns the connections that are to be reset.
func (st *store) endWatches(how ending) (conns []*network.Conn) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, t := range st.tables {
		for w := range t.watches {
			w.end(how)
			if how == endReset && w.conn != nil {
				conns = append(conns, w.conn)
			}
		}
	}
	return conns
}

// bookmark lets each watch that asked for bookmarks send one.
func (st *store) bookmark() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, t := range st.tables {
		for w := range t.watches {
			w.bookmark = true
			w.wake()
		}
	}
}
