package apitest

import (
	"net/http"
	"slices"
	"strings"
)

// Match selects requests. Empty fields match everything.
type Match struct {
	Verb      string // list, watch, get, create, update, patch, delete, deletecollection
	Resource  string // "pods", or with the group "deployments.apps"
	Namespace string
	Name      string
	Path      string // exact URL path, for requests outside of resources
	UserAgent string // substring
	Header    string // a header that must exist, such as "Impersonate-User", or a substring of one: "Accept: as=Table"
	Query     string // substring of the raw query, such as "continue="
	Nth       int    // only the n-th request that matches otherwise, from 1

	// AfterEvent applies the fault to a watch when that many events have been sent,
	// bookmarks and the ERROR event included. 0 = before the response.
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

// matchesHeader reports whether one of the values contains the substring.
func (m *Match) matchesHeader(h http.Header) bool {
	name, part, _ := strings.Cut(m.Header, ":")
	return slices.ContainsFunc(h.Values(strings.TrimSpace(name)), func(v string) bool { return strings.Contains(v, strings.TrimSpace(part)) })
}

// Fault is a fault that was set by [Server.On].
type Fault struct {
	srv     *Server
	match   Match
	handler http.HandlerFunc

	// Guarded by srv.mu.
	seen, hits int
	times      int // 0 = no limit
}

// On sets a fault: h handles the requests that m selects, instead of the server or, if
// it calls [Continue], before it. The functions of package apitest/faults, such as
// Reset, return common handlers. Several faults for one request apply in the order in
// which they were set. With AfterEvent, h runs within the stream of a watch: it may write to the
// stream, which ends after h unless h calls Continue.
func (s *Server) On(m Match, h http.HandlerFunc) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &Fault{srv: s, match: m, handler: h}
	s.faults = append(s.faults, f)
	return f
}

// Times limits the fault to its next n hits and returns it.
func (f *Fault) Times(n int) *Fault {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	f.times = n
	return f
}

// Remove removes the fault. Handlers that are running continue.
func (f *Fault) Remove() {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	f.srv.faults = slices.DeleteFunc(f.srv.faults, func(o *Fault) bool { return o == f })
}

// Hits returns how often the fault was applied.
func (f *Fault) Hits() int {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	return f.hits
}

// match returns the faults for x: before the response, and after events, in order.
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

// take counts a hit of a fault within a stream. It returns false if the fault was
// removed or has no hits left.
func (s *Server) take(f *Fault, x *Exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.times > 0 && f.hits >= f.times || !slices.Contains(s.faults, f) {
		return false
	}
	f.hits++
	return true
}
