package apitest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/discovery"
	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// resolve parses the URL of r. It does not fail: an unknown resource has no table, and
// answer handles that.
func (s *Server) resolve(r *http.Request) target {
	t := target{verb: strings.ToLower(r.Method)}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var group, version string
	switch {
	case parts[0] == "api" && len(parts) >= 3:
		version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) >= 4:
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return t
	}
	early := parts[0] == "watch" && len(parts) > 1 // the path of watches before v1.11, which is still supported
	if early {
		parts = parts[1:]
	}
	// namespaces/x and namespaces/x/status are the namespace itself.
	if parts[0] == "namespaces" && len(parts) >= 3 && (len(parts) > 3 || parts[2] != "status" && parts[2] != "finalize") {
		t.key.Namespace, parts = parts[1], parts[2:]
	}
	t.res = kube.Resource{Group: group, Version: version, Plural: parts[0]}
	t.table, t.info, t.form = s.store.Find(group, version, parts[0])
	if t.table != nil {
		t.res = t.form.Resource
		if !t.res.Namespaced && t.key.Namespace != "" {
			t.table = nil
		}
	}
	if len(parts) > 1 {
		t.key.Name = parts[1]
	}
	if len(parts) > 2 {
		t.sub = strings.Join(parts[2:], "/")
	}
	t.collection = t.key.Name == ""
	t.verb = verb(r, t.collection)
	if early && r.Method == http.MethodGet {
		t.verb, t.collection = "watch", true
		t.one, t.key.Name = t.key.Name, ""
	}
	if r.Method == http.MethodHead && t.info != nil && !t.info.BuiltIn { // other resources refuse it
		if t.verb = "get"; t.collection {
			t.verb = "list"
		}
	}
	return t
}

