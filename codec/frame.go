package codec

import (
	"bytes"
	"io"
	"iter"
)

// DefaultMaxFrame is the default limit of one frame or item: 16 MiB. An object in etcd
// has at most a few MiB.
const DefaultMaxFrame = 16 << 20

// Frame is one element of a WATCH body.
type Frame struct {
	Type   string // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR, or any other text of the server
	Object []byte // the exact bytes of "object"; valid until decode returns
}

// Frames splits a WATCH body into frames and yields the result of decode for each, as
// soon as its last byte was read. max limits a frame in bytes; 0 means DefaultMaxFrame.
// It does not close r, and can be ranged over once.
//
// An error of decode is yielded with its value, and the sequence continues. It ends
// after the first other error: io.ErrUnexpectedEOF if the body ends inside a frame, a
// *LimitError for a frame that is too large, a *SyntaxError for anything that is not a
// frame, or the error of r. It ends without an error if the body ends between frames.
// Use errors.Is and errors.As.
//
// Only the frame itself is checked. Its Object is a JSON value with balanced brackets;
// decode must return an error unless it is valid JSON, as DecoderOf, Skim and
// ResourceVersion do. Frames relies on that: it assumes one frame per line, and only if
// decode fails it finds the end of the frame byte by byte and calls decode again.
func Frames[V any](r io.Reader, max int, decode func(Frame) (V, error)) iter.Seq2[V, error] {
	if max <= 0 {
		max = DefaultMaxFrame
	}
	return func(yield func(V, error) bool) {
		var zero V
		w := newWindow(r, "frame", max)
		for {
			if _, err := w.peek(); err == io.EOF {
				return
			} else if err != nil {
				yield(zero, err)
				return
			}
			if f, size := w.line(); size > 0 {
				if v, err := decode(f); err == nil {
					w.pos += size
					if !yield(v, nil) {
						return
					}
					continue
				}
			}
			w.hold()
			f, err := w.frame()
			if err != nil {
				yield(zero, w.cut(err))
				return
			}
			w.release()
			if v, err := decode(f); !yield(v, err) {
				return
			}
		}
	}
}

// line returns the frame at pos, of size bytes, if it looks like those of
// kube-apiserver: alone on a line, its type, then its object. Only the ends of the line
// are inspected. The object is some text in curly brackets. If it is valid JSON it is
// the object, because frame would end it at the same place. If not, the line may hold
// several frames, more than one member, or a part of a frame. Without such a line, size
// is 0.
func (w *window) line() (f Frame, size int) {
	size = bytes.IndexByte(w.buf[w.pos:], '\n')
	if size < 0 || size > w.max {
		return f, 0
	}
	rest, ok := bytes.CutPrefix(w.buf[w.pos:w.pos+size], []byte(`{"type":"`))
	typ, object, ok2 := bytes.Cut(rest, []byte(`","object":`))
	if !ok || !ok2 || len(typ) == 0 || bytes.ContainsAny(typ, `"\`) || !bytes.HasPrefix(object, []byte("{")) || !bytes.HasSuffix(object, []byte("}}")) {
		return f, 0
	}
	object = object[:len(object)-1]
	return Frame{Type: EventType(typ), Object: object[:len(object):len(object)]}, size
}

// frame consumes one frame, and sets the mark at its start.
func (w *window) frame() (Frame, error) {
	var (
		f      Frame
		lo, hi int
	)
	if err := w.expect('{', "frame expected"); err != nil {
		return f, err
	}
	for first := true; ; first = false {
		more, err := w.more('}', first)
		if err != nil {
			return f, err
		}
		if !more {
			break
		}
		key, err := w.key()
		if err != nil {
			return f, err
		}
		isType, isObject := string(key) == "type", string(key) == "object"
		from, err := w.value()
		if err != nil {
			return f, err
		}
		switch {
		case isType:
			b := w.held()[from:]
			if b[0] != '"' {
				return f, w.syntax("type of a frame is not a string")
			}
			f.Type = EventType(unquote(b))
		case isObject:
			lo, hi = from, w.pos-w.mark
		}
	}
	f.Object = w.held()[lo:hi:hi]
	if f.Type == "" {
		return f, w.syntax("frame without a type")
	}
	if len(f.Object) == 0 || f.Object[0] == 'n' { // null
		return f, w.syntax("frame without an object")
	}
	return f, nil
}

// EventType returns string(b), without an allocation for the types of Kubernetes.
func EventType(b []byte) string {
	switch string(b) {
	case "ADDED":
		return "ADDED"
	case "MODIFIED":
		return "MODIFIED"
	case "DELETED":
		return "DELETED"
	case "BOOKMARK":
		return "BOOKMARK"
	case "ERROR":
		return "ERROR"
	}
	return string(b)
}
