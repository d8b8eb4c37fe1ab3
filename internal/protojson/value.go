package protojson

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"
)

var null = []byte("null")

// empty reports whether encoding/json takes the value for empty. A struct never
// is.
func (v *value) empty(f *Field) bool {
	switch {
	case f.List || f.Map:
		return len(v.list)+len(v.nums) == 0
	case f.Pointer:
		return !v.set
	}
	switch f.Type {
	case 'b', 'i', 'j':
		return v.n == 0
	case 'd':
		return math.Float64frombits(v.n) == 0
	case 's', 'y':
		return len(v.b) == 0
	}
	return false
}

// zero reports whether a Time is zero.
func (v *value) zero() bool {
	t, err := instant(v.b, false)
	return err == nil && t.IsZero()
}

// field writes the value of f.
func (d *decoder) field(f *Field, v *value, depth int) error {
	if len(d.out) > d.limit {
		return ErrLimit
	}
	switch {
	case f.List || f.Map:
		if v.empty(f) {
			d.out = append(d.out, null...)
			return nil
		}
		if f.Map {
			return d.dict(f, v.list, depth)
		}
		return d.list(f, v, depth)
	case !v.set && (f.Pointer || f.Type == 'y'):
		d.out = append(d.out, null...)
		return nil
	}
	return d.single(f, v.n, v.b, depth)
}

func (d *decoder) list(f *Field, v *value, depth int) error {
	d.out = append(d.out, '[')
	element := func(n uint64, b []byte) error {
		if d.out[len(d.out)-1] != '[' {
			d.out = append(d.out, ',')
		}
		return d.single(f, n, b, depth)
	}
	for _, b := range v.list {
		if err := element(0, b); err != nil {
			return err
		}
	}
	for _, n := range v.nums {
		if err := element(n, nil); err != nil {
			return err
		}
	}
	d.out = append(d.out, ']')
	return nil
}

// dict writes a map in the order of its entries: each is a message of a key and a
// value. The last entry of a key counts.
func (d *decoder) dict(f *Field, entries [][]byte, depth int) error {
	last := make(map[string]int, len(entries))
	values := make([]value, len(entries))
	keys := make([]string, len(entries))
	of := *f
	of.Name, of.Map = "value", false
	entry := Message{Fields: []Field{{Name: "key", Type: 's'}, of}, number: map[uint64]int{1: 0, 2: 1}, zero: make([]value, 2)}
	for i, b := range entries {
		n := len(d.values)
		pair, err := d.read(&entry, b)
		if err != nil {
			return err
		}
		keys[i], values[i] = string(pair[0].b), pair[1]
		last[keys[i]] = i
		d.drop(n)
	}
	d.out = append(d.out, '{')
	for i := range entries {
		if last[keys[i]] != i {
			continue
		}
		if d.out[len(d.out)-1] != '{' {
			d.out = append(d.out, ',')
		}
		d.string([]byte(keys[i]))
		d.out = append(d.out, ':')
		if err := d.single(f, values[i].n, values[i].b, depth); err != nil {
			return err
		}
	}
	d.out = append(d.out, '}')
	return nil
}

// single writes one value, or one element of a list or map.
func (d *decoder) single(f *Field, n uint64, b []byte, depth int) error {
	switch f.Type {
	case IsMessage:
		return d.message(f.Message(), b, depth)
	case 's':
		d.string(b)
	case 'b':
		d.out = strconv.AppendBool(d.out, n != 0)
	case 'i':
		d.out = strconv.AppendInt(d.out, int64(n), 10)
	case 'j':
		d.out = strconv.AppendInt(d.out, int64(int32(n)), 10)
	case 'd':
		text, err := json.Marshal(math.Float64frombits(n))
		if err != nil {
			return errors.New("a number that JSON has not")
		}
		d.out = append(d.out, text...)
	case 'y':
		d.out = append(d.out, '"')
		d.out = base64.StdEncoding.AppendEncode(d.out, b)
		d.out = append(d.out, '"')
	case 't':
		return d.time(b, time.RFC3339)
	case 'm':
		return d.time(b, "2006-01-02T15:04:05.000000Z07:00")
	case 'p':
		n, err := number(b, 1)
		d.string([]byte(time.Duration(n).String()))
		return err
	case 'q':
		q, err := text(b, 1)
		if q == "" {
			q = "0"
		}
		d.string([]byte(q))
		return err
	case 'n':
		return d.intOrString(b)
	case 'r':
		return d.raw(b, depth)
	}
	return nil
}

