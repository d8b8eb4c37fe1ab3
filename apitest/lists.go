package apitest

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// list handles a LIST.
func (s *Server) list(x *Exchange, w http.ResponseWriter, q *store.Query, v *view.View) *kube.Status {
	if at, err := strconv.ParseUint(string(x.quirks.Revision), 10, 64); err == nil && at != 0 {
		q.Revision, q.RV, q.Match, q.Limit, q.Token = string(x.quirks.Revision), at, store.Exact, 0, ""
	}
	var token store.ContinueToken
	if q.Token != "" {
		var st *kube.Status
		if token, st = store.ParseToken(q.Token); st != nil {
			return st
		}
		if q.Revision != "" && q.Revision != "0" {
			return wire.BadRequest("specifying resource version is not allowed when using continue")
		}
		if token.RV > 0 {
			q.RV, q.Match = uint64(token.RV), store.Exact
		}
	}
	switch {
	case q.Token != "":
	case q.Match == "" && q.Limit > 0 && q.RV > 0 && !q.One():
		q.Match = store.Exact // the legacy meaning of limit with a revision
	case q.Match != store.Exact && q.Revision == "0":
		q.Limit = 0 // the watch cache has no pages
	}
	if st := s.store.WaitFor(x.r.Context(), q.RV); st != nil {
		return st
	}
	p, st := s.store.Page(x.target.table, q, token)
	if st == nil && v.Decodes(w != x, p.Objects...) > 0 {
		if st = x.shows(w, v, p.Objects...); st == nil {
			p, st = s.store.Page(x.target.table, q, token) // nothing of it was kept meanwhile
		}
		x.answer.Urgent = true
	}
	for ; st == nil && !x.answer.Enter(int64(p.Size())); p, st = s.store.Page(x.target.table, q, token) {
		if p = nil; x.answer.Wait(x.r.Context()) != nil {
			return wire.Throttled(1)
		}
	}
	if st != nil || v.Refused != nil {
		return cmp.Or(st, v.Refused)
	}
	if x.quirks.EmptyPage && len(p.Objects) > 0 {
		p.Emptied()
	}
	b, st := v.List(p, x.quirks.MetadataLast)
	if x.answer.Grow(x.r.Context(), int64(len(b))) != nil { // by defaults
		x.Abort()
	}
	if st == nil {
		v.Send(w, http.StatusOK, b)
	}
	return st
}
