package list

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/uid"
	"github.com/listwatch/listwatch/kube"
)

// Lister lists one collection. It is for one goroutine at a time.
type Lister[T kube.Object] struct {
	col      client.Collection[T]
	opts     Options
	cur      Cursor
	progress Progress
	plain    bool // in this list the server refuses shardSelector
}

// New returns a lister. It sends no request before All is called.
func New[T kube.Object](c client.Collection[T], o Options) *Lister[T] {
	return &Lister[T]{col: c, opts: o}
}

// All lists the collection from its beginning and yields its objects in the server's order.
// kube-apiserver sorts by the text "namespace/name".
//
// An object that cannot be decoded, or whose name is invalid (kube.CheckIdentity), is
// yielded as a *codec.ItemError and the list continues. Any other error is the last
// element.
//
// All retries in three cases. If the server refuses the Shard, All requests all objects. If a
// protobuf response cannot be read, it requests JSON, as [Page] does. If the snapshot expires
// between pages, the list continues with a newer snapshot, or, if the server offers none, begins
// again, once: objects are then yielded twice, and Progress.Items restarts at 0. A list whose
// pages do not end fails with ErrEndless.
func (l *Lister[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		l.cur, l.progress, l.plain = Cursor{}, Progress{Remaining: -1}, false
		for {
			more, err := l.page(ctx, yield)
			if errors.Is(err, errStopped) {
				return
			}
			if err == nil {
				if !more {
					return
				}
				continue
			}
			if !l.opts.Shard.All() && !l.plain && MayRefuseShard(err) {
				l.plain = true
				continue
			}
			resumed, restarted := l.cur.Expired(err)
			if restarted {
				l.progress = Progress{Remaining: -1}
			}
			if !resumed && !restarted {
				var zero T
				yield(zero, fmt.Errorf("list %s: %w", l.col, err))
				return
			}
		}
	}
}

// errStopped reports that the caller left the loop.
var errStopped = errors.New("stopped")

func (l *Lister[T]) page(ctx context.Context, yield func(T, error) bool) (more bool, err error) {
	var meta codec.ListMeta
	asked := l.opts
	if l.plain {
		asked.Shard = kube.Shard{}
	}
	items := 0
	for v, err := range Page(ctx, l.col, &l.cur, asked, within(l.opts.Shard, checked(l.col.Decoder())), &meta) {
		if err != nil && !codec.IsItem(err) {
			return false, err
		}
		if items++; v.outside || OutsideItem(l.opts.Shard, err) {
			continue
		}
		l.progress.Items++
		if !yield(v.object, err) {
			return false, errStopped
		}
	}
	if more, err = l.cur.Page(meta, items); err != nil {
		return false, err
	}
	l.progress.Pages++
	l.progress.Remaining = meta.Remaining
	l.progress.Revision = l.cur.Revision()
	l.progress.Done = !more
	l.progress.Sharded = meta.Sharded
	l.progress.Inconsistent = l.cur.Inconsistent
	if l.opts.Progress != nil {
		l.opts.Progress(l.progress)
	}
	return more, nil
}

// item is an object; one outside of the shard is not decoded.
type item[T kube.Object] struct {
	object  T
	outside bool
}

// within returns decode, which skips objects that are not in s.
func within[T kube.Object](s kube.Shard, decode func([]byte) (T, error)) func([]byte) (item[T], error) {
	return func(b []byte) (i item[T], err error) {
		if _, i.outside = codec.Outside(s, b); !i.outside {
			i.object, err = decode(b)
		}
		return i, err
	}
}

// OutsideItem reports whether err is a *codec.ItemError of an object that is not in s: its
// UID was read, though the object could not be decoded.
func OutsideItem(s kube.Shard, err error) bool {
	var bad *codec.ItemError
	return errors.As(err, &bad) && bad.Identity.UID != "" && !s.Has(bad.Identity.UID)
}

// checked returns decode with a check of the object's name, UID and revision.
func checked[T kube.Object](decode func([]byte) (T, error)) func([]byte) (T, error) {
	return func(b []byte) (T, error) {
		v, err := decode(b)
		if err == nil {
			id, _ := uid.Of(&v)
			err = kube.CheckIdentity(kube.KeyOf(v), id, kube.Revision(v.GetResourceVersion()))
		}
		if err != nil {
			var zero T
			return zero, err
		}
		return v, nil
	}
}

// Revision returns the revision of the snapshot that All listed, to watch from;
// empty before the first page has ended.
func (l *Lister[T]) Revision() kube.Revision { return l.cur.Revision() }

// Page sends the next request of cur and yields the result of decode for each object as soon as
// the object arrives. It retries in one case only: it requests JSON if a protobuf response cannot
// be read, and no object was yielded. decode gets the bytes of an object: JSON, or protobuf if a T
// can be decoded from it; c.Decoder reads both. Objects that are not in o.Shard are yielded too,
// if the server sends them.
//
// An object that is too large, or that decode refuses, is yielded as a *codec.ItemError, and the
// page continues. The value beside that error is what decode returned; it is zero if the object is
// too large, because decode is not called then. Any other error is the last
// element. When the sequence has ended without an error, *meta is the metadata of the page,
// for cur.Page.
func Page[T kube.Object, V any](ctx context.Context, c client.Collection[T], cur *Cursor, o Options, decode func([]byte) (V, error), meta *codec.ListMeta) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var zero V
		r := &client.Request{Path: c.Path(), Query: c.Ask(cur.Query(o)), Accept: c.Accept.List}
		items := 0
		each := func(b []byte, err error) bool {
			items++
			v := zero
			if err == nil {
				if v, err = decode(b); err != nil {
					err = codec.Quarantine(b, err)
				}
			}
			return yield(v, err)
		}
		m, refused, err := read(ctx, c, r, o.MaxItem, each)
		if refused && items == 0 {
			m, _, err = read(ctx, c, r, o.MaxItem, each) // in JSON
		}
		if err == nil {
			if err = kube.CheckIdentity(kube.Key{}, "", kube.Revision(m.ResourceVersion)); err != nil {
				err = fmt.Errorf("resource version of the list: %w", err)
			}
		}
		switch {
		case err == nil:
			*meta = *m
		case err != errStopped:
			yield(zero, err)
		}
	}
}

// read sends r and calls each with the items of the answer, and with what is reported in
// the place of one. refused reports that the answer was in protobuf that cannot be read.
func read[T kube.Object](ctx context.Context, c client.Collection[T], r *client.Request, max int, each func([]byte, error) bool) (m *codec.ListMeta, refused bool, err error) {
	answer, err := c.Fetch(ctx, r)
	if err != nil {
		return nil, false, err
	}
	defer answer.Close()
	m, items := answer.Items(max)
	for b, err := range items {
		if ctx.Err() != nil { // thousands may have arrived, and are not wanted any more
			return nil, false, context.Cause(ctx)
		}
		if err != nil && !codec.IsItem(err) {
			return nil, answer.Refused(), c.Client.Conceal(err)
		}
		if !each(b, err) {
			return nil, false, errStopped
		}
	}
	return m, false, nil
}
