package ui

import (
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Ops of changes.
const (
	opAdded    = "ADDED"
	opModified = "MODIFIED"
	opDeleted  = "DELETED"
	opGap      = "GAP"
)

// change is one entry of the change log.
type change struct {
	pos, at  int64
	kind     *kind
	op       string
	life     *life // nil in GAP
	by, what string
	inferred bool
	gap      *gap
}

// counts are numbers of changes: added, modified, deleted.
type counts [3]int64

func (c *counts) add(op string) {
	switch op {
	case opAdded:
		c[0]++
	case opModified:
		c[1]++
	case opDeleted:
		c[2]++
	}
}

func (c counts) sum() int64 { return c[0] + c[1] + c[2] }

const (
	// maxLog is how many bytes the entries of the change log take, about.
	maxLog = 16 << 20

	// entrySize is about what an entry takes besides its texts.
	entrySize = 160
)

// changelog has the changes of all types in one order. The newest are kept, within maxLog
// bytes; positions are never used again. It is safe for concurrent use.
type changelog struct {
	epoch string
	limit int // bytes

	mu      sync.Mutex
	entries []change // without a hole: the position of entries[0] is last-len+1
	size    int
	last    int64
	totals  map[string]counts // of each type, since the beginning
}

func newLog() *changelog {
	return &changelog{epoch: strings.ToLower(rand.Text()[:8]), limit: maxLog, totals: map[string]counts{}}
}

func (c *change) size() int { return entrySize + len(c.what) + len(c.by) }

// add appends c and returns its position.
func (l *changelog) add(c change) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	c.pos = l.last
	total := l.totals[c.kind.id]
	total.add(c.op)
	l.totals[c.kind.id] = total
	l.entries = append(l.entries, c)
	l.size += c.size()
	drop := 0
	for ; l.size > l.limit; drop++ {
		l.size -= l.entries[drop].size()
	}
	// What was dropped may be in the hands of a reader, and is freed when append moves
	// the rest.
	l.entries = l.entries[drop:]
	return c.pos
}

// position is that of the newest entry.
func (l *changelog) position() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// after returns the entries behind a position, and whether all of them are kept.
func (l *changelog) after(pos int64) ([]change, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.last - pos
	if n < 0 || n > int64(len(l.entries)) {
		return nil, false
	}
	// Entries are never changed, and append leaves those that were returned alone.
	return slices.Clip(l.entries[int64(len(l.entries))-n:]), true
}

// state returns the position and the totals of all types there.
func (l *changelog) state() (int64, map[string]counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, maps.Clone(l.totals)
}

// all returns what is kept.
func (l *changelog) all() []change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.entries)
}
