package causes_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/listwatch/listwatch/apitest/internal/causes"
	"github.com/listwatch/listwatch/kube"
)

// TestList: whatever is added, the number and the bytes stay within the limits, and the text
// is cut between characters.
func TestList(t *testing.T) {
	for _, c := range []struct {
		what           string
		field, message string
		n, want        int
	}{
		{"few", "metadata.name", "Required value", 3, 3},
		{"many", "f", "m", 5000, causes.Most},
		{"long", "f", strings.Repeat("é", causes.MostBytes/4), 10, 2},
		{"one that is longer than all may be", "ff", strings.Repeat("é", causes.MostBytes), 10, 1},
		{"of a long field", strings.Repeat("é", causes.MostBytes), "", 5, 5},
	} {
		var l causes.List
		for range c.n {
			l.Add(kube.StatusCause{Reason: "R", Field: c.field, Message: c.message})
		}
		size := 0
		for _, cause := range l.Causes {
			size += len(cause.Field) + len(cause.Message)
			if !utf8.ValidString(cause.Message) || !utf8.ValidString(cause.Field) || len(cause.Field) > causes.MostField {
				t.Errorf("%s: a cause of %d and %d bytes", c.what, len(cause.Field), len(cause.Message))
			}
		}
		if len(l.Causes) != c.want || size > causes.MostBytes {
			t.Errorf("%s: %d causes of %d bytes, want %d", c.what, len(l.Causes), size, c.want)
		}
	}
}
