package client_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
)

// TestChange keeps what the Go type does not know, and says whether anything differs.
func TestChange(t *testing.T) {
	failure := errors.New("no")
	const before = `{"metadata":{"name":"web","uid":"7"},"spec":{"rules":[{"host":"a","http":{"paths":[1]}},{"host":"b","http":{"paths":[2]}}]}}`
	for name, c := range map[string]struct {
		object  string
		change  func(*ingress) error
		want    string // "" = object
		differs bool
		err     any // a pointer for errors.As, or an error for errors.Is
	}{
		"nothing": {object: before, change: func(*ingress) error { return nil }},
		"the same value": {object: before, change: func(o *ingress) error {
			o.Spec.Rules[0].Host = "a"
			return nil
		}},
		"an element is removed": {object: before, differs: true,
			change: func(o *ingress) error {
				o.Spec.Rules = o.Spec.Rules[1:]
				return nil
			},
			want: `{"metadata":{"name":"web","uid":"7"},"spec":{"rules":[{"host":"b","http":{"paths":[2]}}]}}`},
		"what cannot be paired": {object: before, err: new(*client.AmbiguousError),
			change: func(o *ingress) error {
				o.Spec.Rules = o.Spec.Rules[1:]
				o.Spec.Rules[0].Host = "c"
				return nil
			}},
		"a failure":        {object: before, err: failure, change: func(*ingress) error { return failure }},
		"no JSON":          {object: `{"metadata":`, err: new(*codec.SyntaxError), change: func(*ingress) error { return nil }},
		"another type":     {object: `{"metadata":{"name":"web"},"spec":{"rules":"x"}}`, err: new(*codec.DecodeError), change: func(*ingress) error { return nil }},
		"an array of them": {object: `[]`, err: new(*codec.DecodeError), change: func(*ingress) error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			changed, differs, err := client.Change([]byte(c.object), c.change)
			switch want := c.err.(type) {
			case nil:
				if err != nil {
					t.Fatal(err)
				}
			case error:
				if !errors.Is(err, want) {
					t.Errorf("error %v", err)
				}
				return
			default:
				if err == nil || !errors.As(err, want) {
					t.Errorf("error %T: %v", err, err)
				}
				return
			}
			if c.want == "" {
				c.want = c.object
			}
			if differs != c.differs {
				t.Errorf("differs: %v", differs)
			}
			if diff := cmp.Diff(tree(t, []byte(c.want)), tree(t, changed)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func tree(t *testing.T, b []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}
