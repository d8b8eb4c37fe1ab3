package watch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/url"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/internal/uid"
	"github.com/listwatch/listwatch/kube"
)

// errBadEvent is the error of an invalid event.
var errBadEvent = errors.New("bad event")

// Once sends one WATCH request from a revision and yields its events until the server ends the
// watch. An empty revision requests the initial objects first: they are yielded as ADDED, followed
// by SYNCED.
//
// An object that cannot be decoded is yielded as a *codec.ItemError together with the
// readable part of its event, and the watch continues. Any other error is the last
// element, such as the *kube.Status of an ERROR event. Without such an error the server
// ended the watch normally. If the server refuses o.Shard, Once yields the error of the
// server, and does not send the request again without the shard.
func Once[T kube.Object](ctx context.Context, c client.Collection[T], from kube.Revision, o Options) iter.Seq2[Event[T], error] {
	o = o.defaults()
	return func(yield func(Event[T], error) bool) {
		for ev, err := range once(ctx, c, o.query(from, from == "", rand.Float64), o, func() {}) {
			if ev.Type != outside && !yield(ev, err) {
				return
			}
		}
	}
}

// once calls opened when the server has responded 200.
func once[T kube.Object](ctx context.Context, c client.Collection[T], q url.Values, o Options, opened func()) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		body, err := c.Fetch(ctx, &client.Request{Path: c.Path(), Query: c.Ask(q), Accept: c.Accept.Object, Watch: true, Idle: o.Idle})
		if err != nil {
			yield(Event[T]{}, err)
			return
		}
		defer body.Close()
		opened()
		for ev, err := range client.Frames(body, o.MaxItem, frameOf(c, o.Shard)) {
			if ctx.Err() != nil { // thousands may have arrived, and are not wanted any more
				ev, err = Event[T]{}, context.Cause(ctx)
			}
			if err != nil && !codec.IsItem(err) {
				err = c.Client.Conceal(err)
			}
			if !yield(ev, err) || err != nil && !codec.IsItem(err) {
				return
			}
		}
	}
}

// frameOf returns the function that decodes an event from a frame of a watch of c. Its
// error ends the watch, unless it is a *codec.ItemError.
func frameOf[T kube.Object](c client.Collection[T], s kube.Shard) func(codec.Frame) (Event[T], error) {
	decode := decoderOf(c, s)
	return func(f codec.Frame) (Event[T], error) {
		switch Type(f.Type) {
		case Added, Modified, Deleted:
			return decode(f)
		case Bookmark:
			return bookmark[T](f.Object, c.Resource.Kind)
		case "ERROR":
			return Event[T]{}, statusOf(f.Object)
		}
		return Event[T]{}, fmt.Errorf("%w: unknown type%s", errBadEvent, named(f.Type))
	}
}

// named returns the name of an unknown type if it looks like one.
func named(typ string) string {
	upper := func(r rune) bool { return 'A' <= r && r <= 'Z' }
	if len(typ) > 20 || strings.TrimFunc(typ, upper) != "" {
		return ""
	}
	return fmt.Sprintf(" %q", typ)
}

// manyInside is after how many events of the shard, and no other, a server is taken to filter.
const manyInside = 64

// sharding tells the objects of a shard from those of others.
type sharding struct {
	kube.Shard
	inside int // objects since one that was not in the shard
}

// filtered reports whether the server is taken to filter.
func (s *sharding) filtered() bool { return s.All() || s.inside >= manyInside }

// outside reports whether an object is not in the shard, and returns its revision.
func (s *sharding) outside(object []byte) (kube.Revision, bool) {
	rev, out := codec.Outside(s.Shard, object)
	if s.inside++; out {
		s.inside = 0
	}
	if kube.CheckIdentity(kube.Key{}, "", rev) != nil {
		rev = ""
	}
	return rev, out
}

