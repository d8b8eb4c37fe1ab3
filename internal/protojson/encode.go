package protojson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// members are those of a JSON object.
type members map[string]json.RawMessage

// Encode returns the protobuf form of an object, or of a list of objects, in its envelope;
// it is of the kind that is given if it names none. That is what Kubernetes' own encoder
// makes of the same values. Members that the kind has not are left out. It fails with
// ErrUnknown for a kind that the table has not, and with an error that quotes nothing where
// a value does not fit. What is in memory meanwhile is several times the size of text.
func Encode(text []byte, apiVersion, kind string) ([]byte, error) {
	var o members
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, errors.New("no JSON object")
	}
	if v, k := o.text("apiVersion"), o.text("kind"); k != "" {
		apiVersion, kind = v, k
	}
	if m := Lookup(apiVersion, kind); m != nil {
		raw, err := m.append(nil, o)
		return Close(nil, apiVersion, kind, raw), err
	}
	item, isList := strings.CutSuffix(kind, "List")
	m := Lookup(apiVersion, item)
	if !isList || m == nil {
		return nil, ErrUnknown
	}
	list := Message{Fields: []Field{
		{Name: "metadata", Number: 1, Type: IsMessage, ref: metaPath + ".ListMeta"},
		{Name: "items", Number: 2, Type: IsMessage, List: true, of: m},
	}}
	raw, err := list.append(nil, o)
	return Close(nil, apiVersion, kind, raw), err
}

// Broken returns an object with the identity of text, of a kind if it names none, and
// then bytes that cannot be read: what stands for JSON that does not fit its type.
func Broken(text []byte, apiVersion, kind string) []byte {
	var o, all members
	_ = json.Unmarshal(text, &o) // what is no object has no name
	_ = json.Unmarshal(o["metadata"], &all)
	if v, k := o.text("apiVersion"), o.text("kind"); k != "" {
		apiVersion, kind = v, k
	}
	var meta []byte
	for _, f := range find(metaPath + ".ObjectMeta").Fields {
		switch f.Name {
		case "name", "namespace", "uid", "resourceVersion":
			meta = appendPart(meta, f.Number, all.text(f.Name))
		}
	}
	return Close(nil, apiVersion, kind, append(appendPart(nil, 1, meta), "\x12\x7f"...))
}

// Event returns the message of a watch event, with its length in front.
func Event(typ string, object []byte) []byte {
	var raw []byte
	if object != nil {
		raw = appendPart(nil, 1, object)
	}
	event := appendPart(appendPart(nil, 1, typ), 2, raw)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
}

func (o members) text(name string) (s string) {
	_ = json.Unmarshal(o[name], &s) // what is no string is none
	return s
}

// has returns a member, nil if it is null.
func (o members) has(name string) json.RawMessage {
	if v := o[name]; !bytes.Equal(v, null) {
		return v
	}
	return nil
}

