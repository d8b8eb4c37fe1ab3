package main

import (
	"strings"
	"testing"
)

// TestPiecesOfARawResponseEndWithRunes: a terminal is shown each piece by itself.
func TestPiecesOfARawResponseEndWithRunes(t *testing.T) {
	for text, want := range map[string]int{"": 0, "ab": 2, "abcd": 4, "abcde": 4, "abc\u00e9": 3, "a\U0001f600b": 1, "\U0001f600b": 4, strings.Repeat("\x80", 9): 4} {
		if got := whole([]byte(text), 4); got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
	}
}
