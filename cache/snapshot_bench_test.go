package cache_test

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// eight is a projection of eight fields.
type eight struct {
	Metadata struct {
		Namespace       string            `json:"namespace"`
		Name            string            `json:"name"`
		UID             string            `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Created         time.Time         `json:"creationTimestamp"`
		Labels          map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func (o eight) GetNamespace() string       { return o.Metadata.Namespace }
func (o eight) GetName() string            { return o.Metadata.Name }
func (o eight) GetUID() string             { return o.Metadata.UID }
func (o eight) GetResourceVersion() string { return o.Metadata.ResourceVersion }

// benchPod is a pod of 5 KB.
func benchPod(n int) []byte {
	var env strings.Builder
	for i := range 58 {
		fmt.Fprintf(&env, `{"name":"SETTING_NUMBER_%d","value":"the value of setting %d of pod %d"},`, i, i, n)
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-7d4b9c6f5-%05d","namespace":"team-%02d","uid":"8a3f6d0e-5b1c-4c7e-9f2a-%012d",`+
		`"resourceVersion":"%d","creationTimestamp":"2026-03-04T05:06:07Z","labels":{"app":"web","tier":"front","version":"v%d"}},`+
		`"spec":{"nodeName":"node-%03d","containers":[{"name":"web","image":"registry.example.com/web:1.2.3","env":[%s]}]},`+
		`"status":{"phase":"Running","podIP":"10.0.%d.%d"}}`,
		n, n%40, n, 100_000+n, n%9, n%500, strings.TrimSuffix(env.String(), ","), n>>8&255, n&255)
}

const benchObjects = 30_000

// benchStore returns a store of 30,000 pods and how many bytes they were.
func benchStore[T kube.Object](b *testing.B) (*cache.RWStore[T], int64) {
	s, size := cache.NewStore[T](), int64(0)
	s.Apply(watch.Event[T]{Type: watch.Restart})
	for n := range benchObjects {
		pod := benchPod(n)
		size += int64(len(pod))
		s.Apply(eventOf[T](b, watch.Added, pod))
	}
	s.Apply(watch.Event[T]{Type: watch.Synced, Revision: kube.Revision(strconv.Itoa(200_000))})
	return s, size
}

func benchSave[T kube.Object](b *testing.B) {
	s, size := benchStore[T](b)
	file := len(saved(b, s, binding))
	b.SetBytes(size) // of the pods, so that Raw and a projection compare
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Save(io.Discard, binding); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(file)/1e6, "MB-file")
}

func BenchmarkSave(b *testing.B) {
	b.Run("Raw", benchSave[codec.Raw])
	b.Run("struct", benchSave[eight])
}

func benchLoad[T kube.Object](b *testing.B) {
	s, size := benchStore[T](b)
	file := saved(b, s, binding)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := cache.NewStore[T]().Load(bytes.NewReader(file), binding); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	b.Run("Raw", benchLoad[codec.Raw])
	b.Run("struct", benchLoad[eight])
}

// BenchmarkSaveFile includes the wait for the disk.
func BenchmarkSaveFile(b *testing.B) {
	s, size := benchStore[codec.Raw](b)
	path := filepath.Join(b.TempDir(), "pods")
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.SaveFile(path, binding); err != nil {
			b.Fatal(err)
		}
	}
}
