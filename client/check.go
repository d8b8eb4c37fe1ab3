package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Check returns an error if no list or watch of the collection can succeed. It sends no
// request. Lists and watches call it first, and return its error. The collection is
// invalid if
//
//   - it has no client, or its Resource is incomplete,
//   - it has a namespace although its resource is cluster scoped, or a namespace that
//     cannot be a segment of a path, such as "..",
//   - it has a subresource, or its Query contains a selector, or
//   - T does not decode the metadata of an object, or panics for an object without it.
func (c Collection[T]) Check() error {
	if c.Subresource != "" {
		return fmt.Errorf("subresource %q cannot be listed or watched: use the collection without Sub", c.Subresource)
	}
	return c.check()
}

// check is Check for requests of any kind.
func (c Collection[T]) check() error {
	switch {
	case c.Client == nil:
		return errors.New("the collection has no client: make it by client.Of")
	case c.Resource == kube.Resource{}:
		return errors.New("the resource is zero: give client.Of a kube.Resource with a version and a plural")
	case c.Resource.Version == "" || c.Resource.Plural == "":
		return fmt.Errorf("the resource %+v has no version or no plural: give client.Of one with both", c.Resource)
	case c.Namespace != "" && !c.Resource.Namespaced:
		return fmt.Errorf("the collection has the namespace %q, but %s is cluster scoped: leave out In, or set Namespaced in the kube.Resource", c.Namespace, c.Resource)
	case notSegment(c.Resource.Group), notSegment(c.Resource.Version), notSegment(c.Resource.Plural), notSegment(c.Subresource):
		return fmt.Errorf("the resource %s or the subresource %q cannot be a part of a path", c.Resource, c.Subresource)
	case notSegment(c.Namespace):
		return fmt.Errorf("%q is not the name of a namespace", c.Namespace)
	case c.Query.Has("labelSelector") || c.Query.Has("fieldSelector"):
		return errors.New("the Query of the collection contains a selector: use Where, which informers and snapshots know of")
	case strings.Contains(c.Accept.Object+c.Accept.List, "as=Table"):
		return nil // T is a Table, without metadata of its own
	}
	return checkType[T]() // takes a microsecond
}

// Do sends a request for the collection, such as a list or a watch, by Client.Do, after
// [Collection.Check]. If the server does not serve the resource, the error names it.
func (c Collection[T]) Do(ctx context.Context, r *Request) (*http.Response, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	resp, err := c.Client.Do(ctx, r)
	return resp, c.explain(err)
}

// explain adds the resource to a 404 that does not concern a single object: the
// Resource may have a version, plural or scope that the server does not serve.
func (c Collection[T]) explain(err error) error {
	var st *kube.Status
	if !errors.Is(err, kube.ErrNotFound) || !errors.As(err, &st) || st.Details != nil && st.Details.Name != "" {
		return err
	}
	if c.Subresource != "" {
		return fmt.Errorf("%w; the server may have no subresource %q of %s", err, c.Subresource, c.Resource)
	}
	scope := "cluster scoped"
	if c.Resource.Namespaced {
		scope = "namespaced"
	}
	return fmt.Errorf("%w; the server may not serve %s as a %s resource", err, c.Resource, scope)
}

// confine returns an error if an object is not in the collection: it has another
// namespace, none that can be one, or a namespace although the resource is cluster scoped.
func (c Collection[T]) confine(namespace string) error {
	switch {
	case namespace == "":
	case notSegment(namespace):
		return fmt.Errorf("%q is not the name of a namespace", namespace)
	case !c.Resource.Namespaced:
		return fmt.Errorf("it has the namespace %q, but %s is cluster scoped", namespace, c.Resource)
	case c.Namespace != "" && c.Namespace != namespace:
		return fmt.Errorf("it is in namespace %q, but the collection is in %q", namespace, c.Namespace)
	}
	return nil
}

// notSegment reports whether a server or proxy may read a name as other than one segment of
// a path.
func notSegment(name string) bool {
	return name == "." || name == ".." || strings.ContainsAny(name, "/%")
}

// checkType returns an error if the getters of a T do not return the name, namespace
// and revision of the object that it was decoded from.
func checkType[T kube.Object]() error {
	const namespace, name, revision = "a-namespace", "a-name", "1"
	o, err := codec.Decode[T]([]byte(`{"apiVersion":"v1","kind":"K","metadata":{"namespace":"` + namespace + `","name":"` + name + `","uid":"a-uid","resourceVersion":"` + revision + `"}}`))
	if err != nil || isNil(o) {
		return nil // T needs more than metadata: errors appear with the first object
	}
	for _, part := range []struct{ method, got, want string }{
		{"GetName", o.GetName(), name}, {"GetNamespace", o.GetNamespace(), namespace}, {"GetResourceVersion", o.GetResourceVersion(), revision},
	} {
		if part.got != part.want {
			return fmt.Errorf("type %s does not read the metadata of an object: %s returned %q where it is %q; %s", reflect.TypeFor[T](), part.method, part.got, part.want, tagHint(reflect.TypeFor[T]()))
		}
	}
	return checkBare[T]()
}

// checkBare returns an error if the getters of a T panic for an object without
// metadata, which a server may send. They panic if the metadata is behind a pointer.
func checkBare[T kube.Object]() (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("type %s panics for an object without metadata: embed kube.Meta, not a pointer to it", reflect.TypeFor[T]())
		}
	}()
	o, err := codec.Decode[T]([]byte(`{"apiVersion":"v1","kind":"K"}`))
	if err != nil || isNil(o) {
		return nil
	}
	o.GetName()
	o.GetNamespace()
	o.GetResourceVersion()
	if u, ok := any(o).(interface{ GetUID() string }); ok {
		u.GetUID()
	}
	return nil
}

// tagHint returns which field needs which tag.
func tagHint(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	named := reflect.TypeFor[interface{ GetName() string }]()
	for i := range numField(t) {
		f := t.Field(i)
		if !f.Anonymous || !f.Type.Implements(named) && !reflect.PointerTo(f.Type).Implements(named) {
			continue
		}
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "metadata" {
			return fmt.Sprintf("its field %s needs the tag `json:\"metadata\"`", f.Name)
		}
	}
	return "embed kube.Meta with the tag `json:\"metadata\"`"
}

func numField(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return 0
	}
	return t.NumField()
}

// isNil reports whether o is a nil pointer or interface.
func isNil[T kube.Object](o T) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