// decoderOf returns the function that decodes an event from a frame. It is called once for
// each request, so that events need no type switch. Objects that are not in the shard are not
// decoded, but for the first one that comes after many of the shard.
func decoderOf[T kube.Object](c client.Collection[T], shard kube.Shard) func(codec.Frame) (Event[T], error) {
	decode, identify, s := c.Decoder(), identifierOf[T](), sharding{Shard: shard}
	return func(f codec.Frame) (Event[T], error) {
		filtered := s.filtered()
		if !filtered {
			if rev, out := s.outside(f.Object); out {
				return Event[T]{Type: outside, Revision: rev}, nil
			}
		}
		ev := Event[T]{Type: Type(f.Type)}
		v, err := decode(f.Object)
		if err == nil {
			ev.Key, ev.UID, ev.Revision = identify(v, f.Object)
			ev.Object, err = v, kube.CheckIdentity(ev.Key, ev.UID, ev.Revision)
		}
		if filtered && (err != nil || !s.Has(ev.UID)) {
			if rev, out := s.outside(f.Object); out {
				return Event[T]{Type: outside, Revision: rev}, nil
			}
		}
		if err != nil {
			bad := codec.Quarantine(f.Object, err)
			return quarantined[T](ev.Type, bad), bad
		}
		return ev, nil
	}
}

// quarantined returns what is known of an event whose object was left out.
func quarantined[T kube.Object](typ Type, bad *codec.ItemError) Event[T] {
	id := bad.Identity
	ev := Event[T]{Type: typ, Key: kube.Key{Namespace: id.Namespace, Name: id.Name}, UID: id.UID, Revision: kube.Revision(id.ResourceVersion)}
	if kube.CheckIdentity(kube.Key{}, "", ev.Revision) != nil {
		ev.Revision = "" // invalid: it cannot be resumed from
	}
	return ev
}

// identifierOf returns the function that returns the identity of an object. If T has no
// GetUID that returns a string, as in k8s.io/api, the UID is read from the bytes.
func identifierOf[T kube.Object]() func(T, []byte) (kube.Key, string, kube.Revision) {
	// A codec.Raw is not converted to an interface: that would allocate.
	raw := func(o codec.Raw, _ []byte) (kube.Key, string, kube.Revision) {
		return kube.Key{Namespace: o.GetNamespace(), Name: o.GetName()}, o.GetUID(), kube.Revision(o.GetResourceVersion())
	}
	if f, ok := any(raw).(func(T, []byte) (kube.Key, string, kube.Revision)); ok {
		return f
	}
	return func(v T, b []byte) (kube.Key, string, kube.Revision) {
		o, ok := any(&v).(kube.Object) // a struct that is converted itself would be copied
		if !ok {
			o = v // T is a pointer or an interface
		}
		id, ok := uid.Of(&v)
		if !ok {
			id = codec.UID(b)
		}
		return kube.KeyOf(o), id, kube.Revision(o.GetResourceVersion())
	}
}

// bookmark decodes a bookmark of a resource of the given kind. A bookmark of another
// kind has a revision of another resource: a watch that resumed there would miss
// changes.
func bookmark[T kube.Object](b []byte, kind string) (Event[T], error) {
	rv, end, err := codec.ResourceVersion(b)
	if err != nil {
		return Event[T]{Type: Bookmark}, codec.Quarantine(b, err)
	}
	switch id, _ := codec.Skim(b); id.Kind {
	case kind, "", "PartialObjectMetadata", "Table":
	default:
		if kind != "" {
			return Event[T]{Type: Bookmark}, codec.Quarantine(b, fmt.Errorf("a bookmark of a %.63s: %w", kube.CleanName(id.Kind), errBadEvent))
		}
	}
	ev := Event[T]{Type: Bookmark, Revision: kube.Revision(rv)}
	if err := kube.CheckIdentity(kube.Key{}, "", ev.Revision); err != nil {
		return Event[T]{Type: Bookmark}, codec.Quarantine(b, err)
	}
	switch {
	case end && ev.Revision == "":
		return ev, codec.Quarantine(b, fmt.Errorf("a mark without a resourceVersion: %w", errBadEvent))
	case end:
		ev.Type = Synced
	}
	return ev, nil
}

// maxStatus limits a Status in bytes: an Interruption keeps it.
const maxStatus = 64 << 10

// statusOf returns the Status of an ERROR event.
func statusOf(b []byte) error {
	if len(b) > maxStatus {
		return fmt.Errorf("%w: an ERROR of %d bytes", errBadEvent, len(b))
	}
	var err error
	if protobuf.Is(b) {
		b, err = protobuf.JSON(b)
	}
	var st kube.Status
	if err == nil {
		st, err = codec.Decode[kube.Status](b)
	}
	if err != nil {
		return fmt.Errorf("%w: an ERROR that is not a Status: %w", errBadEvent, err)
	}
	if st.Details != nil {
		st.RetryAfter = min(secondsOf(st.Details.RetryAfterSeconds), maxRetryAfter)
	}
	return &st
}
