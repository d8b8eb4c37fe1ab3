package apitest

import (
	"net/http"
	"slices"
	"strings"
)

// Match selects requests. Empty fields match everything.
type Match struct {
	Verb      string // list, watch, get, create, update, delete, deletecollection
	Resource  string // "pods", or with the group "deployments.apps"
	Namespace string
	Name      string
	Path      string // exact URL path, for what is no resource
	UserAgent string // a part of it
	Header    string // a header that is there, such as "Impersonate-User", or a part of one: "Accept: as=Table"
	Query     string // a part of the raw query, such as "continue="
	Nth       int    // only the nth request that the rest matches, from 1

	// AfterEvent lets the fault strike a watch when so many events have been
	// sent, bookmarks and the ERROR event included. 0 = before the answer.
	AfterEvent int
}

func (m *Match) matches(x *Exchange) bool {
	t := x.target
	return (m.Verb == "" || m.Verb == t.verb) &&
		(m.Resource == "" || m.Resource == t.res.Plural || m.Resource == t.res.GroupResource()) &&
		(m.Namespace == "" || m.Namespace == t.key.Namespace) &&
		(m.Name == "" || m.Name == t.key.Name) &&
		(m.Path == "" || m.Path == x.r.URL.Path) &&
		strings.Contains(x.r.UserAgent(), m.UserAgent) &&
		(m.Header == "" || m.matchesHeader(x.r.Header)) &&
		strings.Contains(x.r.URL.RawQuery, m.Query) &&
		(m.AfterEvent == 0 || t.verb == "watch")
}

// matchesHeader reports whether one of the values contains the part that is asked
// for.
func (m *Match) matchesHeader(h http.Header) bool {
	name, part, _ := strings.Cut(m.Header, ":")
	return slices.ContainsFunc(h.Values(strings.TrimSpace(name)), func(v string) bool { return strings.Contains(v, strings.TrimSpace(part)) })
}

// Fault is a fault that has been set by [Server.On].
type Fault struct {
	srv     *Server
	match   Match
	handler http.HandlerFunc

	// Guarded by srv.mu.
	seen, hits int
	times      int // 0 = no limit
}

// On sets a fault: h answers the requests that m selects, in place of the
// server or, if it calls [Continue], before it. The constructors of package apitest/faults, such as
// Reset, make common handlers. Of several faults for one
// request the first set comes first. With AfterEvent, h runs within the stream:
// it may write to it, and unless it calls Continue the stream ends after it.
func (s *Server) On(m Match, h http.HandlerFunc) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &Fault{srv: s, match: m, handler: h}
	s.faults = append(s.faults, f)
	return f
}

// Times limits the fault to its first n hits and returns it.
func (f *Fault) Times(n int) *Fault {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	f.times = n
	return f
}

// Remove takes the fault away. What it does at the moment goes on.
func (f *Fault) Remove() {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	f.srv.faults = slices.DeleteFunc(f.srv.faults, func(o *Fault) bool { return o == f })
}

// Hits returns how often the fault has struck.
func (f *Fault) Hits() int {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	return f.hits
}

// match returns the faults that x will meet: before the answer, and after
// events, in order.
func (s *Server) match(x *Exchange) (before, midway []*Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if !f.match.matches(x) {
			continue
		}
		f.seen++
		if f.match.Nth != 0 && f.seen != f.match.Nth {
			continue
		}
		if f.match.AfterEvent > 0 {
			midway = append(midway, f)
			continue
		}
		if f.times == 0 || f.hits < f.times {
			f.hits++
			before = append(before, f)
		}
	}
	slices.SortStableFunc(midway, func(a, b *Fault) int { return a.match.AfterEvent - b.match.AfterEvent })
	return before, midway
}

// take counts a hit of a fault that strikes midway, unless it has had its
// share or has been removed.
func (s *Server) take(f *Fault, x *Exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.times > 0 && f.hits >= f.times || !slices.Contains(s.faults, f) {
		return false
	}
	f.hits++
	return true
}
