package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
)

// text is the JSON of the n-th state of an object of about size bytes.
func text(n, size int) string {
	return fmt.Sprintf(`{"metadata":{"name":"a","resourceVersion":"%d"},"spec":%q,"status":{"restarts":%d}}`, 1000+n, strings.Repeat(fmt.Sprint(size, ","), size/4), n)
}

func add(t *testing.T, s *Store, l *Life, c *compressed.Compressor, n, size int) {
	t.Helper()
	raw, err := codec.ParseRaw([]byte(text(n, size)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Compress(compressed.Of(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(l, State{Pos: int64(n), At: int64(n) * 10}, p, raw.JSON()); err != nil {
		t.Fatal(err)
	}
}

// TestEveryStateIsReadAsItWas: over keyframes, and for objects below and above what a
// dictionary may have.
func TestEveryStateIsReadAsItWas(t *testing.T) {
	for _, size := range []int{4, 600, 5000, 80_000} {
		s, l, c := New(1<<30), &Life{}, &compressed.Compressor{}
		for n := range 200 {
			add(t, s, l, c, n, size)
		}
		for n := 1; n < 200; n += 22 {
			got, err := s.JSON(l, int64(n))
			if err != nil || got != text(n, size) {
				t.Fatalf("size %d, state %d: %v\n%s", size, n, err, cmp.Diff(text(n, size), got))
			}
		}
		for i, got := range s.Walk(l) {
			if want := text(199-i, size); got.Err != nil || got.JSON != want {
				t.Fatalf("size %d, state %d from the end: %v\n%s", size, i, got.Err, cmp.Diff(want, got.JSON))
			}
		}
		if size == 5000 && s.Used() > 200*600 {
			t.Errorf("200 states take %d bytes", s.Used())
		}
	}
}

// TestTheOldestStatesAreDropped: over all objects, and never the newest of one.
func TestTheOldestStatesAreDropped(t *testing.T) {
	s, a, b, c := New(3000), &Life{}, &Life{}, &compressed.Compressor{}
	add(t, s, b, c, 0, 5000)
	for n := range 100 {
		add(t, s, a, c, n+1, 5000)
		if s.Used() > 3000 {
			t.Fatalf("%d bytes after %d states", s.Used(), n)
		}
	}
	states, dropped := s.States(a)
	if len(states)+dropped != 100 || dropped == 0 || states[len(states)-1].Pos != 100 {
		t.Errorf("%d states, %d dropped", len(states), dropped)
	}
	if got := s.Since(); got != states[0].At-10 {
		t.Errorf("complete since %d, the oldest state is of %d", got, states[0].At)
	}
	if _, err := s.JSON(a, 1); err != ErrDropped {
		t.Errorf("a dropped state: %v", err)
	}
	if got, err := s.JSON(b, 0); err != nil || got != text(0, 5000) {
		t.Errorf("the only state of an object: %v", err)
	}
	if st, ok := s.At(a, 995); !ok || st.Pos != 99 {
		t.Errorf("at 995: %+v %v", st, ok)
	}
}

// TestAnObjectThatIsGoneIsDroppedToo: as a whole, after its states.
func TestAnObjectThatIsGoneIsDroppedToo(t *testing.T) {
	s, a, b, c := New(3000), &Life{}, &Life{}, &compressed.Compressor{}
	add(t, s, a, c, 1, 5000)
	add(t, s, a, c, 2, 5000)
	s.End(a)
	if s.Empty(a) || s.Used() == 0 {
		t.Fatalf("%d bytes", s.Used())
	}
	for n := range 100 {
		add(t, s, b, c, n+3, 5000)
	}
	if !s.Empty(a) {
		t.Error("it is still kept")
	}
	if !a.newest.IsZero() {
		t.Error("its newest state takes memory")
	}
}
