package monitor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Freshness is how current the state of a cluster is.
type Freshness struct {
	Cluster    string // a context; empty where there is one cluster
	Namespaces []string
	All        bool      // all namespaces are watched
	AsOf       time.Time // the time of the state; zero where it is current or there is none yet
	Why        string    // why it is not current; empty where it is
}

// Freshness returns the freshness of each cluster, that of its oldest stream. Streams that
// are skipped do not count.
func (m *Monitor) Freshness() []Freshness {
	var clusters []string
	streams := map[string][]*State{}
	for _, s := range m.states() {
		if streams[s.Cluster] == nil {
			clusters = append(clusters, s.Cluster)
		}
		streams[s.Cluster] = append(streams[s.Cluster], s)
	}
	var all []Freshness
	for _, c := range clusters {
		all = append(all, freshness(streams[c]))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range slices.Sorted(maps.Keys(m.absent)) {
		if streams[c] == nil {
			all = append(all, Freshness{Cluster: c, Why: "not reached: " + m.absent[c]})
		}
	}
	return all
}

// freshness returns that of the streams of a cluster.
func freshness(streams []*State) Freshness {
	f := Freshness{Cluster: streams[0].Cluster}
	namespaces := map[string]bool{}
	var behind []*State
	var worst lag
	for _, s := range streams {
		if s.Resource.Namespaced {
			f.All = f.All || s.Namespace == ""
			namespaces[s.Namespace] = true
		}
		l := s.lag()
		if l.why == "" {
			continue
		}
		if behind = append(behind, s); worst.why == "" || !l.asOf.IsZero() && (worst.asOf.IsZero() || l.asOf.Before(worst.asOf)) {
			worst, behind[0], behind[len(behind)-1] = l, s, behind[0]
		}
	}
	if !f.All {
		f.Namespaces = slices.Sorted(maps.Keys(namespaces))
	}
	f.AsOf, f.Why = worst.asOf, worst.why
	if n := len(behind); n > 0 && n < len(streams) {
		s := behind[0].Target
		s.Cluster = ""
		f.Why = s.Label() + ": " + f.Why
		if n > 1 {
			f.Why = fmt.Sprintf("%s, and %d more", f.Why, n-1)
		}
	}
	return f
}

// lag is how far the state of a stream is behind the server's.
type lag struct {
	asOf time.Time // zero = there is no state yet
	why  string    // empty = it is not behind
}

// lag returns how far s is behind.
func (s *State) lag() lag {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.skipped != "":
		return lag{}
	case !s.complete:
		return lag{why: cmp.Or(s.lost.why, "listing")}
	case s.lost.why != "":
		return s.lost
	}
	if s.contact != nil {
		if at := s.contact(); !at.IsZero() && time.Since(at) >= StaleAfter {
			return lag{at, "no contact"}
		}
	}
	return lag{}
}

// lose notes why the state of s is no longer followed, since at. The caller holds mu.
func (s *State) lose(at time.Time, why string) {
	if s.lost.why == "" {
		s.lost.asOf = at
	}
	s.lost.why = why
}
