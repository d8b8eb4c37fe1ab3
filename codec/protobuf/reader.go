package protobuf

import (
	"fmt"
	"io"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/protojson"
)

const (
	least     = 64 << 10    // minimal size of the buffer
	keepAtEnd = 1 << 20     // a larger buffer is released when it is not needed any more
	quiet     = 4 << 10     // size of the buffer while the body is quiet: bookmarks, a change now and then
	pause     = time.Second // a read that waits for longer and brings less than quiet shows that
)

// A reader holds the part of a body that is in memory.
type reader struct {
	r    io.Reader
	what string // what is being read, for errors
	buf  []byte // its length is the number of bytes that were read
	pos  int    // the bytes before it are consumed
	base int64  // offset in the body of buf[0]
	err  error  // final error of r
	calm bool   // the last read shows that the body is quiet
	full bool   // the last read filled the buffer
}

func newReader(r io.Reader, what string) *reader {
	return &reader{r: r, what: what, buf: make([]byte, 0, least)}
}

func (r *reader) offset() int64 { return r.base + int64(r.pos) }

func (r *reader) syntax(msg string) error {
	return &codec.SyntaxError{Form: "protobuf", Offset: r.offset(), Msg: msg}
}

// peek returns the next n bytes without consuming them, or the remaining ones: then the
// error is io.EOF, or that of the body. They are valid until the next call.
func (r *reader) peek(n int) ([]byte, error) {
	for len(r.buf)-r.pos < n {
		if err := r.fill(n); err != nil {
			return r.buf[r.pos:], err
		}
	}
	return r.buf[r.pos : r.pos+n : r.pos+n], nil
}

// fill reads more; n bytes are needed from pos on.
func (r *reader) fill(n int) error {
	if r.err != nil {
		return r.err
	}
	r.room(n)
	for range 100 {
		begin := time.Now()
		k, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+k]
		r.calm = k < quiet && time.Since(begin) > pause
		r.full = len(r.buf) == cap(r.buf)
		if err != nil && err != io.EOF {
			err = fmt.Errorf("read body at byte %d: %w", r.base+int64(len(r.buf)), err)
		}
		r.err = err
		switch {
		case k > 0:
			return nil
		case err != nil:
			return err
		}
	}
	r.err = fmt.Errorf("read body: %w", io.ErrNoProgress)
	return r.err
}

// room makes room for a read. A buffer grows as bytes arrive: a length alone allocates
// no memory.
func (r *reader) room(n int) {
	have := len(r.buf) - r.pos
	size := cap(r.buf)
	switch {
	case r.calm && size > quiet && max(have, n) <= quiet/2:
		size = quiet
	case size > keepAtEnd && max(have, n) < size/8:
		size = max(least, 2*have)
	case r.full && size < least: // not quiet any more
		size = least
	case have == size: // all of it is needed
		size = min(2*size, n+least)
	case r.pos == 0 && len(r.buf) < size:
		return
	}
	to := r.buf[:have]
	if size != cap(r.buf) {
		to = make([]byte, have, size)
	}
	copy(to, r.buf[r.pos:])
	r.base += int64(r.pos)
	r.buf, r.pos = to, 0
}

// take consumes n bytes, which are valid until the next call.
func (r *reader) take(n int) ([]byte, error) {
	b, err := r.peek(n)
	if err != nil {
		return nil, r.cut(err)
	}
	r.pos += n
	return b, nil
}

// drop consumes n bytes without holding them.
func (r *reader) drop(n int) error {
	for n > 0 {
		if _, err := r.peek(1); err != nil {
			return r.cut(err)
		}
		k := min(n, len(r.buf)-r.pos)
		r.pos += k
		n -= k
	}
	return nil
}

// uvarint consumes a number.
func (r *reader) uvarint() (uint64, error) {
	b, err := r.peek(10)
	if err != nil && err != io.EOF {
		return 0, err
	}
	w := protojson.Wire(b)
	n, bad := w.Varint()
	if bad != nil {
		if err == io.EOF {
			return 0, r.cut(err)
		}
		return 0, r.syntax(bad.Error())
	}
	r.pos += len(b) - len(w)
	return n, nil
}

// tag consumes the number and type of a field.
func (r *reader) tag() (number uint64, typ int, err error) {
	n, err := r.uvarint()
	if err == nil && n>>3 == 0 {
		err = r.syntax("an invalid tag")
	}
	return n >> 3, int(n & 7), err
}

// cut returns io.ErrUnexpectedEOF if the body ended inside a value.
func (r *reader) cut(err error) error {
	if err == io.EOF {
		return fmt.Errorf("body truncated inside a %s at byte %d: %w", r.what, r.offset(), io.ErrUnexpectedEOF)
	}
	return err
}
