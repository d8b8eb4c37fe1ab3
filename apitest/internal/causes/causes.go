// Package causes collects the causes of a refusal, within limits.
package causes

import (
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// Limits of the causes of one refusal: their number, and the bytes of their fields and
// messages; of a field by itself.
const Most, MostBytes, MostField = 1000, 256 << 10, 1 << 10

// List collects causes up to the limits: the last one is cut, further ones are left out.
type List struct {
	Causes []kube.StatusCause
	bytes  int
}

// Full reports whether further causes are left out.
func (l *List) Full() bool { return len(l.Causes) >= Most || l.bytes >= MostBytes }

// Add adds a cause.
func (l *List) Add(c kube.StatusCause) {
	if l.Full() {
		return
	}
	left := MostBytes - l.bytes
	c.Field = Cut(c.Field, min(left, MostField))
	c.Message = Cut(c.Message, left-len(c.Field))
	l.Causes, l.bytes = append(l.Causes, c), l.bytes+len(c.Field)+len(c.Message)
}

// Append adds causes.
func (l *List) Append(causes ...kube.StatusCause) {
	for _, c := range causes {
		l.Add(c)
	}
}

// Cut returns the first characters of s, of at most n bytes.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
