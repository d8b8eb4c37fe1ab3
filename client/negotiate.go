package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/kube"
)

// Response is the body of a list or watch response, in JSON or protobuf. The caller
// must close it.
type Response struct {
	resp    *http.Response
	binary  bool
	refused bool
	refuse  func() // notes that the server's protobuf cannot be decoded
}

// Close closes the body.
func (a *Response) Close() error { return a.resp.Body.Close() }

// Protobuf reports whether the body is protobuf.
func (a *Response) Protobuf() bool { return a.binary }

// Items reads a list: see codec.Items and protobuf.Items.
func (a *Response) Items(max int) (*codec.ListMeta, iter.Seq2[[]byte, error]) {
	if !a.binary {
		return codec.Items(a.resp.Body, max)
	}
	meta, items := protobuf.Items(a.resp.Body, max)
	return meta, guarded(a, items)
}

// Frames reads the frames of a watch: see codec.Frames and protobuf.Frames.
func Frames[V any](a *Response, max int, decode func(codec.Frame) (V, error)) iter.Seq2[V, error] {
	if !a.binary {
		return codec.Frames(a.resp.Body, max, decode)
	}
	return guarded(a, protobuf.Frames(a.resp.Body, max, decode))
}

// Refused reports whether the body was protobuf that cannot be decoded. Later requests
// for the collection ask for JSON.
func (a *Response) Refused() bool { return a.refused }

// guarded returns seq, and notes if it ends in undecodable bytes.
func guarded[V any](a *Response, seq iter.Seq2[V, error]) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for v, err := range seq {
			if err != nil && garbled(err) {
				a.refused = true
				a.refuse()
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

func garbled(err error) bool {
	var syntax *codec.SyntaxError
	var other *codec.NotListError
	return !codec.IsItem(err) && (errors.As(err, &syntax) || errors.As(err, &other))
}

// refusals are the collections, by path, that a server sends in plain JSON only.
type refusals struct{ paths sync.Map }

// Fetch sends a request for a list or a watch of the collection, like Do. If a T can be
// decoded from protobuf ([Config.Encoding]), the server may respond in protobuf. r.Accept
// must be set by the caller, from c.Accept. If T does not decode metadata.managedFields,
// the request asks the server to leave them out, which a server may ignore
// (https://github.com/kubernetes/enhancements/issues/5958). After a 406, this and later
// requests ask for plain JSON.
func (c Collection[T]) Fetch(ctx context.Context, r *Request) (*Response, error) {
	if c.Check() == nil {
		if accept := c.prefer(r.Accept); accept != r.Accept {
			ask := *r
			ask.Accept = accept
			resp, err := c.Do(ctx, &ask)
			var st *kube.Status
			switch {
			case err == nil:
				return &Response{resp: resp, binary: isProtobuf(resp.Header), refuse: c.refuse}, nil
			case !errors.As(err, &st) || st.Code != http.StatusNotAcceptable:
				return nil, err
			}
			c.refuse()
		}
	}
	resp, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Response{resp: resp}, nil
}

// prefer returns the Accept header that is best for a T: accept, with protobuf before
// it, and without managedFields. It is accept itself after a refusal.
func (c Collection[T]) prefer(accept string) string {
	if _, refused := c.Client.refusals.paths.Load(c.form()); refused {
		return accept
	}
	if ignoresManagedFields[T]() && !strings.Contains(accept, "as=Table") {
		accept = withoutManagedFields(accept)
	}
	if c.binary() {
		accept = withProtobuf(accept)
	}
	return accept
}

// preferObject returns the Accept header for one object of the collection.
func (c Collection[T]) preferObject() string {
	if c.Subresource == "scale" || c.check() != nil {
		return c.Accept.Object
	}
	return c.prefer(c.Accept.Object)
}

// refuses reports whether the response to a request for one object shows that the server
// does not serve what accept asks for: err is the status 406, or says that the response
// cannot be decoded. Later requests ask for plain JSON.
func (c Collection[T]) refuses(accept string, err error) bool {
	var st *kube.Status
	var syntax *codec.SyntaxError
	notAcceptable := errors.As(err, &st) && st.Code == http.StatusNotAcceptable
	garbled := strings.Contains(accept, protobuf.MediaType) && errors.As(err, &syntax)
	if accept == c.Accept.Object || !notAcceptable && !garbled {
		return false
	}
	c.refuse()
	return true
}

// Decoder returns a function that decodes an object of the collection from JSON or
// protobuf: see codec.DecoderOf and protobuf.DecoderOf.
func (c Collection[T]) Decoder() func([]byte) (T, error) {
	byJSON := codec.DecoderOf[T]()
	byProtobuf, ok := c.protobuf()
	if !ok {
		return byJSON
	}
	return func(b []byte) (T, error) {
		if protobuf.Is(b) {
			return byProtobuf(b)
		}
		return byJSON(b)
	}
}

// protobuf returns the function that decodes protobuf; false if T cannot be decoded
// from it.
func (c Collection[T]) protobuf() (decode func([]byte) (T, error), ok bool) {
	switch {
	case strings.Contains(c.Accept.Object+c.Accept.List, "as=PartialObjectMetadata"):
		return protobuf.DecoderOf[T]("meta.k8s.io/v1", "PartialObjectMetadata")
	case c.Accept != Accept{}:
		return nil, false
	}
	return protobuf.DecoderOf[T](c.Resource.APIVersion(), c.Resource.Kind)
}

// binary reports whether to request protobuf.
func (c Collection[T]) binary() bool {
	if c.Client.encoding != EncodingAuto {
		return false
	}
	_, ok := c.protobuf()
	return ok
}

// refuse notes that the server sends the collection in plain JSON only.
func (c Collection[T]) refuse() { c.Client.refusals.paths.Store(c.form(), true) }

// form returns the key of refusals: a resource and a representation.
func (c Collection[T]) form() string { return c.Resource.Path("") + " " + c.Accept.Object }

// ignoring holds the results of ignoresManagedFields.
var ignoring sync.Map // reflect.Type to bool

// ignoresManagedFields reports whether a T is decoded to the same value with and without
// metadata.managedFields.
func ignoresManagedFields[T kube.Object]() bool {
	t := reflect.TypeFor[T]()
	known, ok := ignoring.Load(t)
	if !ok {
		known, _ = ignoring.LoadOrStore(t, decodesAlike[T]())
	}
	return known.(bool)
}

func decodesAlike[T kube.Object]() bool {
	const head, tail = `{"apiVersion":"v1","kind":"K","metadata":{"name":"a-name"`, `}}`
	const managed = `,"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]`
	with, err1 := codec.Decode[T]([]byte(head + managed + tail))
	without, err2 := codec.Decode[T]([]byte(head + tail))
	return err1 == nil && err2 == nil && reflect.DeepEqual(with, without)
}

// withoutManagedFields returns an Accept header that asks for accept without
// metadata.managedFields.
func withoutManagedFields(accept string) string {
	const drop = ";drop=metadata.managedFields"
	return strings.ReplaceAll(cmp.Or(accept, "application/json"), ",", drop+",") + drop
}

// withProtobuf returns an Accept header that prefers protobuf over accept, with the
// same parameters.
func withProtobuf(accept string) string {
	const json = "application/json"
	if accept == "" {
		accept = json
	}
	return strings.ReplaceAll(accept, json, protobuf.MediaType) + "," + accept
}

// isProtobuf reports whether a response is protobuf.
func isProtobuf(h http.Header) bool {
	typ, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && typ == protobuf.MediaType
}
