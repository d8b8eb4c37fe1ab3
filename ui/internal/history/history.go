package history

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"unique"

	"github.com/klauspost/compress/s2"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
)

// State is what is known of one state of an object, besides its JSON.
type State struct {
	Pos      int64 // in the change log
	At       int64 // when it arrived here, in milliseconds since 1970
	Op       string
	By       string // who wrote it: the manager of the latest managed fields
	Revision string
	Cells    []unique.Handle[string]
	First    bool // it was there when its type was first listed
	Inferred bool // it was found by comparing a later list
}

// Life is the history of one object, from its creation to its deletion. Its zero value is
// empty. The store that it is given to guards it.
type Life struct {
	newest  compressed.Raw
	states  []kept // the oldest first; the last one is that of newest
	dropped int
}

// kept is a state with its JSON as the difference to that of the state after it.
type kept struct {
	State
	delta []byte // empty for the newest
	alone bool   // delta is the JSON itself, compressed
	whole int    // bytes of the newest state of an object that is gone
}

const (
	// overhead is about what a state takes besides its delta and its cells.
	overhead = 160

	// keyframe: so many states in a row are differences.
	keyframe = 64

	// minDictionary and maxDictionary are the sizes of a JSON that another is stored
	// as a difference to.
	minDictionary, maxDictionary = 64, s2.MaxDictSize
)

func (k *kept) size() int64 { return int64(overhead + len(k.delta) + 8*len(k.Cells) + k.whole) }

// ErrDropped means that a state is not kept, or is not kept any more.
var ErrDropped = errors.New("this state is not kept any more")

// Store limits the memory of histories. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	budget int64
	used   int64
	queue  []*Life // of each state that is not the newest of its object; the oldest first
	since  int64   // states before are incomplete; 0 = none was dropped
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
	if n := len(l.states); n > 0 {
		before, err := l.newest.Raw()
		if err != nil {
			return err
		}
		last := &l.states[n-1]
		last.alone = n%keyframe == 0 || len(next) < minDictionary || len(next) > maxDictionary
		last.delta = pack(before.JSON(), next, last.alone)
		s.used += last.size()
		s.queue = append(s.queue, l)
	}
	l.newest = object
	l.states = append(l.states, kept{State: st})
	s.drop()
	return nil
}

// End says that no state will be added to l, as its object is gone: from now on its newest
// state counts as well, and is dropped after its others.
func (s *Store) End(l *Life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(l.states); n > 0 {
		l.states[n-1].whole = l.newest.MemorySize()
		s.used += l.states[n-1].size()
		s.queue = append(s.queue, l)
		s.drop()
	}
}

// Empty reports whether nothing is kept of l.
func (s *Store) Empty(l *Life) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(l.states) == 0
}

// drop removes the oldest states until the budget holds.
func (s *Store) drop() {
	n := 0
	for ; s.used > s.budget && n < len(s.queue); n++ {
		l := s.queue[n]
		s.used -= l.states[0].size()
		s.since = max(s.since, l.states[0].At)
		l.states[0] = kept{}
		l.states = l.states[1:]
		if l.dropped++; len(l.states) == 0 {
			l.newest = compressed.Raw{}
		}
	}
	if n > 0 {
		s.queue = slices.Delete(s.queue, 0, n)
	}
}

func pack(before, next string, alone bool) []byte {
	var b []byte
	if alone {
		b = s2.Encode(nil, []byte(before))
	} else {
		b = s2.MakeDict([]byte(next), nil).Encode(nil, []byte(before))
	}
	return bytes.Clone(b) // without the room that s2 made for text that it could not compress
}

func (k *kept) unpack(next string) (string, error) {
	var b []byte
	var err error
	if k.alone {
		b, err = s2.Decode(nil, k.delta)
	} else {
		b, err = s2.MakeDict([]byte(next), nil).Decode(nil, k.delta)
	}
	return string(b), err
}

// States returns what is kept of l, the oldest first, and how many states were dropped.
func (s *Store) States(l *Life) ([]State, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := make([]State, len(l.states))
	for i := range l.states {
		states[i] = l.states[i].State
	}
	return states, l.dropped
}

// Packed returns the newest state of l with the object as it was added.
func (s *Store) Packed(l *Life) (State, compressed.Raw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(l.states) == 0 {
		return State{}, compressed.Raw{}
	}
	return l.states[len(l.states)-1].State, l.newest
}

// Newest returns the newest state of l.
func (s *Store) Newest(l *Life) (State, codec.Raw, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(l.states) == 0 {
		return State{}, codec.Raw{}, ErrDropped
	}
	r, err := l.newest.Raw()
	return l.states[len(l.states)-1].State, r, err
}

// At returns the state that l was in at a time, in milliseconds since 1970. ok is false
// where no state as old is kept.
func (s *Store) At(l *Life, at int64) (st State, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(l.states) - 1; i >= 0; i-- {
		if l.states[i].At <= at {
			return l.states[i].State, true
		}
	}
	return State{}, false
}

// JSON returns the object in the state at pos. The error is ErrDropped if it is not kept.
func (s *Store) JSON(l *Life, pos int64) (string, error) {
	s.mu.Lock()
	states, newest := slices.Clone(l.states), l.newest
	s.mu.Unlock()
	i := slices.IndexFunc(states, func(k kept) bool { return k.Pos == pos })
	if i < 0 {
		return "", ErrDropped
	}
	j := i
	for j < len(states)-1 && !states[j].alone {
		j++
	}
	var text string
	if j == len(states)-1 {
		r, err := newest.Raw()
		if err != nil {
			return "", err
		}
		text = r.JSON()
		j--
	}
	for ; j >= i; j-- {
		var err error
		if text, err = states[j].unpack(text); err != nil {
			return "", err
		}
	}
	return text, nil
}

// Text is a state with its JSON.
type Text struct {
	State
	JSON string
	Err  error
}

// Walk returns all that is kept of l, the newest first, as of the moment of the call.
func (s *Store) Walk(l *Life) func(yield func(int, Text) bool) {
	s.mu.Lock()
	states, newest := slices.Clone(l.states), l.newest
	s.mu.Unlock()
	return func(yield func(int, Text) bool) {
		r, err := newest.Raw()
		text := r.JSON()
		for i := len(states) - 1; i >= 0; i-- {
			if i < len(states)-1 && err == nil {
				text, err = states[i].unpack(text)
			}
			if !yield(len(states)-1-i, Text{states[i].State, text, err}) {
				return
			}
		}
	}
}
