package diff

import (
	"strings"

	"github.com/listwatch/listwatch/internal/secret"
)

// Again says how the object b differs from a, which had its name before, as far as it is known.
func Again(a, b string) string {
	const again = "Created again"
	changes, more, err := Brief(a, b, 100)
	switch wanted := Wanted(changes); {
	case len(wanted) > 0:
		return again + ": " + Summary(wanted)
	case err != nil, more > 0, strings.Contains(b, `"`+secret.Placeholder+`"`):
		return again
	}
	return again + " with the same content"
}

// Briefly returns what say says of the differences of two objects.
func Briefly(say func([]Change) string) func(a, b string) string {
	return func(a, b string) string {
		changes, _, _ := Brief(a, b, 100)
		return say(changes)
	}
}
