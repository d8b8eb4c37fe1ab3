package fake

import (
	"io"
	"testing"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
)

// TestScenariosAddUp: which scenarios make a suite fail.
func TestScenariosAddUp(t *testing.T) {
	for _, c := range []struct {
		failing, absent, unused []string
		allow                   bool
		want                    string
	}{
		{nil, nil, nil, false, ""},
		{[]string{"b", "a"}, nil, nil, false, "2 of 9 scenarios failed: a, b"},
		{nil, []string{"c"}, nil, true, "the client never came in 1 scenario: c"},
		{[]string{"b"}, []string{"c"}, nil, false, "1 of 9 scenarios failed: b; the client never came in 1 scenario: c"},
		{nil, nil, []string{"e", "d"}, false, "2 scenarios not exercised: d, e; --allow-not-exercised if your client need not use what they are about"},
		{nil, nil, []string{"e", "d"}, true, ""},
	} {
		s := &suite{talk: messages.New(io.Discard, "text", true), failing: c.failing, absent: c.absent, unused: c.unused, flags: &testFlags{allowUnused: c.allow}}
		got := ""
		if err := s.sum(9); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
