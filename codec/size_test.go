package codec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/codec"
)

func TestSizerOf(t *testing.T) {
	type inner struct{ A, B string }
	type object struct {
		Name  string
		Count int64
		Tags  []string
		Inner *inner
		Many  []inner
		Map   map[string]string
		Any   any
		Bytes []byte
	}
	sizeOf := codec.SizerOf[object]()
	empty := sizeOf(object{})
	for _, tt := range []struct {
		name string
		o    object
		more int
	}{
		{"a string", object{Name: "12345"}, 5},
		{"strings", object{Tags: []string{"a", "bcd"}}, 2*16 + 4},
		{"room for more", object{Tags: make([]string, 0, 3)}, 3 * 16},
		{"a pointer", object{Inner: &inner{A: "x"}}, 32 + 1},
		{"structs", object{Many: []inner{{"x", "y"}, {"z", ""}}}, 2*32 + 3},
		{"a map", object{Map: map[string]string{"k": "value"}}, 48 + 32 + 10 + 6},
		{"an interface", object{Any: "text"}, 16 + 4},
		{"bytes", object{Bytes: make([]byte, 100)}, 100},
	} {
		if got := sizeOf(tt.o) - empty; got != tt.more {
			t.Errorf("%s: %d more bytes than an empty one, want %d", tt.name, got, tt.more)
		}
	}
	type ring struct{ Next *ring }
	loop := &ring{}
	loop.Next = loop
	if n := codec.SizerOf[*ring]()(loop); n <= 0 || n > 1<<10 {
		t.Errorf("a value that refers to itself: %d bytes", n)
	}
}

func TestSizerOfRawIsItsOwn(t *testing.T) {
	r, err := codec.ParseRaw([]byte(`{"metadata":{"name":"a"},"data":"` + strings.Repeat("x", 1000) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := codec.SizerOf[codec.Raw]()(r), r.MemorySize()+16; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// parsed keeps an object and what was found in it.
type parsed struct {
	codec.Raw
	Found map[string]string
}

func (parsed) Size() int { return 1 }

// TestSizerOfCountsWhatIsBesideARaw: a method Size, which Kubernetes' own types have, is
// that of a protobuf, and one that is embedded knows nothing of the fields around it.
func TestSizerOfCountsWhatIsBesideARaw(t *testing.T) {
	r, err := codec.ParseRaw([]byte(`{"metadata":{"name":"a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i := range 100 {
		found[fmt.Sprintf("key-%02d", i)] = "value"
	}
	want := r.MemorySize() + 16 + 8 + 48 + 100*(32+10+len("key-00")+len("value"))
	if got := codec.SizerOf[parsed]()(parsed{r, found}); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if got := codec.SizerOf[*parsed]()(&parsed{r, found}); got != want+8 {
		t.Errorf("behind a pointer: %d bytes, want %d", got, want+8)
	}
	if got, want := codec.SizerOf[codec.RawFull]()(codec.RawFull{Raw: r}), r.MemorySize()+16; got != want {
		t.Errorf("a RawFull: %d bytes, want %d", got, want)
	}
}

// TestSizerOfTimesHaveNoZones: all times share one description of a zone, of kilobytes,
// which the times of Kubernetes' own types refer to.
func TestSizerOfTimesHaveNoZones(t *testing.T) {
	zone := time.FixedZone("a long name of a zone", 3600)
	sizeOf := codec.SizerOf[[]time.Time]()
	if got, want := sizeOf([]time.Time{time.Unix(1, 0).In(zone), time.Unix(2, 0).UTC()}), 24+2*24; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}
