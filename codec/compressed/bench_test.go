package compressed

import (
	"runtime"
	"testing"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// warm returns a Compressor with the dictionary that lasts, and pods of the same
// cluster that come later.
func warm(b testing.TB) (*Compressor, [][]byte) {
	var all cluster
	var c Compressor
	for n := range first + window {
		pack(b, &c, all.pod(16*n, 1_000_000+n))
	}
	wires := make([][]byte, 500)
	for n := range wires {
		wires[n] = []byte(all.wire(37*n, 2_000_000+n))
	}
	return &c, wires
}

// each calls f with one after the other.
func each[T any](b *testing.B, of []T, f func(T) error) {
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if err := f(of[n%len(of)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEvent compares what an object costs on its way into a cache.
func BenchmarkEvent(b *testing.B) {
	c, wires := warm(b)
	decode, packed := codec.DecoderOf[Raw](), 0
	b.Run("ParseRaw", func(b *testing.B) {
		each(b, wires, func(wire []byte) error {
			_, err := codec.ParseRaw(wire)
			return err
		})
	})
	b.Run("ParseRawCompress", func(b *testing.B) {
		each(b, wires, func(wire []byte) error {
			r, err := decode(wire)
			if err != nil {
				return err
			}
			r, err = c.Compress(r)
			packed += r.MemorySize()
			return err
		})
		s := c.Stats()
		b.ReportMetric(float64(s.BytesIn)/float64(s.Objects), "before/object")
		b.ReportMetric(float64(s.BytesOut)/float64(s.Objects), "bytes/object")
	})
}

func BenchmarkCompress(b *testing.B) {
	c, wires := warm(b)
	var raws []Raw
	for _, w := range wires {
		r, err := codec.Decode[Raw](w)
		if err != nil {
			b.Fatal(err)
		}
		raws = append(raws, r)
	}
	each(b, raws, func(r Raw) error {
		_, err := c.Compress(r)
		return err
	})
}

func BenchmarkRead(b *testing.B) {
	c, wires := warm(b)
	var packed []Raw
	for _, w := range wires {
		packed = append(packed, pack(b, c, string(w)))
	}
	b.Run("Key", func(b *testing.B) {
		each(b, packed, func(r Raw) error {
			_ = kube.KeyOf(r)
			return nil
		})
	})
	b.Run("Raw", func(b *testing.B) {
		each(b, packed, func(r Raw) error {
			_, err := r.Raw()
			return err
		})
	})
	b.Run("GetLabels", func(b *testing.B) {
		each(b, packed, func(r Raw) error {
			_ = r.GetLabels()
			return nil
		})
	})
	b.Run("Decode", func(b *testing.B) {
		each(b, packed, func(r Raw) error {
			var into kube.Partial
			return r.Decode(&into)
		})
	})
}

// BenchmarkHeap holds 200,000 pods by their keys, and says what one takes, its
// place in the map and the dictionaries included.
func BenchmarkHeap(b *testing.B) {
	const pods = 200_000
	for b.Loop() {
		heap, _ := hold(b, cluster{}, pods)
		b.ReportMetric(float64(heap)/pods, "heap/object")
	}
}

// An entry is what a cache keeps of an object.
type entry struct {
	object   Raw
	uid      string
	revision kube.Revision
	_        [16]byte // which listing delivered it
}

// hold packs n pods into a map and returns the bytes of heap it takes, and what
// was counted.
func hold(t testing.TB, of cluster, n int) (heap int64, s Stats) {
	before := live()
	var c Compressor
	objects := map[kube.Key]entry{}
	for i := range n {
		r := pack(t, &c, of.pod(i, 1_000_000+i))
		objects[kube.KeyOf(r)] = entry{object: r, uid: r.GetUID(), revision: kube.Revision(r.GetResourceVersion())}
	}
	heap = live() - before
	runtime.KeepAlive(objects)
	runtime.KeepAlive(&c)
	return heap, c.Stats()
}

// live returns the bytes of heap in use, pools left out.
func live() int64 {
	runtime.GC()
	runtime.GC() // what pools hold lasts one more
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
