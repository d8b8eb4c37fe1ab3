package protojson

import "errors"

// Types on the wire. See https://protobuf.dev/programming-guides/encoding/.
const (
	Varint   = 0
	Fixed64  = 1
	Bytes    = 2
	group    = 3
	groupEnd = 4
	fixed32  = 5
)

var (
	errCut      = errors.New("it ends too early")
	errVarint   = errors.New("a number of more than ten bytes")
	errTag      = errors.New("a tag that cannot be")
	errWireType = errors.New("a field of another type")
)

// Wire is the rest of an encoded message. Its methods advance it.
type Wire []byte

// tag returns the number and wire type of the next field.
func (w *Wire) Tag() (number uint64, typ int, err error) {
	n, err := w.Varint()
	if err != nil {
		return 0, 0, err
	}
	number, typ = n>>3, int(n&7)
	if number == 0 || number >= 1<<29 {
		return 0, 0, errTag
	}
	return number, typ, nil
}

// varint reads at most ten bytes. Bits above 64 are dropped, as Kubernetes does.
func (w *Wire) Varint() (n uint64, err error) {
	for i, c := range *w {
		if i == 10 {
			return 0, errVarint
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			*w = (*w)[i+1:]
			return n, nil
		}
	}
	return 0, errCut
}

// take returns the next n bytes. An append to them does not change the input.
func (w *Wire) take(n uint64) ([]byte, error) {
	if n > uint64(len(*w)) {
		return nil, errCut
	}
	b := (*w)[:n:n]
	*w = (*w)[n:]
	return b, nil
}

// bytes returns a string, a message or bytes.
func (w *Wire) Bytes() ([]byte, error) {
	n, err := w.Varint()
	if err != nil {
		return nil, err
	}
	return w.take(n)
}

// Fixed64 returns eight bytes, the lowest first.
func (w *Wire) Fixed64() (n uint64, err error) {
	b, err := w.take(8)
	for i, c := range b {
		n |= uint64(c) << (8 * i)
	}
	return n, err
}

// skip passes over the value of a field that is not known.
func (w *Wire) Skip(typ int) (err error) {
	for open := 0; ; {
		switch typ {
		case Varint:
			_, err = w.Varint()
		case Fixed64:
			_, err = w.take(8)
		case Bytes:
			_, err = w.Bytes()
		case group:
			open++
		case groupEnd:
			if open--; open < 0 {
				err = errTag
			}
		case fixed32:
			_, err = w.take(4)
		default:
			err = errTag
		}
		if err != nil || open == 0 {
			return err
		}
		if _, typ, err = w.Tag(); err != nil {
			return err
		}
	}
}
