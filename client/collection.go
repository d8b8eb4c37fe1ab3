package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Collection is a typed view of a resource on a server, in one namespace or in
// all. It is a value: copy it, keep it, share it. T is what objects are decoded
// into; see package kube.
type Collection[T kube.Object] struct {
	Client    *Client
	Resource  kube.Resource
	Namespace string // empty = all namespaces, or cluster scoped
	Accept    Accept

	// Query is added to the query of each read: get, list and watch. An example is
	// includeObject=Object for Tables whose rows hold the whole object.
	Query url.Values

	Subresource string       // of each object, to read and write; see Sub
	Write       WriteOptions // of Create, Update, Patch and the others; see With
}

// Accept is the Accept header by what is asked for. It is how a client gets
// another shape of the same objects, such as a Table. See
// https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources.
type Accept struct {
	Object string // of a single object and of a watch's events; default application/json
	List   string // of a list; default application/json
}

// Of returns the collection of r in all namespaces. Where T is kube.Partial the
// server is asked for PartialObjectMetadata. A T that does not read the metadata of an
// object, for want of a json tag, or panics for an object without metadata, and a resource
// without a version or plural, are an error of each request: see [Collection.Check].
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

// In returns the collection of one namespace; all namespaces where ns is empty. A key or
// an object of another namespace is then an error, whatever the verb.
func (c Collection[T]) In(ns string) Collection[T] {
	c.Namespace = ns
	return c
}

// Path returns the URL path of the collection.
func (c Collection[T]) Path() string { return c.Resource.Path(c.Namespace) }

// Ask adds c.Query to the query of a request, for those who send it themselves. It
// changes q, where q has no value of the same name.
func (c Collection[T]) Ask(q url.Values) url.Values {
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

// maxObject bounds one object. etcd refuses 1.5 MiB by default.
const maxObject = 64 << 20

// Get reads one object, the most recent state of it, in protobuf or JSON as
// [Config.Encoding] says. A key without a namespace is looked up in that of the
// collection.
func (c Collection[T]) Get(ctx context.Context, k kube.Key) (T, error) {
	k = c.keyIn(k)
	ask, binary := c, c.Subresource == "" && c.check() == nil && c.binary()
	if binary {
		ask.Accept.Object = withProtobuf(c.Accept.Object)
	}
	b, err := ask.read(ctx, k)
	var o T
	if err == nil {
		if o, err = c.Decoder()(b); err != nil {
			err = fmt.Errorf("get %s: %w", c.named(k), err)
		}
	}
	var st *kube.Status
	var syntax *codec.SyntaxError
	if binary && (errors.As(err, &syntax) || errors.As(err, &st) && st.Code == http.StatusNotAcceptable) {
		c.refuse()
		return c.Get(ctx, k) // in JSON
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
	b, err := c.answer(ctx, &Request{Path: path, Query: c.Ask(nil), Accept: c.Accept.Object})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", c.named(k), err)
	}
	return b, nil
}
