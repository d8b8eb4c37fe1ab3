package messages

import (
	"fmt"
	"time"

	"github.com/listwatch/listwatch/internal/printable"
)

// Again says that watches were answered again: of each, how long after the last one had
// ended, in nanoseconds, and how many attempts had failed.
func Again(all [][]int) string {
	most, attempts := 0, 0
	for _, n := range all {
		most, attempts = max(most, n[0]), attempts+n[1]
	}
	text := "watching again after "
	if len(all) > 1 {
		text += "at most "
	}
	text += printable.Rough(time.Duration(most))
	if attempts > 0 {
		text += fmt.Sprintf(" (%s)", printable.Count(attempts, "failed attempt"))
	}
	return text
}

// Relisted says what listings for one reason found: of each, how many objects, and how
// many of them were added, modified and deleted.
func Relisted(cause string, all [][]int) string {
	sums := make([]int, 4)
	for _, n := range all {
		for i := range sums {
			sums[i] += n[i]
		}
	}
	what := ""
	for i, change := range []string{"added", "modified", "deleted"} {
		if n := sums[1+i]; n > 0 {
			what += fmt.Sprintf(", %s %s", printable.Thousands(n), change)
		}
	}
	if what == "" {
		what = ", nothing changed"
	}
	return fmt.Sprintf("%s; relisted %s: %s while away", cause, printable.Count(sums[0], "object"), what[2:])
}
