package codec

import (
	"fmt"
	"io"
	"math"
)

const (
	chunk     = 32 << 10 // minimal room for a read
	keepAtEnd = 1 << 20  // a larger buffer is released when it is not needed any more
)

// A window is the part of a body that is in memory. Bytes before pos are consumed;
// while mark is not negative, bytes from mark on are kept, at most max of them. Filling
// moves bytes, so positions are relative to mark.
type window struct {
	r    io.Reader
	what string // what is read, for errors
	max  int

	buf  []byte // its length is the number of bytes that were read
	mark int
	pos  int
	base int64 // offset in the body of buf[0]
	err  error // final error of the reader
}

func newWindow(r io.Reader, what string, max int) *window {
	max = min(max, math.MaxInt/2) // so that sums with it do not overflow
	return &window{r: r, what: what, max: max, mark: -1, buf: make([]byte, 0, 2*chunk)}
}

// hold starts to keep bytes at pos; release stops. held returns the bytes consumed
// since then, valid until the next fill.
func (w *window) hold()        { w.mark = w.pos }
func (w *window) release()     { w.mark = -1 }
func (w *window) held() []byte { return w.buf[w.mark:w.pos:w.pos] }

// offset returns pos in the body.
func (w *window) offset() int64 { return w.base + int64(w.pos) }

func (w *window) syntax(msg string) error {
	return &SyntaxError{Offset: w.offset(), Msg: msg}
}

// tooLarge returns an error if the held bytes exceed the limit.
func (w *window) tooLarge() error {
	if w.mark >= 0 && w.pos-w.mark > w.max {
		return &LimitError{What: w.what, Limit: w.max}
	}
	return nil
}

// fill reads more; it is called when everything is consumed. It returns io.EOF at the
// end of the body.
func (w *window) fill() error {
	if w.err != nil {
		return w.err
	}
	from := w.pos
	if w.mark >= 0 {
		from = w.mark
		if w.pos-w.mark >= w.max {
			return &LimitError{What: w.what, Limit: w.max}
		}
	}
	if err := w.room(from); err != nil {
		return err
	}
	for range 100 {
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+n]
		if err != nil && err != io.EOF {
			err = fmt.Errorf("read body at byte %d: %w", w.base+int64(len(w.buf)), err)
		}
		w.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	w.err = fmt.Errorf("read body: %w", io.ErrNoProgress)
	return w.err
}

// room makes room for a read after buf, whose bytes from index from on are needed.
func (w *window) room(from int) error {
	need := len(w.buf) - from
	size := cap(w.buf)
	switch {
	case size > keepAtEnd && need < size/8:
		size = max(2*chunk, 2*need)
	case cap(w.buf)-len(w.buf) >= chunk:
		return nil
	case cap(w.buf)-need < chunk:
		size = min(2*size, w.max+chunk)
	}
	to := w.buf[:need]
	if size != cap(w.buf) {
		to = make([]byte, need, size)
	}
	copy(to, w.buf[from:])
	w.buf = to
	w.base += int64(from)
	w.pos -= from
	if w.mark >= 0 {
		w.mark = 0
	}
	return nil
}

// peek skips white space and returns the next byte without consuming it.
func (w *window) peek() (byte, error) {
	for {
		for ; w.pos < len(w.buf); w.pos++ {
			if c := w.buf[w.pos]; c > ' ' || !isSpace(c) {
				return c, nil
			}
		}
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
}

// expect skips white space and consumes c.
func (w *window) expect(c byte, msg string) error {
	got, err := w.peek()
	if err != nil {
		return err
	}
	if got != c {
		return w.syntax(msg)
	}
	w.pos++
	return nil
}

// value skips white space and consumes one value; lo is its start, relative to mark if
// there is one.
func (w *window) value() (lo int, err error) {
	if _, err := w.peek(); err != nil {
		return 0, err
	}
	lo = w.pos - w.mark
	var s scanner
	for {
		n, done, bad := s.scan(w.buf[w.pos:])
		w.pos += n
		if bad != "" {
			return lo, w.syntax(bad)
		}
		if done {
			return lo, w.tooLarge()
		}
		if err := w.fill(); err != nil {
			return lo, err
		}
	}
}

// key consumes a member's name and the colon. The name is valid until the next
// fill.
func (w *window) key() ([]byte, error) {
	c, err := w.peek()
	if err != nil {
		return nil, err
	}
	if c != '"' {
		return nil, w.syntax("name of a member expected")
	}
	if w.mark < 0 {
		w.hold()
		defer w.release()
	}
	lo, err := w.value()
	if err != nil {
		return nil, err
	}
	hi := w.pos - w.mark
	if err := w.expect(':', "colon expected"); err != nil {
		return nil, err
	}
	return unquote(w.buf[w.mark+lo : w.mark+hi]), nil
}

// more consumes the comma before another member or element, or the closing bracket; it
// reports which. first means that there was none before.
func (w *window) more(shut byte, first bool) (more bool, err error) {
	c, err := w.peek()
	if err != nil {
		return false, err
	}
	switch {
	case c == shut:
		w.pos++
		return false, w.tooLarge()
	case first:
		return true, nil
	case c != ',':
		return false, w.syntax("comma or closing bracket expected")
	}
	w.pos++
	if c, err = w.peek(); err == nil && c == shut {
		err = w.syntax("value expected after the comma")
	}
	return true, err
}

// cut returns io.ErrUnexpectedEOF if the body ended inside a value.
func (w *window) cut(err error) error {
	if err == io.EOF {
		return fmt.Errorf("body truncated inside a %s at byte %d: %w", w.what, w.offset(), io.ErrUnexpectedEOF)
	}
	return err
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
