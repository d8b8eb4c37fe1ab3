// Package clip shortens foreign text for errors and logs.
package clip

import "unicode/utf8"

// Text returns at most so many bytes of s, in whole characters, and adds "..." to what it
// shortened.
func Text(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}
