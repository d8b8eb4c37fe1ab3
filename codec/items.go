package codec

import (
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// ListMeta is the metadata of a LIST body. It is complete when the sequence of items
// has ended without an error; metadata that precedes the items, as servers send it, is
// available with the first item.
type ListMeta struct {
	APIVersion      string
	Kind            string // "PodList", "Table"
	ResourceVersion string
	Continue        string // token for the next page; "" on the last
	Remaining       int64  // items after this page; -1 = unknown
	Sharded         bool   // the server applied the shardSelector: there is a metadata.shardInfo
}

// Limits of the metadata of a list, in bytes. Some of it is copied to each item.
const (
	maxKind     = 256     // of kind and of apiVersion
	maxListMeta = 1 << 20 // of the metadata, and of the column definitions of a Table
)

// Items splits a LIST body into items, in the memory of one item. max limits an item in
// bytes; 0 means DefaultMaxFrame. kind and apiVersion may have 256 bytes, metadata and
// column definitions 1 MiB, a resource version kube.MaxIdentity. It does not close r, and
// can be ranged over once. Each item is valid until the next iteration.
//
// A body is a list if its kind ends in "List", or is Table, or if it has items and
// neither a name nor the kind Status: lists of custom resources may have any kind.
//
// Items look as in a WATCH. If a typed list, whose kind ends in "List", omits kind and
// apiVersion of its items, they are added, provided that the list's own precede the
// items. Each row of a Table becomes a Table of one row; the first one gets the column
// definitions, if they precede the rows.
//
// Missing items and null are an empty list. Other members are skipped. An item above
// max is skipped without holding it: an *ItemError with a *LimitError is yielded
// instead, and the sequence continues. If its first max bytes do not contain its name,
// the *LimitError ends the sequence, because the object would be missing silently.
//
// The sequence ends after the first other error: io.ErrUnexpectedEOF for a truncated
// body, a *LimitError, a *SyntaxError for invalid JSON, a *NotListError for JSON that
// is not a list, or the error of r.
func Items(r io.Reader, max int) (*ListMeta, iter.Seq2[[]byte, error]) {
	if max <= 0 {
		max = DefaultMaxFrame
	}
	l := &items{meta: ListMeta{Remaining: -1}}
	return &l.meta, func(yield func([]byte, error) bool) {
		l.w = newWindow(r, "list", max)
		l.yield = yield
		if err := l.read(); err != nil && err != errStopped {
			yield(nil, l.w.cut(err))
		}
	}
}

// errStopped reports that the consumer left its loop.
var errStopped = errors.New("stopped")

type items struct {
	meta    ListMeta
	w       *window
	yield   func([]byte, error) bool
	prefix  []byte // precedes each item or row
	columns []byte // column definitions for the next row
	found   bool   // there was a member items or rows
	early   bool   // rows preceded the kind
	named   bool   // the metadata is that of an object
	out     []byte // an item that was rewritten
}

// read consumes the body.
func (l *items) read() error {
	w := l.w
	if err := w.expect('{', "list expected"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := w.more('}', first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		key, err := w.key()
		if err != nil {
			return err
		}
		if err := l.member(string(key)); err != nil {
			return err
		}
	}
	if _, err := w.peek(); err == nil {
		return w.syntax("more than one value")
	} else if err != io.EOF {
		return err
	}
	switch {
	case l.early && l.meta.Kind == "Table":
		return w.syntax("rows of a Table before its kind")
	case l.list(), l.found && !l.object():
		return nil
	}
	return l.notList()
}

// member consumes the value of a member of the list.
func (l *items) member(key string) error {
	switch key {
	case "kind":
		return l.text(&l.meta.Kind)
	case "apiVersion":
		return l.text(&l.meta.APIVersion)
	case "metadata":
		b, err := l.small("list metadata", maxListMeta)
		if err != nil {
			return err
		}
		return l.metadata(b)
	case "columnDefinitions":
		b, err := l.small("column definitions", maxListMeta)
		l.columns = append(l.columns[:0], b...)
		return err
	case "items":
		if l.list() && l.meta.Kind != "List" && l.meta.APIVersion != "" {
			l.prefix = typeMeta(strings.TrimSuffix(l.meta.Kind, "List"), l.meta.APIVersion)
		}
		return l.elements(l.item)
	case "rows":
		if l.meta.Kind == "Table" {
			l.prefix = append(typeMeta("Table", l.meta.APIVersion), `,"metadata":{},"columnDefinitions":`...)
			return l.elements(l.row)
		}
		l.early = true
	}
	_, err := l.w.value()
	return err
}

// object reports whether a body with items is an object and not a list.
func (l *items) object() bool { return l.named || l.meta.Kind == "Status" }

// list reports whether the kind is that of a list.
func (l *items) list() bool {
	return strings.HasSuffix(l.meta.Kind, "List") || l.meta.Kind == "Table"
}

func (l *items) notList() error { return NotList(l.meta.Kind) }

// small consumes a value of at most limit bytes, and at most w.max. It returns them,
// valid until the next fill.
func (l *items) small(what string, limit int) ([]byte, error) {
	w := l.w
	if _, err := w.peek(); err != nil {
		return nil, err
	}
	defer func(what string, max int) { w.what, w.max = what, max }(w.what, w.max)
	w.what, w.max = what, min(w.max, limit)
	w.hold()
	defer w.release()
	if _, err := w.value(); err != nil {
		return nil, w.cut(err)
	}
	return w.held(), nil
}

func (l *items) text(into *string) error {
	b, err := l.small("list kind", maxKind)
	if err != nil || string(b) == "null" {
		return err
	}
	if b[0] != '"' {
		return l.w.syntax("kind or apiVersion of a list is not a string")
	}
	*into = string(validUTF8(unquote(b)))
	return nil
}

// metadata reads the list's metadata.
func (l *items) metadata(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	m, err := Decode[struct {
		ResourceVersion    string    `json:"resourceVersion"`
		Continue           string    `json:"continue"`
		RemainingItemCount *int64    `json:"remainingItemCount"`
		ShardInfo          *struct{} `json:"shardInfo"`
		Name               any       `json:"name"`
		UID                any       `json:"uid"`
	}](b)
	if err != nil {
		return err
	}
	if len(m.ResourceVersion) > kube.MaxIdentity {
		return &LimitError{What: "resource version of a list", Limit: kube.MaxIdentity}
	}
	l.meta.ResourceVersion, l.meta.Continue = m.ResourceVersion, m.Continue
	l.named = m.Name != nil || m.UID != nil
	l.meta.Sharded = m.ShardInfo != nil
	if m.RemainingItemCount != nil {
		l.meta.Remaining = max(-1, *m.RemainingItemCount)
	}
	return nil
}

// elements consumes an array or null.
func (l *items) elements(element func() ([]byte, error)) error {
	w := l.w
	if l.meta.Kind != "" && !l.list() && l.object() {
		return l.notList()
	}
	l.found = true
	c, err := w.peek()
	if err != nil {
		return err
	}
	if c == 'n' {
		_, err := w.value()
		return err
	}
	if err := w.expect('[', "items of a list are not an array"); err != nil {
		return err
	}
	defer func(was string) { w.what = was }(w.what)
	w.what = "item"
	for first := true; ; first = false {
		more, err := w.more(']', first)
		if err != nil || !more {
			return err
		}
		if _, err := w.peek(); err != nil {
			return err
		}
		w.hold()
		b, err := element()
		if limit, ok := err.(*LimitError); ok {
			b = nil
			err = l.tooLarge(limit)
		}
		if err != nil && !IsItem(err) {
			return w.cut(err)
		}
		w.release()
		if !l.yield(b, err) {
			return errStopped
		}
	}
}
