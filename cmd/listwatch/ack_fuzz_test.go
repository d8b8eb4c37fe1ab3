package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/listwatch/listwatch/internal/printable"
)

// FuzzAcks: whatever the reader of stdout writes, nothing counts as done that was not
// printed, and nothing that is done is taken back.
func FuzzAcks(f *testing.F) {
	f.Add([]byte("5\n7\n6\n"), int64(7))
	f.Add([]byte("8\n-1\n\n 07 \n+3\n99999999999999999999\nx\x1b[31m\n7"), int64(7))
	f.Add([]byte("0 \xfa 0\n"), int64(7))
	f.Add([]byte("Љ\n\u009b31m\n\u202e"), int64(7))
	f.Add(bytes.Repeat([]byte("1"), 2000), int64(7))
	f.Fuzz(func(t *testing.T, b []byte, printed int64) {
		a := &acks{file: io.NopCloser(bytes.NewReader(b)), changed: make(chan struct{}, 1)}
		a.printed.Store(max(0, printed))
		before := int64(0)
		a.read(func(text string) {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, printable.Unsafe) {
				t.Fatalf("it is said to a terminal: %q", text)
			}
			if n := a.done.Load(); n < before || n > a.printed.Load() {
				t.Fatalf("%d are done after %d, of %d", n, before, a.printed.Load())
			}
			before = a.done.Load()
		})
		if n := a.done.Load(); n < before || n > a.printed.Load() {
			t.Fatalf("%d are done after %d, of %d", n, before, a.printed.Load())
		}
	})
}
