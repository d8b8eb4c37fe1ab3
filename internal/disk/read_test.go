package disk

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReadInput: every size around a piece comes back whole, and the limit is exact.
func TestReadInput(t *testing.T) {
	const limit = 1 << 20
	all := bytes.Repeat([]byte("0123456789abcdef"), limit/16+1)
	for _, n := range []int{0, 1, 511, 512, 513, 1023, 1024, 1025, 4096, 100_000, limit - 1, limit, limit + 1} {
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(all[:n]), "in halves": iotest.HalfReader(bytes.NewReader(all[:n])), "with EOF": iotest.DataErrReader(bytes.NewReader(all[:n]))} {
			b, err := ReadInput("-", r, limit)
			switch {
			case n > limit && (err == nil || !strings.Contains(err.Error(), "stdin is larger than 1048576 bytes")):
				t.Errorf("%d bytes, %s: %v; want that it is too large", n, name, err)
			case n <= limit && (err != nil || !bytes.Equal(b, all[:n])):
				t.Errorf("%d bytes, %s: %d bytes, %v", n, name, len(b), err)
			}
		}
	}
}

// TestReadOfWhatDoesNotEndKeepsNoGarbage: what is allocated is near the limit.
func TestReadOfWhatDoesNotEndKeepsNoGarbage(t *testing.T) {
	const limit = 64 << 20
	r := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			if _, err := ReadInput("-", zeros{}, limit); err == nil {
				b.Fatal("no error")
			}
		}
	})
	if n := r.AllocedBytesPerOp(); n > limit+limit/4 {
		t.Errorf("%d bytes were allocated for a limit of %d", n, limit)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
