package protobuf

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestQuietBodyHasASmallBuffer: a watch of which only bookmarks come does not keep the
// buffer that its initial objects needed, and gets it back when many bytes come.
func TestQuietBodyHasASmallBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, server := io.Pipe()
		go func() {
			defer server.Close()
			for _, size := range []int{100_000, 50, 50, 3_000, 100_000} {
				time.Sleep(time.Minute)
				_, _ = server.Write(bytes.Repeat([]byte{'x'}, size)) // fails if the test has failed
			}
		}()
		r := newReader(body, "frame")
		for i, step := range []struct{ take, size int }{{100_000, 2 * least}, {50, 2 * least}, {50, quiet}, {3_000, quiet}, {100_000, 2 * least}} {
			b, err := r.take(step.take)
			if err != nil || len(b) != step.take || bytes.Trim(b, "x") != nil {
				t.Fatalf("step %d: %d bytes, %v", i, len(b), err)
			}
			if cap(r.buf) > step.size {
				t.Errorf("step %d: the buffer has %d bytes, want at most %d", i, cap(r.buf), step.size)
			}
		}
	})
}
