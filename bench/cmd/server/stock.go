package main

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/bench/workload"
)

// base is the revision before the first object's.
const base = 1_000_000_000

// stock is a collection, rendered in one form.
type stock struct {
	wire
	n         int
	templates []workload.Template

	added  []frame // by variant: what stands around an object that is there
	edited []frame // and around one that changes

	frames rendering // of ADDED, in the order of a list
	items  rendering // of a list
}

// frame is what stands around an object.
type frame struct{ head, tail []byte }

func newStock(k workload.Kind, f workload.Form, n int) (*stock, error) {
	templates, err := k.Templates(f)
	if err != nil {
		return nil, err
	}
	s := &stock{wire: newWire(k, f), n: n, templates: templates}
	for _, t := range templates {
		head, tail := s.around("ADDED", t.Len())
		s.added = append(s.added, frame{head, tail})
		head, tail = s.around("MODIFIED", t.Len())
		s.edited = append(s.edited, frame{head, tail})
	}
	s.frames = s.rendering(func(dst []byte, v int, obj []byte) []byte {
		dst = append(dst, s.added[v].head...)
		return append(append(dst, obj...), s.added[v].tail...)
	})
	s.items = s.rendering(func(dst []byte, _ int, obj []byte) []byte { return append(dst, s.item(obj)...) })
	return s, nil
}

// prepare renders what a round will send.
func (s *stock) prepare(paged bool) {
	s.frames.slice(0, 0)
	if paged {
		s.items.slice(0, 0)
	}
}

func variant(i int) int { return i % workload.Variants }

// revision is that of the collection before any event.
func (s *stock) revision() int64 { return base + int64(s.n) }

// part is the objects of one namespace, or all.
type part struct{ lo, n int }

func (s *stock) part(namespace string) (part, error) {
	if namespace == "" {
		return part{0, s.n}, nil
	}
	size := s.n / workload.Namespaces
	for j := range workload.Namespaces {
		if workload.NamespaceName(j) == namespace {
			return part{j * size, size}, nil
		}
	}
	return part{}, fmt.Errorf("no namespace %q", namespace)
}

// target returns the object that the k-th event changes: neighbours in time are
// far apart in the collection.
func (p part) target(k int) int {
	const stride = 7919
	if p.n%stride == 0 {
		return p.lo + k%p.n
	}
	return p.lo + k*stride%p.n
}

// event appends the k-th event of a part.
func (s *stock) event(dst []byte, p part, k int) []byte {
	i := p.target(k)
	v := variant(i)
	whole := s.frames.slice(i, i+1)
	obj := whole[len(s.added[v].head) : len(whole)-len(s.added[v].tail)]
	dst = append(dst, s.edited[v].head...)
	at := len(dst)
	dst = append(dst, obj...)
	s.templates[v].SetRevision(dst[at:], s.revision()+1+int64(k))
	return append(dst, s.edited[v].tail...)
}

// initialBytes is the length of the frames of what exists.
func (s *stock) initialBytes(p part) int {
	total := 0
	for i := p.lo; i < p.lo+p.n; i++ {
		v := variant(i)
		total += len(s.added[v].head) + s.templates[v].Len() + len(s.added[v].tail)
	}
	return total
}

// eventBytes is the length of the first m events of a part.
func (s *stock) eventBytes(p part, m int) int {
	total := 0
	for k := range m {
		v := variant(p.target(k))
		total += len(s.edited[v].head) + s.templates[v].Len() + len(s.edited[v].tail)
	}
	return total
}

// mark returns a BOOKMARK.
func (s *stock) mark(revision int64, initialEnd bool) ([]byte, error) {
	m := metav1.ObjectMeta{ResourceVersion: strconv.FormatInt(revision, 10)}
	if initialEnd {
		m.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	obj, err := s.bookmark(m)
	if err != nil {
		return nil, err
	}
	head, tail := s.around("BOOKMARK", len(obj))
	return append(append(head, obj...), tail...), nil
}
