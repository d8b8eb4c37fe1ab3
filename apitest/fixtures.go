package apitest

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/internal/yamljson"
	"github.com/listwatch/listwatch/kube"
)

// Object returns an object, decoded into a T by encoding/json; false if there is none.
// An object that does not fit fails the test.
func Object[T any](s *Server, r kube.Resource, key kube.Key) (o T, ok bool) {
	b := s.Get(r, key)
	if b == nil {
		return o, false
	}
	if err := json.Unmarshal(b, &o); err != nil {
		s.fail("decode %s %s: %v", r.GroupResource(), key, err)
	}
	return o, true
}

// Objects returns the objects of r, sorted by key, decoded as by [Object].
func Objects[T any](s *Server, r kube.Resource) []T {
	bodies, _ := s.List(r)
	list := make([]T, len(bodies))
	for i, b := range bodies {
		if err := json.Unmarshal(b, &list[i]); err != nil {
			s.fail("decode object %d of %s: %v", i+1, r.GroupResource(), err)
		}
	}
	return list
}

// PutYAML puts the objects of YAML documents, like [Server.Put], in their order: a
// CustomResourceDefinition must precede its resources. Each document has its apiVersion
// and kind. It returns the revision of the last object.
func (s *Server) PutYAML(documents string) (rev kube.Revision) {
	dec := yamljson.NewDecoder([]byte(documents), yamljson.Limits{})
	for n := 1; ; n++ {
		v, line, err := dec.ValueAt()
		if errors.Is(err, io.EOF) {
			return rev
		}
		if err != nil {
			s.fail("document %d: %v", n, err)
			return rev
		}
		if v == nil { // only comments
			continue
		}
		o, _ := v.(map[string]any)
		apiVersion, _ := o["apiVersion"].(string)
		kind, _ := o["kind"].(string)
		s.store.Lock()
		info := s.store.InfoOf(apiVersion, kind)
		s.store.Unlock()
		if info == nil {
			s.fail("document %d, line %d: the server has no kind %q in %q", n, line, store.Clipped(kind), store.Clipped(apiVersion))
			return rev
		}
		rev = s.Put(info.Resource, v)
	}
}
