package cache_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"slices"
	"testing"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

func TestSnapshotDamageIsAlwaysSeen(t *testing.T) {
	good := saved(t, filled[kube.Partial](t, 2), binding)
	refuse := func(t *testing.T, b []byte) {
		t.Helper()
		s := cache.NewStore[kube.Partial]()
		from, err := s.Load(bytes.NewReader(b), binding)
		if !errors.Is(err, cache.ErrSnapshotDamaged) && !errors.Is(err, cache.ErrSnapshotNewer) || from != (cache.Resume{}) || s.Len() != 0 || s.Synced() {
			t.Fatalf("loaded %+v, %v, %d objects, synced %t", from, err, s.Len(), s.Synced())
		}
	}
	for i := range good {
		for _, flip := range []byte{1 << (i % 8), 0xff, good[i]} { // one bit, all, to zero
			b := bytes.Clone(good)
			if b[i] ^= flip; flip != 0 {
				refuse(t, b)
			}
		}
		refuse(t, good[:i])
		refuse(t, slices.Delete(bytes.Clone(good), i, i+1))
	}
	refuse(t, append(bytes.Clone(good), 0))
	refuse(t, append(bytes.Clone(good), good...))
	refuse(t, make([]byte, len(good)))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// forged is a snapshot whose checksums are right.
func forged(head, body []byte) []byte {
	b := append([]byte("listwatch snapshot 1\n"), binary.LittleEndian.AppendUint32(nil, uint32(len(head)))...)
	b = append(b, head...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// unforged takes a snapshot apart.
func unforged(b []byte) (head, body []byte) {
	b = b[len("listwatch snapshot 1\n"):]
	n := binary.LittleEndian.Uint32(b)
	return b[4 : 4+n], b[4+n+4 : len(b)-4]
}

// allocated is how many bytes f takes, released ones included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestSnapshotLiesTakeNoMemory(t *testing.T) {
	head, body := unforged(saved(t, filled[kube.Partial](t, 1), binding))
	claims := func(objects string) []byte {
		return forged(bytes.Replace(head, []byte(`"objects":1`), []byte(`"objects":`+objects), 1), body)
	}
	word := func(at int, n uint32) []byte {
		b := bytes.Clone(body)
		binary.LittleEndian.PutUint32(b[4*at:], n)
		return b
	}
	huge := []byte("listwatch snapshot 1\n\xff\xff\xff\x7f{}")
	tests := map[string][]byte{
		"count":                  claims("5000000"),
		"impossible count":       claims("9000000000000"),
		"negative count":         claims("-1"),
		"object at the limit":    forged(head, word(4, codec.DefaultMaxFrame)),
		"object above the limit": forged(head, word(4, codec.DefaultMaxFrame+1)),
		"name above the limit":   forged(head, word(1, 1<<31)),
		"header":                 huge,
		"same name twice":        forged(bytes.Replace(head, []byte(`"objects":1`), []byte(`"objects":2`), 1), append(bytes.Clone(body), body...)),
		"another name":           forged(head, bytes.Replace(body, []byte("dp0u0"), []byte("dp1u0"), 1)),
		"no object":              forged(head, bytes.Replace(body, []byte(`{"metadata`), []byte(`["metadata`), 1)),
		"no revision":            forged(bytes.Replace(head, []byte(`"revision":"2"`), []byte(`"revision":""`), 1), body),
		"half a header":          forged(head[:len(head)/2], body),
	}
	for name, b := range tests {
		t.Run(name, func(t *testing.T) {
			if n := allocated(func() { fails[kube.Partial](t, b, binding, cache.ErrSnapshotDamaged) }); n > 12<<20 {
				t.Errorf("took %d bytes", n)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	for _, n := range []int{0, 1, 5} {
		head, body := unforged(saved(f, filled[kube.Partial](f, n), binding))
		f.Add(head, body)
	}
	f.Fuzz(func(t *testing.T, head, body []byte) {
		file := forged(head, body)
		for _, b := range [][]byte{file, body} {
			s := cache.NewStore[kube.Partial]()
			var err error
			n := allocated(func() { _, err = s.Load(bytes.NewReader(b), binding) })
			if err != nil && (s.Len() > 0 || s.Synced() || s.Revision() != "") {
				t.Errorf("after %v: %d objects, synced %t, at %q", err, s.Len(), s.Synced(), s.Revision())
			}
			if limit := uint64(16<<20 + 1000*len(b)); n > limit {
				t.Errorf("%d bytes took %d", len(b), n)
			}
		}
	})
}
