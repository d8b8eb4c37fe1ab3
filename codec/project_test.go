package codec

import (
	"reflect"
	"testing"
	"time"
)

func TestDecodeSeesOnlyWhatTheTypeHolds(t *testing.T) {
	type embedded struct {
		E int `json:"e"`
	}
	type target struct {
		embedded
		A    int                 `json:"a"`
		Next *target             `json:"next"`
		List []struct{ X int }   `json:"list"`
		Map  map[string]embedded `json:"map"`
		Any  any                 `json:"any"`
		When time.Time           `json:"when"`
	}
	tests := []struct{ name, in, want string }{
		{"nothing to cut", `{"a":1,"list":[{"X":2}]}`, `{"a":1,"list":[{"X":2}]}`},
		{"first", `{"z":{"a":[1]},"a":1}`, `{"a":1}`},
		{"last", `{"a":1,"z":2}`, `{"a":1}`},
		{"all", `{"x":1,"y":2,"z":3}`, `{}`},
		{"in turns", `{"x":1,"a":2,"y":3,"y":4,"e":5,"z":6}`, `{"a":2,"e":5}`},
		{"in lists and maps", `{"list":[{"X":1,"y":2},{"y":3},null,4],"map":{"k":{"e":1,"f":2}}}`, `{"list":[{"X":1},{},null,4],"map":{"k":{"e":1}}}`},
		{"kept whole", `{"any":{"z":1},"when":{"z":1}}`, `{"any":{"z":1},"when":{"z":1}}`},
		{"in itself", `{"next":{"z":1,"next":{"a":1,"z":2}}}`, `{"next":{"next":{"a":1}}}`},
		{"letter case", `{"A":1,"a":2,"Z":3}`, `{"a":2}`}, // A is the name of a field
		{"escapes and space", ` { "\u0061" : 1 , "z" : 2 } `, ` { "\u0061" : 1 } `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := projector{parser: parser{b: []byte(test.in)}}
			p.value(shapeOf(reflect.TypeFor[target]()))
			p.end()
			if got := string(p.result()); got != test.want || p.err != nil {
				t.Errorf("got %s, %v; want %s", got, p.err, test.want)
			}
		})
	}
}

type EmbedsA struct {
	*EmbedsB
	*EmbedsA
	X int
}

type EmbedsB struct {
	*EmbedsA
	*EmbedsB
	Y int
}

func TestShapeOfTypesThatEmbedEachOtherEnds(t *testing.T) {
	s := shapeOf(reflect.TypeFor[EmbedsA]())
	if s.fields["X"] == nil || s.fields["Y"] == nil {
		t.Errorf("got %v", s.fields)
	}
}
