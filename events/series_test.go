package events

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCorrelatorIsBounded: by the number of keys, of each kind.
func TestCorrelatorIsBounded(t *testing.T) {
	c := newCorrelator(100, defaultBurst, defaultRefill)
	now := time.Now()
	for i := range 1000 {
		about := Reference{Kind: "Pod", Namespace: "shop", Name: fmt.Sprint("pod-", i)}
		for _, message := range []string{"one", "two"} {
			c.observe(about, Normal, "Synced", message, now)
			c.allows(about, Normal, now)
		}
	}
	got := [...]int{len(c.series.at), c.series.order.Len(), len(c.groups.at), c.groups.order.Len(), len(c.limits.at), c.limits.order.Len()}
	if want := [...]int{100, 100, 100, 100, 100, 100}; got != want {
		t.Errorf("it has %v, want %v", got, want)
	}
}

func TestGroupIsBounded(t *testing.T) {
	g := new(group)
	for i := range uint64(1000) {
		g.joins(i, time.Now())
	}
	if len(g.messages) != similar-1 {
		t.Errorf("it has %d messages, want %d", len(g.messages), similar-1)
	}
}

// TestNamesDiffer: of Events of one moment, about objects of one name.
func TestNamesDiffer(t *testing.T) {
	c := newCorrelator(100, defaultBurst, defaultRefill)
	names := make(map[string]bool)
	now := time.Now()
	for _, at := range []time.Time{now, now, now.Add(time.Nanosecond), now.Add(-time.Hour), now.Add(time.Hour)} {
		for i := range 5 {
			names[c.observe(Reference{Kind: fmt.Sprint("Kind", i, at), Name: "a"}, Normal, "Synced", fmt.Sprint(len(names)), at).name] = true
		}
	}
	if len(names) != 25 {
		t.Errorf("%d names of 25 events", len(names))
	}
}

func TestCombinedMessageIsClippedToo(t *testing.T) {
	c := newCorrelator(100, defaultBurst, defaultRefill)
	var s *series
	for i := range similar {
		s = c.observe(Reference{Kind: "Pod", Name: "a"}, Normal, "Synced", fmt.Sprint(i)+strings.Repeat("x", maxMessage-1), time.Now())
	}
	if len(s.message) != maxMessage || !strings.HasPrefix(s.message, combined+"9x") || !strings.HasSuffix(s.message, "x...") {
		t.Errorf("got %d bytes: %.50q", len(s.message), s.message)
	}
}
