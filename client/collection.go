package client

import (
	"context"
	"fmt"
	"net/url"

	"github.com/listwatch/listwatch/kube"
)

// Collection is a typed view of a resource on a server, in one namespace or in all. It
// is a value and may be copied. T is the type that objects are decoded into; see
// package kube.
type Collection[T kube.Object] struct {
	Client    *Client
	Resource  kube.Resource
	Namespace string // empty = all namespaces, or cluster scoped
	Accept    Accept

	// Labels and Fields select the objects of lists, watches and DeleteAll; see Where.
	// The zero values select all. Requests for one object ignore them.
	Labels kube.Selector
	Fields kube.FieldSelector

	// Query is added to the query of each get, list and watch. An example is
	// includeObject=Object for Tables whose rows contain the whole object. It must not
	// contain selectors: see Where.
	Query url.Values

	Subresource string       // of each object, for reads and writes; see Sub
	Write       WriteOptions // of Create, Update, Patch and other writes; see With

	// Written and Deleted, if set, are called after a write that succeeded, before its method
	// returns. Written gets the object of the response. Deleted is called by Delete, and gets
	// the name of the object and, if the response has them, its UID and resourceVersion.
	// Neither is called for dry runs, DeleteAll, and the creation of a subresource, as by Evict.
	Written, Deleted func(kube.Object)
}

// Accept is the Accept header for each kind of request. It selects another
// representation of the same objects, such as a Table. See
// https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources.
type Accept struct {
	Object string // for a single object and a watch; default application/json
	List   string // for a list; default application/json
}

// Of returns the collection of r in all namespaces. For kube.Partial it requests
// PartialObjectMetadata. If T does not decode the metadata of an object, for lack of a
// json tag, or panics for an object without metadata, or if r has no version or plural,
// each request fails: see [Collection.Check].
func Of[T kube.Object](c *Client, r kube.Resource) Collection[T] {
	col := Collection[T]{Client: c, Resource: r}
	var zero T
	switch any(zero).(type) {
	case kube.Partial, *kube.Partial:
		col.Accept = Accept{
			Object: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
			List:   "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
		}
	}
	return col
}

// In returns the collection in one namespace; all namespaces if ns is empty. A key or
// object of another namespace is then an error for every verb.
func (c Collection[T]) In(ns string) Collection[T] {
	c.Namespace = ns
	return c
}

// Where returns the collection of the objects that both selectors match, instead of those
// that c selected. An informer of this collection holds only these objects, is shared in a
// cache.Group only by users of the same selection, and does not load the snapshot of
// another selection.
func (c Collection[T]) Where(labels kube.Selector, fields kube.FieldSelector) Collection[T] {
	c.Labels, c.Fields = labels, fields
	return c
}

// Path returns the URL path of the collection.
func (c Collection[T]) Path() string { return c.Resource.Path(c.Namespace) }

// Ask adds the selectors and c.Query to the query of a list or watch, for callers that
// send the request themselves. Ask changes q, but keeps existing values.
func (c Collection[T]) Ask(q url.Values) url.Values {
	return c.extend(c.selected(q))
}

// selected adds the selectors to the query of a request.
func (c Collection[T]) selected(q url.Values) url.Values {
	if q == nil {
		q = url.Values{}
	}
	if !c.Labels.Empty() {
		q.Set("labelSelector", c.Labels.String())
	}
	if !c.Fields.Empty() {
		q.Set("fieldSelector", c.Fields.String())
	}
	return q
}

// extend adds c.Query to the query of a request.
func (c Collection[T]) extend(q url.Values) url.Values {
	for name, values := range c.Query {
		if q == nil {
			q = url.Values{}
		}
		if !q.Has(name) {
			q[name] = values
		}
	}
	return q
}

// String names the collection in errors and logs: "pods.v1", or
// "pods.v1 in default".
func (c Collection[T]) String() string {
	if c.Namespace == "" {
		return c.Resource.String()
	}
	return c.Resource.String() + " in " + c.Namespace
}

// maxObject limits one object in bytes. etcd refuses 1.5 MiB by default.
const maxObject = 64 << 20

// Get reads the current state of one object, in protobuf or JSON according to
// [Config.Encoding]. A key without a namespace is in the namespace of the collection.
func (c Collection[T]) Get(ctx context.Context, k kube.Key) (T, error) {
	k = c.keyIn(k)
	ask := c
	ask.Accept.Object = c.preferObject()
	b, err := ask.read(ctx, k)
	var o T
	if err == nil {
		if o, err = c.Decoder()(b); err != nil {
			err = fmt.Errorf("get %s: %w", c.named(k), err)
		}
	}
	if c.refuses(ask.Accept.Object, err) {
		return c.Get(ctx, k) // in plain JSON
	}
	if err != nil {
		return *new(T), err
	}
	return o, nil
}

func (c Collection[T]) read(ctx context.Context, k kube.Key) ([]byte, error) {
	path, err := c.objectPath(k)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", c.named(k), err)
	}
	b, err := c.answer(ctx, &Request{Path: path, Query: c.extend(nil), Accept: c.Accept.Object})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", c.named(k), err)
	}
	return b, nil
}
