package ui

import (
	"crypto/rand"
	"maps"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/ui/internal/chunks"
	"github.com/listwatch/listwatch/ui/internal/gaps"
	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/rates"
)

// change is one entry of the change log. There are many, so its size matters.
type change struct {
	pos, at  int64
	kind     *kind
	life     *life // nil in a gap
	gap      *gaps.Gap
	by       text
	what     string
	op       history.Op
	inferred bool
}

const (
	// maxLog is how many bytes the entries of the change log take, about.
	maxLog = 10 << 20

	// entrySize is about what an entry takes besides its texts.
	entrySize = 88
)

// changelog has the changes of all types in one order. The newest are kept, within maxLog
// bytes; positions are never used again. It is safe for concurrent use.
type changelog struct {
	epoch string
	limit int // bytes

	mu     sync.Mutex
	kept   chunks.List[change]
	n      int64 // how many are kept: the position of the first is last-n+1
	size   int
	last   int64
	totals map[string]rates.Counts // of each type, since the beginning
}

func newLog() *changelog {
	return &changelog{epoch: strings.ToLower(rand.Text()[:8]), limit: maxLog, totals: map[string]rates.Counts{}}
}

func (c *change) size() int { return entrySize + len(c.what) }

// add appends c and returns its position.
func (l *changelog) add(c change) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	c.pos = l.last
	total := l.totals[c.kind.id]
	total.Add(c.op)
	l.totals[c.kind.id] = total
	l.kept.Append(c)
	l.n++
	for l.size += c.size(); l.size > l.limit; l.n-- {
		l.size -= l.kept.First().size()
		l.kept.Drop()
	}
	return c.pos
}

// position is that of the newest entry.
func (l *changelog) position() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// after returns the entries behind a position, that of the newest of them, and whether all
// of them are kept.
func (l *changelog) after(pos int64) (chunks.List[change], int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.last - pos
	if n < 0 || n > l.n {
		return nil, l.last, false
	}
	return l.kept.Last(n), l.last, true
}

// state returns the position and the totals of all types there.
func (l *changelog) state() (int64, map[string]rates.Counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, maps.Clone(l.totals)
}

// all returns what is kept.
func (l *changelog) all() chunks.List[change] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.Clone()
}
