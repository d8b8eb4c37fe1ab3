package events

import (
	"hash/maphash"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// The numbers of client-go.
const (
	defaultKeys   = 4096
	defaultBurst  = 25
	defaultRefill = 5 * time.Minute

	similar       = 10 // from this number on, different messages are combined
	similarWithin = 10 * time.Minute
	combined      = "(combined from similar events): "
)

// series is one Event that has happened once or more often.
type series struct {
	name     string
	about    Reference
	typ      Type
	reason   string
	combined bool // of several messages

	// Guarded by Recorder.mu.
	message     string // the last one
	first, last time.Time
	count       int  // occurrences, filtered and dropped ones included
	fresh       int  // occurrences that are not written yet
	waiting     bool // in the queue

	// Used by the writer only.
	stored bool // the server has it, or had it
	unsure bool // the server may have it: a request to create it got no response
}

// identity is the key of Events that are counted as one.
type identity struct {
	about   Reference
	typ     Type
	reason  string
	message string // empty for combined Events
}

// kind is the key of Events whose messages are combined when they become many.
type kind struct {
	about  Reference
	typ    Type
	reason string
}

// budget is the key of Events that share a rate limit.
type budget struct {
	about Reference
	typ   Type
}

// correlator finds the series that an Event belongs to. It is not safe for concurrent
// use.
type correlator struct {
	seed   maphash.Seed
	burst  int
	refill time.Duration
	nanos  int64 // of the last name

	series *lru[identity, *series]
	groups *lru[kind, *group]
	limits *lru[budget, *rate.Limiter]
}

func newCorrelator(keys, burst int, refill time.Duration) *correlator {
	return &correlator{
		seed: maphash.MakeSeed(), burst: burst, refill: refill,
		series: newLRU[identity, *series](keys),
		groups: newLRU[kind, *group](keys),
		limits: newLRU[budget, *rate.Limiter](keys),
	}
}

// observe counts an Event and returns its series.
func (c *correlator) observe(about Reference, typ Type, reason, message string, now time.Time) *series {
	g := c.groups.get(kind{about.object(), typ, reason}, func() *group { return new(group) })
	several := g.joins(maphash.String(c.seed, message), now)

	key := identity{about, typ, reason, message}
	key.about.ResourceVersion = ""
	if several {
		key.about, key.message = about.object(), ""
		about.FieldPath = "" // they may name different parts
		message = shorten(combined+message, maxMessage)
	}
	s := c.series.get(key, func() *series {
		// Two objects with one name may have Events in the same nanosecond.
		c.nanos = max(c.nanos+1, now.UnixNano())
		return &series{name: nameOf(about.Name, c.nanos), about: about, typ: typ, reason: reason, combined: several, first: now}
	})
	s.message, s.last = message, now
	s.count++
	return s
}

// allows reports whether one more Event about the object may be written now.
func (c *correlator) allows(about Reference, typ Type, now time.Time) bool {
	return c.limits.get(budget{about.object(), typ}, func() *rate.Limiter {
		return rate.NewLimiter(rate.Every(c.refill), c.burst)
	}).AllowN(now, 1)
}

// group remembers the first messages of similar Events, as hashes to save memory.
type group struct {
	messages []uint64
	last     time.Time
}

// joins reports whether the message is to be combined with others. Messages that already
// have their own Event keep it. After similarWithin without Events the group is reset.
func (g *group) joins(message uint64, now time.Time) bool {
	if now.Sub(g.last) > similarWithin {
		g.messages = nil
	}
	g.last = now
	if slices.Contains(g.messages, message) {
		return false
	}
	if len(g.messages) == similar-1 {
		return true
	}
	g.messages = append(g.messages, message)
	return false
}
