package protojson

import (
	"bytes"
	"errors"
	"fmt"
)

// MediaType is that of the protobuf form.
const MediaType = "application/vnd.kubernetes.protobuf"

// Limits of what is decoded.
const (
	inputLimit  = 3 << 20  // as kube-apiserver's, in bytes
	outputLimit = 12 << 20 // of the JSON; many empty messages are short on the wire
	depthLimit  = 500      // messages within messages
)

// What Decode fails with. The texts of errors that wrap them name fields and quote
// nothing.
var (
	ErrSyntax  = errors.New("malformed protobuf")
	ErrUnknown = errors.New("kind without a known protobuf form")
	ErrLimit   = errors.New("protobuf above the limit")
)

// magic is what an object begins with.
var magic = []byte("k8s\x00")

// Decode returns an object as JSON, kind and apiVersion included. It fails with
// ErrSyntax, ErrUnknown or ErrLimit. With ErrUnknown, apiVersion and kind are what
// the client sent. The result is the caller's and does not refer to b. Decode may
// be called by many goroutines at once.
func Decode(b []byte) (json []byte, apiVersion, kind string, err error) {
	if len(b) > inputLimit {
		return nil, "", "", ErrLimit
	}
	d := &decoder{out: make([]byte, 0, 2*len(b)+64)}
	apiVersion, kind, err = d.object(b, 0)
	if err != nil {
		return nil, apiVersion, kind, wrap(err)
	}
	return d.out, apiVersion, kind, nil
}

func wrap(err error) error {
	if errors.Is(err, ErrUnknown) || errors.Is(err, ErrLimit) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrSyntax, err)
}

// decoder writes JSON.
type decoder struct {
	out    []byte
	values []value // of the messages that are being written, the innermost last
}

// object decodes an envelope, which is runtime.Unknown, and what is in it.
func (d *decoder) object(b []byte, depth int) (apiVersion, kind string, err error) {
	b, ok := bytes.CutPrefix(b, magic)
	if !ok {
		return "", "", errors.New("it does not begin as an object does")
	}
	var head, raw []byte
	for w := wire(b); len(w) > 0; {
		number, typ, err := w.tag()
		switch {
		case err != nil:
		case number <= 2 && typ != wireBytes:
			err = errWireType
		case number == 1:
			head, err = merge(&w, head)
		case number == 2:
			raw, err = w.bytes()
		default: // contentEncoding and contentType, which kube-apiserver does not heed either
			err = w.skip(typ)
		}
		if err != nil {
			return "", "", err
		}
	}
	if apiVersion, err = text(head, 1); err == nil {
		kind, err = text(head, 2)
	}
	if err != nil {
		return "", "", err
	}
	m, err := lookup(apiVersion, kind)
	if err != nil {
		return apiVersion, kind, err
	}
	d.out = append(d.out, `{"kind":`...)
	d.string([]byte(kind))
	d.out = append(d.out, `,"apiVersion":`...)
	d.string([]byte(apiVersion))
	if err := d.members(m, raw, depth); err != nil {
		return apiVersion, kind, err
	}
	d.out = append(d.out, '}')
	return apiVersion, kind, nil
}

// merge appends a message that comes in several pieces: they count as one.
func merge(w *wire, b []byte) ([]byte, error) {
	next, err := w.bytes()
	if b == nil {
		return next, err
	}
	return append(b, next...), err
}

// value is what the wire has of a field.
type value struct {
	set  bool
	n    uint64   // of a number, or of bool and double
	b    []byte   // of a string, bytes or a message
	list [][]byte // the elements of a list of these, or of a map
	nums []uint64 // those of a list of numbers
}

// read returns the values of the fields of m, until they are dropped.
func (d *decoder) read(m *message, b []byte) ([]value, error) {
	if len(b) == 0 {
		return m.zero, nil
	}
	first := len(d.values)
	d.values = append(d.values, make([]value, len(m.fields))...)
	values := d.values[first:]
	for w := wire(b); len(w) > 0; {
		number, typ, err := w.tag()
		if err != nil {
			return nil, err
		}
		i, ok := m.number[number]
		if !ok {
			if err := w.skip(typ); err != nil {
				return nil, err
			}
			continue
		}
		f := &m.fields[i]
		if err := values[i].read(f, &w, typ); err != nil {
			return nil, fmt.Errorf("%s: %w", f.label, err)
		}
		values[i].set = true
	}
	return values, nil
}

// drop leaves the values that were there when they were n.
func (d *decoder) drop(n int) { d.values = d.values[:n] }

// read reads one value of f. The last one counts, and pieces of a message are put
// together.
func (v *value) read(f *field, w *wire, typ int) (err error) {
	want := f.wireType()
	switch {
	case f.list && want != wireBytes && typ == wireBytes: // packed
		b, err := w.bytes()
		for w := wire(b); err == nil && len(w) > 0; {
			var n uint64
			n, err = w.number(want)
			v.nums = append(v.nums, n)
		}
		return err
	case typ != want:
		return errWireType
	case want != wireBytes:
		if v.n, err = w.number(want); f.list {
			v.nums = append(v.nums, v.n)
		}
	case f.list || f.dict:
		v.b, err = w.bytes()
		v.list = append(v.list, v.b)
	case f.typ == isMessage:
		v.b, err = merge(w, v.b)
	default:
		v.b, err = w.bytes()
	}
	return err
}

func (f *field) wireType() int {
	if !f.dict {
		switch f.typ {
		case 'b', 'i', 'j':
			return wireVarint
		case 'd':
			return wire64
		}
	}
	return wireBytes
}

func (w *wire) number(typ int) (uint64, error) {
	if typ == wire64 {
		return w.fixed64()
	}
	return w.varint()
}

// members writes the fields of m after what is there of its JSON object.
func (d *decoder) members(m *message, b []byte, depth int) error {
	if depth > depthLimit || len(d.out) > outputLimit {
		return ErrLimit
	}
	defer d.drop(len(d.values))
	values, err := d.read(m, b)
	if err != nil {
		return err
	}
	for i := range m.fields {
		f, v := &m.fields[i], &values[i]
		if f.inline {
			if err := d.members(f.message, v.b, depth+1); err != nil {
				return err
			}
			continue
		}
		if f.omitEmpty && v.empty(f) || f.omitZero && v.zero() {
			continue
		}
		if d.out[len(d.out)-1] != '{' {
			d.out = append(d.out, ',')
		}
		d.out = append(d.out, f.name...)
		if err := d.field(f, v, depth); err != nil {
			return fmt.Errorf("%s: %w", f.label, err)
		}
	}
	return nil
}

// message writes m as a value.
func (d *decoder) message(m *message, b []byte, depth int) error {
	if !m.union {
		d.out = append(d.out, '{')
		if err := d.members(m, b, depth+1); err != nil {
			return err
		}
		d.out = append(d.out, '}')
		return nil
	}
	defer d.drop(len(d.values))
	values, err := d.read(m, b)
	if err != nil {
		return err
	}
	for i := range m.fields {
		if !values[i].empty(&m.fields[i]) {
			return d.field(&m.fields[i], &values[i], depth+1)
		}
	}
	last := len(m.fields) - 1
	if m.fields[last].list { // what is nothing but a list stands in maps, where it is never nil
		d.out = append(d.out, "[]"...)
		return nil
	}
	return d.field(&m.fields[last], &values[last], depth+1)
}
