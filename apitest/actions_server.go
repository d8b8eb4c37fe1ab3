package apitest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Stale answers a LIST as of rv, as a replica of the server that lags behind.
func Stale(rv kube.Revision) http.HandlerFunc {
	n, err := strconv.ParseUint(string(rv), 10, 64)
	if err != nil {
		panic("apitest: Stale: want a decimal revision")
	}
	return quirk(func(q *quirks) { q.revision = n })
}

// Behind answers a LIST as of n revisions ago, or as far back as the history
// goes: a replica of the server that lags.
func Behind(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.quirks.revision = x.srv.past(n)
		Continue(w, r)
	}
}

// past returns the revision of n writes ago, or the oldest that can be restored.
func (s *Server) past(n int) uint64 {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.store.past(n)
}

func (st *store) past(n int) uint64 {
	return st.restorable(st.rev - min(uint64(max(n, 0)), st.rev-1))
}

// TooLarge answers 504, at once, with the cause ResourceVersionTooLarge: the
// server, or this replica of it, has yet to reach the revision that the client
// names, or any at all where it names none.
func TooLarge() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked, _ := parseRevision(r.URL.Query().Get("resourceVersion")) // 0 is no revision either
		current := exchangeOf(r).srv.past(0)
		if asked > 0 {
			current = min(current, asked-1)
		}
		WriteStatus(w, StatusTooLarge(max(asked, current+1), current))
	}
}

// ExpireContinue answers a page of a LIST with 410 Expired, with a token to go
// on inconsistently; what brings no token gets none.
func ExpireContinue() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, st := continueToken{}, (*kube.Status)(nil)
		if text := r.URL.Query().Get("continue"); text != "" {
			token, st = parseToken(text)
		}
		if st == nil {
			st = statusContinueExpired(token)
		}
		WriteStatus(w, st)
	}
}

// ExpireContinueForGood is ExpireContinue without a token.
func ExpireContinueForGood() http.HandlerFunc { return Answer(statusContinueExpired(continueToken{})) }

// RejectInitialEvents answers 422, as a server without streaming lists does.
func RejectInitialEvents() http.HandlerFunc {
	return Answer(statusInvalid("meta.k8s.io", "ListOptions", "",
		forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")))
}

// Forget makes the server forget its history up to now, as [Server.Compact]
// does, and goes on: before the second page of a LIST it is a compaction in
// mid-list.
func Forget() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := exchangeOf(r).srv
		s.Compact(s.Tick())
		Continue(w, r)
	}
}

// Recreate deletes the first object that the request is about and creates it
// anew, under another UID, before it goes on: what a client may find that was
// away. Of a continued list it is the first of the whole.
func Recreate() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		if x.target.table != nil {
			x.srv.store.recreate(x.target.table, x.target.key)
		}
		Continue(w, r)
	}
}

// recreate does so with the first object that key, which may be of a collection,
// stands for.
func (st *store) recreate(t *table, key kube.Key) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for old := range t.sorted.from(key) {
		k := old.key
		if key.Namespace != "" && k.Namespace != key.Namespace || key.Name != "" && k.Name != key.Name {
			continue
		}
		o := &object{key: k, meta: old.meta, fields: old.fields}
		o.meta.UID, o.meta.CreationTimestamp, o.meta.Generation = "", "", 0
		o.meta.DeletionTimestamp, o.meta.DeletionGracePeriodSeconds = "", nil
		st.commit(t, k, nil)
		st.prepareCreate(t.info, o)
		st.commit(t, k, o)
		return
	}
}

// Crash is [Server.Restart] where the answer is due.
func Crash() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.srv.Restart()
		x.abort()
	}
}

// Restore is [Server.RestoreTo] where the answer is due: to the state of n
// revisions ago, or as far back as the history goes.
func Restore(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		err := x.srv.restore(func(st *store) uint64 { return st.past(n) })
		if err != nil {
			panic(err) // it is restorable
		}
		x.abort()
	}
}

// Rotated is [Server.Rotate], before it goes on.
func Rotated() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r).srv.Rotate()
		Continue(w, r)
	}
}

// Down resets every connection and lets new ones meet door for d. Hanging stalls
// TLS handshakes too; Untrusted, Outdated and HTTP1 serve, but not as before.
func Down(door Door, d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		s := x.srv
		if s.SetDoor(door) == nil {
			s.running.Go(func() {
				// Somebody may have taken the port meanwhile, and may leave it.
				for sleep(s.ctx, d) && s.SetDoor(Open) != nil {
				}
			})
		}
		s.Cut()
		x.abort()
	}
}
