package follow

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/bench/workload"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/internal/protojson"
)

func pod(t testing.TB) []byte {
	k, err := workload.ByPlural("pods")
	if err != nil {
		t.Fatal(err)
	}
	ts, err := k.Templates(workload.Form{Proto: true})
	if err != nil {
		t.Fatal(err)
	}
	return protojson.Close(nil, "v1", "Pod", ts[0].Append(nil, 1, 1000, 5))
}

func bench[T any](b *testing.B) {
	decode, ok := protobuf.DecoderOf[T]("v1", "Pod")
	if !ok {
		b.Fatal("no plan")
	}
	o := pod(b)
	b.SetBytes(int64(len(o)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(o); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAllocations: an object of a struct of eight fields takes at most 5 allocations, a
// whole Pod at most half of those of its generated code.
func TestAllocations(t *testing.T) {
	o := pod(t)
	e, err := protojson.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	eight, _ := protobuf.DecoderOf[Eight]("v1", "Pod")
	whole, _ := protobuf.DecoderOf[*corev1.Pod]("v1", "Pod")
	per := func(decode func() error) float64 {
		return testing.AllocsPerRun(100, func() {
			if err := decode(); err != nil {
				t.Fatal(err)
			}
		})
	}
	ours := per(func() error { _, err := eight(o); return err })
	typed := per(func() error { _, err := whole(o); return err })
	generated := per(func() error { return new(corev1.Pod).Unmarshal(e.Raw) })
	if t.Logf("%.0f, %.0f, generated %.0f", ours, typed, generated); ours > 5 || typed > generated/2 {
		t.Error("too many")
	}
}

func BenchmarkEight(b *testing.B) { bench[Eight](b) }
func BenchmarkTyped(b *testing.B) { bench[*corev1.Pod](b) }
func BenchmarkClientGo(b *testing.B) {
	o := pod(b)
	e, _ := protojson.Open(o)
	b.ReportAllocs()
	for b.Loop() {
		var p corev1.Pod
		if err := p.Unmarshal(e.Raw); err != nil {
			b.Fatal(err)
		}
	}
}
