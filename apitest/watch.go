package apitest

import (
	"context"
	"net/http"
	"time"

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
		now, gone = s.store.Join(x.target.table, run, marker)
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
		objects, slow := s.store.Initial(w)
		switch {
		case slow:
			return errEnd
		case len(objects) == 0:
			return nil
		}
		for _, o := range objects {
			if w.Query.Matches(o) {
				if err := x.event(v, "ADDED", o); err != nil {
					return err
				}
			}
		}
	}
}

// stream sends events and bookmarks until the watch ends: with errEnd if the client is
// still connected.
func (s *Server) stream(x *Exchange, w *store.Watcher, v *view.View, bookmark func(uint64, bool) error) error {
	timeout := w.Query.Timeout
	if timeout <= 0 {
		timeout = 30*time.Minute + time.Duration(s.store.Random(int64(30*time.Minute)))
	}
	deadline := time.Now().Add(timeout)
	timer, ticker := time.NewTimer(timeout), time.NewTimer(s.nextBookmark(deadline))
	defer timer.Stop()
	defer ticker.Stop()
	for {
		batch, rv, how := s.store.Next(x.target.table, w)
		for _, e := range batch {
			if x.quirks.IgnoreShard {
				w.Query.Sharding = nil
			}
			if typ, o := w.Query.Seen(e, x.target.info); o != nil {
				if err := x.event(v, typ, o); err != nil {
					return err
				}
			}
		}
		if len(batch) > 0 {
			x.Flush()
			continue
		}
		if how != store.Running {
			return errEnd
		}
		if rv > 0 && w.Query.Bookmarks {
			if err := bookmark(rv, false); err != nil {
				return err
			}
			x.Flush()
		}
		select {
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
