package mutation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache/internal/mutation"
)

func TestPaths(t *testing.T) {
	var many, more []string
	for i := range 20 {
		many = append(many, fmt.Sprintf(`"m%02d":1`, i))
		more = append(more, fmt.Sprintf(`"m%02d":2`, i))
	}
	for name, tt := range map[string]struct {
		was, now string
		want     []string
	}{
		"equal":                          {`{"a":1}`, `{"a":1}`, nil},
		"members":                        {`{"a":{"b":1,"c":2},"d":3}`, `{"a":{"b":1,"c":4},"e":3}`, []string{".a.c", ".d", ".e"}},
		"a name with dots":               {`{"l":{"x.io/y":"1"}}`, `{"l":{"x.io/y":"2"}}`, []string{`.l.x\.io/y`}},
		"an element":                     {`{"a":[{"b":1},{"b":2}]}`, `{"a":[{"b":1},{"b":3}]}`, []string{".a[1].b"}},
		"the order of a list":            {`{"a":[1,2,3]}`, `{"a":[2,1,3]}`, []string{".a[0]", ".a[1]"}},
		"the length of a list":           {`{"a":[1,2,3]}`, `{"a":[1]}`, []string{".a"}},
		"another type":                   {`{"a":[1]}`, `{"a":{"b":1}}`, []string{".a"}},
		"null and nothing":               {`{"a":null}`, `{}`, []string{".a"}},
		"more digits than a float64 has": {`{"a":9007199254740993}`, `{"a":9007199254740992}`, []string{".a"}},
		"no JSON":                        {`{"a":1}`, `{"a":`, []string{"."}},
		"no object":                      {`{"a":1}`, `null`, []string{"."}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, mutation.Paths([]byte(tt.was), []byte(tt.now))); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
	object := func(members []string) []byte { return []byte("{" + strings.Join(members, ",") + "}") }
	if n := len(mutation.Paths(object(many), object(more))); n != 16 {
		t.Errorf("%d paths, want 16", n)
	}
}
