package history

import (
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/ui/internal/delta"
)

// Op is what happened, in at most 3 bits.
type Op uint8

// The zero Op is nothing.
const (
	Added Op = iota + 1
	Modified
	Deleted
	Gap // of a type: some of its changes are missing
)

var ops = [...]string{Added: "ADDED", Modified: "MODIFIED", Deleted: "DELETED", Gap: "GAP"}

// OpOf returns the op of its text.
func OpOf(text string) Op { return Op(max(0, slices.Index(ops[:], text))) }

// String returns the text: that of an event of a watch, or "GAP".
func (o Op) String() string { return ops[o] }

// State is what is known of one state of an object, besides its JSON. An object has one at
// least, so its size matters.
type State struct {
	Pos      int64  // in the change log
	At       int64  // when it arrived here, in milliseconds since 1970
	By       string // who wrote it: the manager of the latest managed fields
	Revision string
	Cells    archive.Row
	Op       Op
	First    bool // it was there when its type was first listed
	Inferred bool // it was found by comparing a later list
}

// Life is the history of one object, from its creation to its deletion. Its zero value is
// empty. The store that it is given to guards it.
type Life struct {
	state   State
	newest  compressed.Raw // of state
	older   records
	whole   int32 // bytes of newest, if the object is gone
	n       int32 // of older
	dropped int32
	any     bool // a state is kept
}

const (
	// overhead is about what a record takes besides its text.
	overhead = 24

	// keyframe: so many states in a row are differences.
	keyframe = 64
)

// ErrDropped means that a state is not kept, or is not kept any more.
var ErrDropped = errors.New("this state is not kept any more")

// Store limits the memory of histories. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	budget int64
	used   int64
	queue  []*Life // of each state that is not the newest of its object; the oldest first
	since  int64   // states before are incomplete; 0 = none was dropped

	encoder delta.Encoder
	packed  []byte
}

// New returns a store of at most budget bytes for the states that are not the newest of
// their object.
func New(budget int64) *Store { return &Store{budget: budget} }

// Used returns the bytes of all states that are not the newest of their object.
func (s *Store) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Since returns the time of the latest state that was dropped, in milliseconds since
// 1970; 0 = none was.
func (s *Store) Since() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since
}

// Add appends a state to l. The packed object becomes its newest state; next is its JSON.
func (s *Store) Add(l *Life, st State, object compressed.Raw, next string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.any {
		before, err := l.newest.Raw()
		if err != nil {
			return err
		}
		alone := (l.dropped+l.n+1)%keyframe == 0
		r := recordOf(&l.state, &st, s.pack(before.JSON(), next, alone), alone)
		l.older.add(r)
		l.n++
		s.used += r.size()
		s.queue = append(s.queue, l)
	}
	l.any, l.state, l.newest = true, st, object
	s.drop()
	return nil
}

// End says that no state will be added to l, as its object is gone: from now on its newest
// state counts as well, and is dropped after its others.
func (s *Store) End(l *Life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.any {
		l.whole = int32(min(l.newest.MemorySize()+overhead, math.MaxInt32))
		s.used += int64(l.whole)
		s.queue = append(s.queue, l)
		s.drop()
	}
}

// Empty reports whether nothing is kept of l.
func (s *Store) Empty(l *Life) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !l.any
}

// drop removes the oldest states until the budget holds.
func (s *Store) drop() {
	n := 0
	for ; s.used > s.budget && n < len(s.queue); n++ {
		l := s.queue[n]
		s.queue[n] = nil
		if l.dropped++; l.n == 0 {
			s.used -= int64(l.whole)
			s.since = max(s.since, l.state.At)
			*l = Life{dropped: l.dropped}
			continue
		}
		r := l.older.drop()
		l.n--
		s.used -= r.size()
		s.since = max(s.since, r.at())
	}
	s.queue = s.queue[n:]
}

// States returns what is kept of l, the oldest first, and how many states were dropped.
func (s *Store) States(l *Life) ([]State, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var states []State
	for st := range l.all() {
		states = append(states, st)
	}
	slices.Reverse(states)
	return states, int(l.dropped)
}

// Packed returns the newest state of l with the object as it was added.
func (s *Store) Packed(l *Life) (State, compressed.Raw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.state, l.newest
}

// Newest returns the newest state of l.
func (s *Store) Newest(l *Life) (State, codec.Raw, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.any {
		return State{}, codec.Raw{}, ErrDropped
	}
	r, err := l.newest.Raw()
	return l.state, r, err
}

// At returns the state that l was in at a time, in milliseconds since 1970. ok is false
// where no state as old is kept.
func (s *Store) At(l *Life, at int64) (st State, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range l.all() {
		if st.At <= at {
			return st, true
		}
	}
	return State{}, false
}

// JSON returns the object in the state at pos. The error is ErrDropped if it is not kept.
func (s *Store) JSON(l *Life, pos int64) (string, error) {
	var chain []link // from the last whole JSON on
	for st, next := range s.copy(l).all() {
		if next.alone {
			chain = chain[:0]
		}
		if chain = append(chain, next); st.Pos == pos {
			return unpack(chain)
		}
	}
	return "", ErrDropped
}

// Text is a state with its JSON.
type Text struct {
	State
	JSON string
	Err  error
}

// Walk returns all that is kept of l, the newest first, as of the moment of the call.
func (s *Store) Walk(l *Life) func(yield func(int, Text) bool) {
	then := s.copy(l)
	return func(yield func(int, Text) bool) {
		var text string
		var err error
		n := 0
		for st, next := range then.all() {
			if err == nil {
				text, err = next.unpack(text)
			}
			if !yield(n, Text{st, text, err}) {
				return
			}
			n++
		}
	}
}

// copy returns l as it is now.
func (s *Store) copy(l *Life) *Life {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := *l
	c.older = slices.Clone(l.older)
	return &c
}
