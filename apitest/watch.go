package apitest

import (
	"context"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// watch handles a WATCH: with a stream, or with the Status that it returns.
func (s *Server) watch(x *Exchange, w http.ResponseWriter, q *store.Query, v *view.View) *kube.Status {
	initial := q.Initial != nil && *q.Initial
	marker := q.Initial == nil && q.RV == 0 || initial // synthetic events, then the end marker
	if x.quirks.IgnoreInitialEvents {
		initial, marker = false, q.RV == 0
	}
	run := store.NewWatcher(q, x.conn)
	var gone *kube.Status
	if marker {
		gone = s.store.WaitFor(x.r.Context(), q.RV)
	}
	now := uint64(0)
	if gone == nil {
		now, gone = s.store.Join(x.target.table, x.target.form, run, marker)
		defer s.store.Leave(x.target.table, run)
		if gone != nil && s.goneShape() == GoneStatus {
			return gone
		}
	}
	defer s.watchStarted()()
	w.Header().Set("Content-Type", "application/json")
	if v.Binary {
		w.Header().Set("Content-Type", wire.TypeStream)
		x.binary = &wire.Stream{Info: v.Info}
	}
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(http.StatusOK)
	x.Flush()
	if gone != nil {
		run.Refuse(gone)
		s.finishWatch(x, run)
		return nil
	}
	bookmark := func(rv uint64, end bool) error { return x.frame(v.Bookmark(rv, end)) }
	err := x.due()
	if err == nil {
		err = s.sendInitial(x, run, v)
	}
	if err == nil && marker && q.Bookmarks && !x.quirks.IgnoreInitialEvents && !x.quirks.NoInitialEventsEnd {
		err = bookmark(now, true)
	}
	if err == nil {
		x.Flush()
		err = s.stream(x, run, v, bookmark)
	}
	if err != errEnd {
		x.Abort() // the client has gone, or the server closes
	}
	s.finishWatch(x, run)
	return nil
}

// sendInitial sends the initial objects of a watch.
func (s *Server) sendInitial(x *Exchange, w *store.Watcher, v *view.View) error {
	for {
		o, slow := s.store.Initial(w)
		switch {
		case slow:
			return errEnd
		case o == nil:
			return nil
		case !w.Query.Matches(o):
			s.store.Took(w)
			continue
		}
		room, err := s.send(x, w, v, "ADDED", o)
		if err != nil {
			return err
		}
		if room == nil {
			continue
		}
		x.Flush()
		select {
		case <-room:
		case <-w.Signal: // it may be too slow
		case <-x.r.Context().Done():
			return context.Cause(x.r.Context())
		}
	}
}

// send sends the event that is next. If there is no room for it now, it does nothing, and
// returns a channel that is closed when there may be: meanwhile the watch keeps nothing of
// it, but looks for what is next again.
func (s *Server) send(x *Exchange, w *store.Watcher, v *view.View, typ string, o *object.Object) (room <-chan struct{}, err error) {
	binary := x.binary != nil && x.binary.Complete() && len(x.rewrite) == 0 // faults change JSON
	f, room, err := s.frames.Event(v, typ, o, binary, x.giveUp)
	if err != nil || room != nil {
		return room, err
	}
	s.store.Took(w)
	return nil, x.event(f, binary)
}

// stream sends events and bookmarks until the watch ends: with errEnd if the client is
// still connected.
func (s *Server) stream(x *Exchange, w *store.Watcher, v *view.View, bookmark func(uint64, bool) error) error {
	timeout := w.Query.Timeout
	if timeout == 0 {
		timeout = 30*time.Minute + time.Duration(s.store.Random(int64(30*time.Minute)))
	}
	deadline := time.Now().Add(timeout)
	timer, ticker := time.NewTimer(timeout), time.NewTimer(s.nextBookmark(deadline))
	defer timer.Stop()
	defer ticker.Stop()
	for {
		if x.quirks.IgnoreShard {
			w.Query.Sharding = nil
		}
		room, more, err := s.next(x, w, v, bookmark)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		x.Flush()
		select {
		case <-room:
		case <-w.Signal:
		case <-ticker.C:
			ticker.Reset(s.nextBookmark(deadline))
			s.store.AskBookmark(w)
		case <-timer.C:
			return errEnd
		case <-x.r.Context().Done():
			return context.Cause(x.r.Context())
		}
	}
}

// next sends an event, or a bookmark if one is due, and reports whether there may be more
// to send now. room is as send returns it.
func (s *Server) next(x *Exchange, w *store.Watcher, v *view.View, bookmark func(uint64, bool) error) (room <-chan struct{}, more bool, err error) {
	e, ok, rv, how := s.store.Next(x.target.table, w)
	if !ok {
		switch {
		case how != store.Running:
			return nil, false, errEnd
		case rv > 0 && w.Query.Bookmarks:
			return nil, false, bookmark(rv, false)
		}
		return nil, false, nil
	}
	typ, o := w.Query.Seen(e, x.target.info)
	if o == nil {
		s.store.Took(w)
		return nil, true, nil
	}
	room, err = s.send(x, w, v, typ, o)
	return room, room == nil, err
}

// nextBookmark returns the time until the next bookmark is due: an interval,
// or until 2 s before the deadline.
func (s *Server) nextBookmark(deadline time.Time) time.Duration {
	left := time.Until(deadline)
	interval := s.options.BookmarkInterval
	if interval < 0 {
		interval = left + time.Hour // not before the end
	}
	if last := left - 2*time.Second; last > 0 {
		return min(interval, last)
	}
	return interval
}

// finishWatch ends the stream as the store says; by default normally.
func (s *Server) finishWatch(x *Exchange, w *store.Watcher) {
	how, status := s.store.Ending(w)
	if status != nil {
		x.frame(StatusEvent(status)) // the end, whatever it returns
	}
	switch how {
	case store.EndReset:
		x.Reset()
	case store.EndCut:
		x.Write([]byte(`{"type":"MODIFIED","object":{"kind":"`))
		x.Flush()
		x.Abort()
	}
	x.orderlyEnd()
}

// StatusEvent returns the ERROR event of a watch with st, with its newline.
func StatusEvent(st *kube.Status) []byte {
	b := append([]byte(`{"type":"ERROR","object":`), wire.EncodeStatus(st)...)
	return append(b, '}', '\n')
}