func verb(r *http.Request, collection bool) string {
	switch r.Method {
	case http.MethodGet:
		switch {
		case collection && wire.QueryBool(r.URL.Query(), "watch"):
			return "watch"
		case collection:
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		if collection {
			return "deletecollection"
		}
	}
	return strings.ToLower(r.Method)
}

// answer sends the normal response to x to w, which is x or a ResponseWriter of a
// fault.
func (s *Server) answer(x *Exchange, w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-cache, private")
	if x.refused == nil && discovery.Healthy(w, x.r) {
		return
	}
	if pretty := wire.WantsIndented(x.r); (pretty || !wire.TakesStatus(x.r)) && !strings.HasPrefix(x.r.URL.Path, "/openapi/") {
		p := &wire.IndentingWriter{ResponseWriter: w, All: pretty && x.target.verb != "watch"}
		defer p.Finish()
		w = p
	}
	if yes, as := wire.PrefersYAML(x.r); yes && !strings.HasPrefix(x.r.URL.Path, "/openapi/") {
		y := &wire.YAMLWriter{ResponseWriter: w, ErrorsAsJSON: as}
		defer y.Finish()
		w = y
	}
	if x.refused != nil {
		wire.WriteStatus(w, refusalByGuard(x))
		return
	}
	if !s.authenticated(x.r) {
		wire.WriteStatus(w, wire.Unauthorized())
		return
	}
	if x.target.table == nil {
		s.documents.Answer(w, x.r, s.store.Served())
		return
	}
	if st := s.act(x, w); st != nil {
		wire.WriteStatus(w, wire.Within(st, x.answer.Try))
	}
}

// act handles a request for a resource, or returns the Status of the response.
func (s *Server) act(x *Exchange, w http.ResponseWriter) *kube.Status {
	t := x.target
	if t.res == kube.Endpoints {
		wire.Warn(w.Header(), "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
	}
	if st := s.forbidden(x); st != nil {
		return st
	}
	if question := s.question(t); question != nil {
		return question(x, w)
	}
	if t.form.Warning != "" {
		wire.Warn(w.Header(), t.form.Warning)
	}
	if !t.info.BuiltIn && t.res.Namespaced && t.key.Namespace == "" && t.verb != "list" && t.verb != "watch" {
		wire.PageNotFound(w)
		return nil
	}
	if t.info.BuiltIn && t.res.Namespaced && t.key.Namespace == "" && t.key.Name != "" {
		return wire.NoResource()
	}
	v, st := view.Parse(x.r, t.form, t.verb)
	if st != nil {
		return st
	}
	v.At = s.options.AgesAt
	switch {
	case t.key.Name != "" && len(rules.SegmentName(t.key.Name)) > 0:
		return wire.BadRequest("Name parameter invalid: %q: %s", t.key.Name, strings.Join(rules.SegmentName(t.key.Name), ";"))
	case t.res == kube.Pods && slices.Contains(podSubresources[:], t.sub):
		return s.podSubresource(x, w)
	case t.sub == "finalize" && t.res == kube.Namespaces && t.verb != "update",
		t.verb == "deletecollection" && t.res == kube.Namespaces:
		return t.notAllowed()
	case t.sub != "" && !hasSubresource(t.form, t.sub) && !t.info.BuiltIn:
		return wire.NotFound(t.res, t.key.Name)
	case t.sub != "" && !hasSubresource(t.form, t.sub):
		return wire.NoResource()
	}
	switch t.verb {
	case "list", "watch", "deletecollection":
		return s.many(x, w, v)
	}
	return s.one(x, w, v)
}

// question returns the handler of a request that stores no object: a review, a token, a
// binding, an eviction. It is nil for other requests.
func (s *Server) question(t target) func(*Exchange, http.ResponseWriter) *kube.Status {
	refuse := func(st *kube.Status) func(*Exchange, http.ResponseWriter) *kube.Status {
		return func(*Exchange, http.ResponseWriter) *kube.Status { return st }
	}
	token := t.sub == "token" && t.res == kube.ServiceAccounts
	bound := t.res == kinds.Bindings || t.res == kube.Pods && (t.sub == "binding" || t.sub == "eviction")
	switch {
	case kinds.IsReview(t.res) && t.sub == "" && t.key.Name == "":
		return s.review
	case kinds.IsReview(t.res), t.res == kinds.Bindings && t.key.Name != "":
		return refuse(wire.NoResource())
	case (token || bound) && t.verb != "create":
		return refuse(wire.MethodNotAllowed())
	case token:
		return s.tokenRequest
	case bound && t.sub == "eviction":
		return s.evict
	case bound:
		return s.bind
	}
	return nil
}

// many handles a request for a collection, or a part of it.
func (s *Server) many(x *Exchange, w http.ResponseWriter, v *view.View) *kube.Status {
	t := x.target
	q, st := store.ParseQuery(x.r.URL.Query(), store.QueryOf{Form: t.form, Verb: t.verb, Namespace: t.key.Namespace, Name: t.one, Shards: s.options.ShardedListAndWatch && !x.quirks.IgnoreShard})
	switch {
	case st != nil:
		return st
	case t.verb == "deletecollection":
		return s.deleteCollection(x, w, q, v)
	case t.verb == "list":
		return s.list(x, w, q, v)
	case v.Refused != nil:
		return v.Refused
	}
	return s.watch(x, w, q, v)
}

// one handles a request for one object.
func (s *Server) one(x *Exchange, w http.ResponseWriter, v *view.View) *kube.Status {
	t := x.target
	switch {
	case t.verb == "get":
		return s.get(x, w, v)
	case t.verb == "create" && (!t.collection && (t.info.BuiltIn || t.sub != "") || t.res.Namespaced && t.key.Namespace == ""):
		return t.notAllowed()
	case t.verb == "create":
		return s.create(x, w, v)
	case t.collection:
		return t.notAllowed()
	case t.verb == "update":
		return s.update(x, w, v)
	case t.verb == "patch":
		return s.patch(x, w, v)
	case t.verb == "delete" && t.sub == "":
		return s.delete(x, w, v)
	}
	return t.notAllowed()
}

// get responds with one object.
func (s *Server) get(x *Exchange, w http.ResponseWriter, v *view.View) *kube.Status {
	if wire.QueryBool(x.r.URL.Query(), "export") {
		return wire.BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	rv := x.r.URL.Query().Get("resourceVersion")
	n, err := store.ParseRevision(rv)
	if err != nil {
		return wire.Raw("resourceVersion: Invalid value: %q: %v", rv, err)
	}
	if st := s.store.WaitFor(x.r.Context(), n); st != nil {
		return st
	}
	o := s.current(x.target)
	switch {
	case o == nil:
		return wire.NotFound(x.target.res, x.target.key.Name)
	case v.Refused != nil:
		return v.Refused
	}
	if st := x.shows(w, v, o); st != nil {
		return st
	}
	if x.answer.Reserve(x.r.Context(), int64(o.Size())) != nil {
		return wire.Throttled(1)
	}
	body := v.Object(o)
	if x.target.sub == "scale" {
		if st := view.Unscalable(x.target.info, o); st != nil {
			return st
		}
		body = v.Scale(o)
	}
	v.Send(w, http.StatusOK, append(body, '\n'))
	return nil
}
