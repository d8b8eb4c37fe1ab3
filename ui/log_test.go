package ui

import (
	"fmt"
	"testing"

	"github.com/listwatch/listwatch/ui/internal/chunks"
	"github.com/listwatch/listwatch/ui/internal/history"
)

// TestLogIsInChunks: what is behind a position is the same however the entries lie in
// chunks, and what was dropped is said to be.
func TestLogIsInChunks(t *testing.T) {
	l := newLog()
	l.limit = 1000 * (entrySize + 4)
	k := &kind{id: "pods"}
	const last = 3*chunks.Size + 1000
	for n := int64(1); n <= last; n++ {
		if pos := l.add(change{kind: k, op: history.Added, what: fmt.Sprintf("%04d", n)}); pos != n {
			t.Fatalf("position %d, want %d", pos, n)
		}
		for _, pos := range []int64{n, n - 1, n - chunks.Size, n - 999, n - 1000, n - 1001, n + 1} {
			entries, newest, kept := l.after(pos)
			if want := pos >= 0 && pos <= n && pos >= n-1000; kept != want || newest != n {
				t.Fatalf("after %d of %d: kept is %v and the newest %d, want %v", pos, n, kept, newest, want)
			}
			if !kept {
				continue
			}
			at := pos
			for c := range entries.All() {
				if at++; c.pos != at || c.what != fmt.Sprintf("%04d", at) {
					t.Fatalf("after %d: %d %s, want %d", pos, c.pos, c.what, at)
				}
			}
			if at != n {
				t.Fatalf("after %d: the last is %d, want %d", pos, at, n)
			}
			for c := range entries.Backward() {
				if c.pos != at {
					t.Fatalf("after %d: %d backward, want %d", pos, c.pos, at)
				}
				at--
			}
			if at != pos {
				t.Fatalf("after %d: the first backward is %d", pos, at+1)
			}
		}
	}
}
