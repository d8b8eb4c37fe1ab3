package apitest

import (
	"net/http"
	"strconv"

	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// list answers a LIST.
func (s *Server) list(x *Exchange, w http.ResponseWriter, q *query, v *view) *kube.Status {
	if at, err := strconv.ParseUint(string(x.quirks.Revision), 10, 64); err == nil && at != 0 {
		q.revision, q.rv, q.match, q.limit, q.token = string(x.quirks.Revision), at, exact, 0, ""
	}
	var token continueToken
	if q.token != "" {
		var st *kube.Status
		if token, st = parseToken(q.token); st != nil {
			return st
		}
		if q.revision != "" && q.revision != "0" {
			return wire.BadRequest("specifying resource version is not allowed when using continue")
		}
		if token.RV > 0 {
			q.rv, q.match = uint64(token.RV), exact
		}
	}
	switch {
	case q.token != "":
	case q.match == "" && q.limit > 0 && q.rv > 0 && !q.one():
		q.match = exact // the legacy meaning of limit with a revision
	case q.match != exact && q.revision == "0":
		q.limit = 0 // from the watch cache, which has no pages
	}
	if st := s.store.waitFor(x.r.Context(), q.rv); st != nil {
		return st
	}
	p, st := s.store.page(x.target.table, q, token)
	if st != nil {
		return st
	}
	if v.refused != nil {
		return v.refused
	}
	if x.quirks.EmptyPage && len(p.objects) > 0 {
		p.emptied()
	}
	v.send(w, v.list(p, x.quirks.MetadataLast))
	return nil
}
