package protojson

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// MediaType is that of the protobuf form.
const MediaType = "application/vnd.kubernetes.protobuf"

// Limits of what is decoded.
const (
	outputFactor = 4   // as many times the limit of the input: many empty messages are short on the wire
	depthLimit   = 500 // messages within messages
	elementSize  = 64  // an element of a list or a map takes more memory than on the wire: it counts as so many bytes of the output
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

// Decode returns an object as JSON, kind and apiVersion included. The object may have
// limit bytes, its JSON four times as many, and its lists and maps together an element
// for each 16 bytes of limit. It fails with ErrSyntax, ErrUnknown or
// ErrLimit. With ErrUnknown, apiVersion and kind are what
// the client sent. The result is the caller's and does not refer to b. Decode may
// be called by many goroutines at once.
func Decode(b []byte, limit int) (json []byte, apiVersion, kind string, err error) {
	if len(b) > limit {
		return nil, "", "", ErrLimit
	}
	d := &decoder{out: make([]byte, 0, 2*len(b)+64), limit: outputFactor * limit}
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
	limit  int     // bytes of out
	count  int     // elements of lists and maps
	values []value // of the messages that are being written, the innermost last
}

// Envelope is what every object on the wire is within: the message runtime.Unknown
// behind four bytes of magic.
type Envelope struct {
	APIVersion, Kind []byte
	Raw              []byte // the message of the object
}

// Is reports whether b begins as an object in protobuf does.
func Is(b []byte) bool { return bytes.HasPrefix(b, magic) }

// Open reads an envelope; it aliases b, unless a part of it comes in pieces. An envelope
// without a message was cut: an empty object has a message of no bytes.
func Open(b []byte) (e Envelope, err error) {
	b, ok := bytes.CutPrefix(b, magic)
	if !ok {
		return e, errors.New("it does not begin as an object does")
	}
	var head []byte
	for w := Wire(b); len(w) > 0; {
		number, typ, err := w.Tag()
		switch {
		case err != nil:
		case number <= 2 && typ != Bytes:
			err = errWireType
		case number == 1:
			head, err = merge(&w, head)
		case number == 2:
			e.Raw, err = w.Bytes()
		default: // contentEncoding and contentType, which kube-apiserver does not heed either
			err = w.Skip(typ)
		}
		if err != nil {
			return e, err
		}
	}
	if e.Raw == nil {
		return e, errors.New("it ends before its object")
	}
	if e.APIVersion, err = Part(head, 1); err == nil {
		e.Kind, err = Part(head, 2)
	}
	return e, err
}

// Close appends an envelope to b: that of the message raw of a kind.
func Close(b []byte, apiVersion, kind string, raw []byte) []byte {
	head := appendPart(appendPart(nil, 1, apiVersion), 2, kind)
	b = append(b, magic...)
	return appendPart(appendPart(b, 1, head), 2, raw)
}

// appendPart appends a field of bytes.
func appendPart[B []byte | string](b []byte, number uint64, part B) []byte {
	b = binary.AppendUvarint(b, number<<3|Bytes)
	b = binary.AppendUvarint(b, uint64(len(part)))
	return append(b, part...)
}

// object decodes an envelope and what is in it.
func (d *decoder) object(b []byte, depth int) (apiVersion, kind string, err error) {
	e, err := Open(b)
	if err != nil {
		return "", "", err
	}
	apiVersion, kind = string(e.APIVersion), string(e.Kind)
	m := Lookup(apiVersion, kind)
	if m == nil {
		return apiVersion, kind, ErrUnknown
	}
	d.out = append(d.out, `{"kind":`...)
	d.string(e.Kind)
	d.out = append(d.out, `,"apiVersion":`...)
	d.string(e.APIVersion)
	if err := d.members(m, e.Raw, depth); err != nil {
		return apiVersion, kind, err
	}
	d.out = append(d.out, '}')
	return apiVersion, kind, nil
}

// JSON returns the JSON of one value of the field, or of one element of a list or map:
// n of a number, b of anything else. It may have limit bytes.
func (f *Field) JSON(n uint64, b []byte, limit int) ([]byte, error) {
	d := &decoder{out: make([]byte, 0, 2*len(b)+16), limit: limit}
	if err := d.single(f, n, b, 0); err != nil {
		return nil, wrap(err)
	}
	return d.out, nil
}

// merge appends a message that comes in several pieces: they count as one.
func merge(w *Wire, b []byte) ([]byte, error) {
	next, err := w.Bytes()
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
func (d *decoder) read(m *Message, b []byte) ([]value, error) {
	if len(b) == 0 {
		return m.zero, nil
	}
	first := len(d.values)
	d.values = append(d.values, make([]value, len(m.Fields))...)
	values := d.values[first:]
	for w := Wire(b); len(w) > 0; {
		number, typ, err := w.Tag()
		if err != nil {
			return nil, err
		}
		i, ok := m.number[number]
		if !ok {
			if err := w.Skip(typ); err != nil {
				return nil, err
			}
			continue
		}
		f := &m.Fields[i]
		if err := values[i].read(f, &w, typ); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		values[i].set = true
		if f.List || f.Map {
			d.count += 1 + len(values[i].nums)/2 // numbers may come packed
			if d.count > d.limit/elementSize {
				return nil, ErrLimit
			}
		}
	}
	return values, nil
}

// drop leaves the values that were there when they were n.
func (d *decoder) drop(n int) { d.values = d.values[:n] }

// read reads one value of f. The last one counts, and pieces of a message are put
// together.
func (v *value) read(f *Field, w *Wire, typ int) (err error) {
	want := f.wireType()
	switch {
	case f.List && want != Bytes && typ == Bytes: // packed
		b, err := w.Bytes()
		for w := Wire(b); err == nil && len(w) > 0; {
			var n uint64
			n, err = w.number(want)
			v.nums = append(v.nums, n)
		}
		return err
	case typ != want:
		return errWireType
	case want != Bytes:
		if v.n, err = w.number(want); f.List {
			v.nums = append(v.nums, v.n)
		}
	case f.List || f.Map:
		v.b, err = w.Bytes()
		v.list = append(v.list, v.b)
	case f.Type == IsMessage:
		v.b, err = merge(w, v.b)
	default:
		v.b, err = w.Bytes()
	}
	return err
}

func (f *Field) wireType() int {
	if !f.Map {
		switch f.Type {
		case 'b', 'i', 'j':
			return Varint
		case 'd':
			return Fixed64
		}
	}
	return Bytes
}

func (w *Wire) number(typ int) (uint64, error) {
	if typ == Fixed64 {
		return w.Fixed64()
	}
	return w.Varint()
}

// members writes the fields of m after what is there of its JSON object.
func (d *decoder) members(m *Message, b []byte, depth int) error {
	if depth > depthLimit || len(d.out) > d.limit {
		return ErrLimit
	}
	defer d.drop(len(d.values))
	values, err := d.read(m, b)
	if err != nil {
		return err
	}
	for i := range m.Fields {
		f, v := &m.Fields[i], &values[i]
		if f.Inline {
			if err := d.members(f.Message(), v.b, depth+1); err != nil {
				return err
			}
			continue
		}
		if f.OmitEmpty && v.empty(f) || f.OmitZero && v.zero() {
			continue
		}
		if d.out[len(d.out)-1] != '{' {
			d.out = append(d.out, ',')
		}
		d.out = append(d.out, f.quoted...)
		if err := d.field(f, v, depth); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// message writes m as a value.
func (d *decoder) message(m *Message, b []byte, depth int) error {
	if !m.Union {
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
	for i := range m.Fields {
		if !values[i].empty(&m.Fields[i]) {
			return d.field(&m.Fields[i], &values[i], depth+1)
		}
	}
	last := len(m.Fields) - 1
	if m.Fields[last].List { // what is nothing but a list stands in maps, where it is never nil
		d.out = append(d.out, "[]"...)
		return nil
	}
	return d.field(&m.Fields[last], &values[last], depth+1)
}
