package ui

import (
	"crypto/rand"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/rates"
)

// change is one entry of the change log. There are many, so its size matters.
type change struct {
	pos, at  int64
	kind     *kind
	life     *life // nil in a gap
	gap      *gap
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

	// chunk is how many entries are allocated at once, and freed.
	chunk = 256
)

// entries are changes in chunks, without a hole. They are never changed.
type entries [][]change

// all yields them, the oldest first.
func (e entries) all() iter.Seq[*change] {
	return func(yield func(*change) bool) {
		for _, c := range e {
			for i := range c {
				if !yield(&c[i]) {
					return
				}
			}
		}
	}
}

// backward yields them, the newest first.
func (e entries) backward() iter.Seq[*change] {
	return func(yield func(*change) bool) {
		for _, c := range slices.Backward(e) {
			for i := range slices.Backward(c) {
				if !yield(&c[i]) {
					return
				}
			}
		}
	}
}

// changelog has the changes of all types in one order. The newest are kept, within maxLog
// bytes; positions are never used again. It is safe for concurrent use.
type changelog struct {
	epoch string
	limit int // bytes

	mu     sync.Mutex
	kept   entries
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
	end := len(l.kept) - 1
	if end < 0 || len(l.kept[end]) == cap(l.kept[end]) {
		l.kept, end = append(l.kept, make([]change, 0, chunk)), end+1
	}
	l.kept[end] = append(l.kept[end], c)
	l.n++
	for l.size += c.size(); l.size > l.limit; l.n-- {
		first := l.kept[0]
		l.size -= first[0].size()
		if l.kept[0] = first[1:]; len(first) == 1 {
			l.kept = slices.Delete(l.kept, 0, 1)
		}
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
func (l *changelog) after(pos int64) (entries, int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.last - pos
	if n < 0 || n > l.n {
		return nil, l.last, false
	}
	var list entries
	for _, c := range slices.Backward(l.kept) {
		if n == 0 {
			break
		}
		c = c[max(0, int64(len(c))-n):]
		list, n = append(list, c), n-int64(len(c))
	}
	slices.Reverse(list)
	return list, l.last, true
}

// state returns the position and the totals of all types there.
func (l *changelog) state() (int64, map[string]rates.Counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, maps.Clone(l.totals)
}

// all returns what is kept.
func (l *changelog) all() entries {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.kept)
}
