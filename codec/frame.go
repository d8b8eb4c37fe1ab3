package codec

import (
	"io"
	"iter"
)

// DefaultMaxFrame is the limit for one frame or item where none is given:
// 64 MiB. An object in etcd is at most a few MiB; aggregated servers may send
// more.
const DefaultMaxFrame = 64 << 20

// Frame is one element of a WATCH body.
type Frame struct {
	Type   string // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR, or what else was sent
	Object []byte // the bytes of "object" exactly; valid until the next iteration
}

// Frames cuts a WATCH body into frames; each is yielded as soon as its last
// byte has been read. A frame may have at most max bytes; 0 means
// DefaultMaxFrame. It does not close r, and can be ranged over once.
//
// The sequence ends after the first error: io.ErrUnexpectedEOF if the body
// ends inside a frame, a *LimitError for a frame that is too large, a
// *SyntaxError for what is not a frame, or the error of r. It ends without one
// if the body ends between frames. Use errors.Is and errors.As.
//
// Only the frame itself is checked. Object is some JSON value with balanced
// brackets; whether it is valid is found by whoever decodes it.
func Frames(r io.Reader, max int) iter.Seq2[Frame, error] {
	if max <= 0 {
		max = DefaultMaxFrame
	}
	return func(yield func(Frame, error) bool) {
		w := newWindow(r, "frame", max)
		for {
			if _, err := w.peek(); err == io.EOF {
				return
			} else if err != nil {
				yield(Frame{}, err)
				return
			}
			w.hold()
			f, err := w.frame()
			if err != nil {
				yield(Frame{}, w.cut(err))
				return
			}
			w.release()
			if !yield(f, nil) {
				return
			}
		}
	}
}

// frame consumes one frame, with the mark at its start.
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
			f.Type = eventType(unquote(b))
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

// eventType is string(b), without an allocation for the usual ones.
func eventType(b []byte) string {
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
