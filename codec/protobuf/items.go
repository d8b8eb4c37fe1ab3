package protobuf

import (
	"errors"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

// Limits of the metadata of a list, as in codec.Items.
const (
	maxHead     = 600     // of kind and apiVersion together, with their tags
	maxListMeta = 1 << 20 // of the metadata
	maxList     = 1 << 60 // of the list; a larger length is treated as this one
	magicSize   = len("k8s\x00")
)

// Fields of a list and of its metadata.
const (
	listMetaField  = 1
	itemsField     = 2
	revisionField  = 2
	continueField  = 3
	remainingField = 4
	shardInfoField = 5
)

// Items splits the body of a LIST in protobuf into items, as codec.Items does for JSON,
// in the memory of one item. An item is yielded in an envelope, as in a WATCH. Limits
// and errors are the same.
func Items(r io.Reader, max int) (*codec.ListMeta, iter.Seq2[[]byte, error]) {
	if max <= 0 {
		max = codec.DefaultMaxFrame
	}
	l := &items{meta: codec.ListMeta{Remaining: -1}}
	return &l.meta, func(yield func([]byte, error) bool) {
		l.r, l.max, l.yield = newReader(r, "list"), max, yield
		if err := l.read(); err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

// errStopped reports that the consumer left its loop.
var errStopped = errors.New("stopped")

type items struct {
	meta  codec.ListMeta
	r     *reader
	max   int
	yield func([]byte, error) bool
	item  []byte // in its envelope
}

// read consumes the body.
func (l *items) read() error {
	head, err := l.r.take(magicSize)
	if err != nil {
		return err
	}
	if !protojson.Is(head) {
		return l.r.syntax("it does not begin as an object does")
	}
	listed := false
	for {
		if _, err := l.r.peek(1); err == io.EOF {
			break
		}
		number, typ, err := l.r.tag()
		if err != nil {
			return err
		}
		switch {
		case number == 1 && typ == protojson.Bytes:
			err = l.head()
		case number == 2 && typ == protojson.Bytes:
			listed, err = true, l.list()
		default:
			_, err = l.skip(typ)
		}
		if err != nil {
			return err
		}
	}
	if l.meta.Kind != "" {
		if err := l.checkKind(); err != nil {
			return err
		}
	}
	if !listed { // an empty list has a message of its metadata
		return l.r.cut(io.EOF)
	}
	return nil
}

// length consumes the length of a field, which must be at most limit.
func (l *items) length(what string, limit uint64) (int, error) {
	n, err := l.r.uvarint()
	switch {
	case err != nil:
		return 0, err
	case n > limit:
		return 0, &codec.LimitError{What: what, Limit: int(limit)}
	}
	return int(n), nil
}

// skip consumes the value of an unknown field, and returns its length in bytes.
func (l *items) skip(typ int) (int64, error) {
	from := l.r.offset()
	var err error
	switch typ {
	case protojson.Varint:
		_, err = l.r.uvarint()
	case protojson.Fixed64:
		err = l.r.drop(8)
	case protojson.Bytes:
		var n int
		if n, err = l.length("list", math.MaxInt32); err == nil {
			err = l.r.drop(n)
		}
	default:
		err = l.r.syntax("a field of another type")
	}
	return l.r.offset() - from, err
}

// head consumes kind and apiVersion.
func (l *items) head() error {
	n, err := l.length("list kind", maxHead)
	if err != nil {
		return err
	}
	b, err := l.r.take(n)
	if err != nil {
		return err
	}
	version, err := protojson.Part(b, 1)
	if err != nil {
		return l.r.syntax(err.Error())
	}
	kind, err := protojson.Part(b, 2)
	if err != nil {
		return l.r.syntax(err.Error())
	}
	l.meta.APIVersion, l.meta.Kind = text(version), text(kind)
	return nil
}

// checkKind returns an error if the body is not a list of one kind of objects.
func (l *items) checkKind() error {
	if kind, ok := strings.CutSuffix(l.meta.Kind, "List"); ok && kind != "" {
		return nil
	}
	return codec.NotList(l.meta.Kind)
}

// list consumes the message of the list.
func (l *items) list() error {
	if err := l.checkKind(); err != nil {
		return err
	}
	size, err := l.r.uvarint()
	if err != nil {
		return err
	}
	for end := l.r.offset() + int64(min(size, maxList)); l.r.offset() < end; {
		number, typ, err := l.r.tag()
		if err != nil {
			return err
		}
		left := func() uint64 { return uint64(max(0, end-l.r.offset())) }
		switch {
		case number == listMetaField && typ == protojson.Bytes:
			err = l.metadata(min(maxListMeta, left()))
		case number == itemsField && typ == protojson.Bytes:
			err = l.element(left())
		default:
			_, err = l.skip(typ)
		}
		if err != nil {
			return err
		}
		if l.r.offset() > end {
			return l.r.syntax("a list that is longer than its length")
		}
	}
	return nil
}

// metadata consumes the list's metadata.
func (l *items) metadata(limit uint64) error {
	n, err := l.length("list metadata", limit)
	if err != nil {
		return err
	}
	b, err := l.r.take(n)
	if err != nil {
		return err
	}
	for w := protojson.Wire(b); len(w) > 0; {
		number, typ, err := w.Tag()
		var part []byte
		var count uint64
		switch {
		case err != nil:
		case typ == protojson.Bytes:
			part, err = w.Bytes()
		case typ == protojson.Varint:
			count, err = w.Varint()
		default:
			err = w.Skip(typ)
		}
		switch {
		case err != nil:
			return l.r.syntax(err.Error())
		case number == revisionField && len(part) > kube.MaxIdentity:
			return &codec.LimitError{What: "resource version of a list", Limit: kube.MaxIdentity}
		case number == revisionField:
			l.meta.ResourceVersion = text(part)
		case number == continueField:
			l.meta.Continue = text(part)
		case number == remainingField:
			l.meta.Remaining = max(-1, int64(count))
		case number == shardInfoField:
			l.meta.Sharded = true
		}
	}
	return nil
}

// element consumes an item of at most left bytes and yields it.
func (l *items) element(left uint64) error {
	defer func(was string) { l.r.what = was }(l.r.what)
	l.r.what = "item"
	n, err := l.r.uvarint()
	if err != nil {
		return err
	}
	switch {
	case n > left:
		return l.r.syntax("an item that is longer than its list")
	case n > math.MaxInt32:
		return &codec.LimitError{What: "item", Limit: l.max}
	}
	size := int(n)
	start, err := l.r.peek(min(size, l.max))
	if err != nil {
		return l.r.cut(err)
	}
	if cap(l.item) > keepAtEnd && cap(l.item) > 8*len(start) {
		l.item = nil
	}
	l.item = protojson.Close(l.item[:0], l.meta.APIVersion, strings.TrimSuffix(l.meta.Kind, "List"), start)
	if size > l.max {
		return l.tooLarge(size)
	}
	l.r.pos += size
	if !l.yield(l.item, nil) {
		return errStopped
	}
	return nil
}

// tooLarge consumes an item whose first bytes are in l.item, and reports it. If they do
// not contain its name, the list ends, because the object would be missing silently.
func (l *items) tooLarge(size int) error {
	bad := codec.ItemTooLarge(l.item, size, l.max)
	if bad == nil {
		return &codec.LimitError{What: "item", Limit: l.max}
	}
	if err := l.r.drop(size); err != nil {
		return err
	}
	if !l.yield(nil, bad) {
		return errStopped
	}
	return nil
}