// append appends the message of o, with the fields in the order of their numbers.
func (m *Message) append(b []byte, o members) ([]byte, error) {
	fields := slices.Clone(m.Fields)
	slices.SortFunc(fields, func(a, b Field) int { return int(a.Number) - int(b.Number) })
	for i := range fields {
		f := &fields[i]
		var err error
		if f.Inline {
			var inner []byte
			inner, err = f.Message().append(nil, o)
			b = appendPart(b, f.Number, inner)
		} else {
			b, err = f.append(b, o.has(f.Name))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return b, nil
}

// append appends the value of a member, nil if there is none.
func (f *Field) append(b []byte, text json.RawMessage) (_ []byte, err error) {
	switch {
	case f.Map:
		var entries members
		if text != nil && json.Unmarshal(text, &entries) != nil {
			return nil, errors.New("no object")
		}
		value := *f
		value.Map, value.Number = false, 2
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			entry, err := value.append(appendPart(nil, 1, key), entries.has(key))
			if err != nil {
				return nil, err
			}
			b = appendPart(b, f.Number, entry)
		}
	case f.List:
		var elements []json.RawMessage
		if text != nil && json.Unmarshal(text, &elements) != nil {
			return nil, errors.New("no array")
		}
		elem := *f
		elem.List = false
		for _, e := range elements {
			if bytes.Equal(e, null) {
				e = nil
			}
			if b, err = elem.append(b, e); err != nil {
				return nil, err
			}
		}
	case text == nil && (f.Pointer || f.Type == 'y'):
	default:
		return f.single(b, text)
	}
	return b, nil
}

// single appends one value: the zero one if there is no text.
func (f *Field) single(b []byte, text json.RawMessage) ([]byte, error) {
	var err error
	read := func(into any) {
		if text != nil && err == nil && json.Unmarshal(text, into) != nil {
			err = errors.New("a value of another type")
		}
	}
	switch f.Type {
	case 's':
		var s string
		read(&s)
		return appendPart(b, f.Number, s), err
	case 'y':
		var raw []byte
		read(&raw)
		return appendPart(b, f.Number, raw), err
	case 'b':
		var yes bool
		if read(&yes); yes {
			return appendNumber(b, f.Number, 1), err
		}
		return appendNumber(b, f.Number, 0), err
	case 'i':
		var n int64
		read(&n)
		return appendNumber(b, f.Number, uint64(n)), err
	case 'j':
		var n int32
		read(&n)
		return appendNumber(b, f.Number, uint64(int64(n))), err
	case 'd':
		var x float64
		read(&x)
		b = binary.AppendUvarint(b, f.Number<<3|Fixed64)
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(x)), err
	}
	message, err := f.message(text)
	return appendPart(b, f.Number, message), err
}

// message returns the message of a value.
func (f *Field) message(text json.RawMessage) ([]byte, error) {
	var s string
	quoted := len(text) > 0 && text[0] == '"'
	if quoted && json.Unmarshal(text, &s) != nil {
		return nil, errors.New("no string")
	}
	switch f.Type {
	case IsMessage:
		return f.Message().value(text)
	case 'r':
		if text == nil {
			return nil, nil
		}
		return appendPart(nil, 1, []byte(text)), nil
	case 'n':
		var n int32
		if !quoted {
			if text != nil && json.Unmarshal(text, &n) != nil {
				return nil, errors.New("neither a number nor a string")
			}
			return appendPart(appendNumber(appendNumber(nil, 1, 0), 2, uint64(int64(n))), 3, ""), nil
		}
		return appendPart(appendNumber(appendNumber(nil, 1, 1), 2, 0), 3, s), nil
	case 'q':
		if text == nil {
			s = "0"
		} else if !quoted {
			s = string(text)
		}
		return appendPart(nil, 1, s), nil
	}
	switch {
	case text == nil && f.Type == 'p':
		return appendNumber(nil, 1, 0), nil
	case text == nil:
		return nil, nil
	case f.Type == 'p':
		d, err := time.ParseDuration(s)
		return appendNumber(nil, 1, uint64(d)), err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return nil, errors.New("no time")
	}
	return appendNumber(appendNumber(nil, 1, uint64(t.Unix())), 2, uint64(t.Nanosecond())), nil
}

// value returns the message of an object, or, of a union, that of what it is.
func (m *Message) value(text json.RawMessage) ([]byte, error) {
	if !m.Union {
		var o members
		if text != nil && json.Unmarshal(text, &o) != nil {
			return nil, errors.New("no object")
		}
		return m.append(nil, o)
	}
	var b []byte
	for i := range m.Fields {
		f := &m.Fields[i]
		switch first := text[:min(1, len(text))]; {
		case f.List && string(first) == "[", f.Pointer && string(first) == "{", f.Type == 'b' && (string(first) == "t" || string(first) == "f"):
			return f.append(b, text)
		}
	}
	return b, nil
}

func appendNumber(b []byte, number, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, number<<3|Varint), n)
}