// string writes b as a JSON string.
func (d *decoder) string(b []byte) {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(string(b)) // a string is never an error
			d.out = append(d.out, quoted...)
			return
		}
	}
	d.out = append(d.out, '"')
	d.out = append(d.out, b...)
	d.out = append(d.out, '"')
}

// instant reads a Time or MicroTime: no bytes are the zero Time. Of a Time the
// nanoseconds do not count, as in Kubernetes.
func instant(b []byte, micro bool) (t time.Time, err error) {
	if len(b) == 0 {
		return t, nil
	}
	seconds, err := number(b, 1)
	if err != nil {
		return t, err
	}
	nanos, err := number(b, 2)
	if !micro {
		nanos = 0
	}
	return time.Unix(int64(seconds), int64(int32(nanos))).UTC(), err
}

func (d *decoder) time(b []byte, layout string) error {
	t, err := instant(b, layout != time.RFC3339)
	switch {
	case err != nil:
		return err
	case t.IsZero():
		d.out = append(d.out, null...)
	default:
		d.out = append(d.out, '"')
		d.out = t.AppendFormat(d.out, layout)
		d.out = append(d.out, '"')
	}
	return nil
}

func (d *decoder) intOrString(b []byte) error {
	typ, err := number(b, 1)
	if err != nil {
		return err
	}
	switch typ {
	case 0:
		n, err := number(b, 2)
		d.out = strconv.AppendInt(d.out, int64(int32(n)), 10)
		return err
	case 1:
		s, err := text(b, 3)
		d.string([]byte(s))
		return err
	}
	return errors.New("neither a number nor a string")
}

// raw writes JSON that stands in a message as it is, or an object in a message.
func (d *decoder) raw(b []byte, depth int) error {
	s, err := text(b, 1)
	raw := []byte(s)
	switch {
	case err != nil:
		return err
	case len(raw) == 0:
		d.out = append(d.out, null...)
	case bytes.HasPrefix(raw, magic):
		if depth >= depthLimit {
			return ErrLimit
		}
		_, _, err := d.object(raw, depth+1)
		return err
	case !json.Valid(raw):
		return errors.New("what is no JSON")
	default:
		d.out = append(d.out, raw...)
	}
	return nil
}

// number returns the number in field want of a small message, 0 if there is none.
func number(b []byte, want uint64) (n uint64, err error) {
	for w := Wire(b); len(w) > 0 && err == nil; {
		var typ int
		var next uint64
		switch next, typ, err = w.Tag(); {
		case err != nil:
		case next != want:
			err = w.Skip(typ)
		case typ != Varint:
			err = errWireType
		default:
			n, err = w.Varint()
		}
	}
	return n, err
}

// text is the same for a string.
func text(b []byte, want uint64) (string, error) {
	part, err := Part(b, want)
	return string(part), err
}

// Part returns the bytes in field want of a message, nil if there is none: the last
// one counts. They alias b.
func Part(b []byte, want uint64) (part []byte, err error) {
	for w := Wire(b); len(w) > 0 && err == nil; {
		var typ int
		var next uint64
		switch next, typ, err = w.Tag(); {
		case err != nil:
		case next != want:
			err = w.Skip(typ)
		case typ != Bytes:
			err = errWireType
		default:
			part, err = w.Bytes()
		}
	}
	return part, err
}
