package protobuf

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/protojson"
)

// The seconds of the years that JSON supports.
const (
	firstSecond = -62167219200 // 0000-01-01
	lastSecond  = 253402300799 // 9999-12-31
)

// instant decodes a Time or MicroTime. ok is false for the zero time, whose JSON is
// null: Kubernetes encodes it as no bytes.
func (f *fastDecoder) instant(b []byte, micro bool) (t time.Time, ok bool) {
	var seconds int64
	var nanos int32
	for len(b) > 0 && !f.odd {
		var tag, n uint64
		tag, b = f.uvarint(b)
		n, b = f.uvarint(b)
		switch tag {
		case 1<<3 | protojson.Varint:
			seconds = int64(n)
		case 2<<3 | protojson.Varint:
			nanos = int32(n)
		default:
			f.odd = true
		}
		ok = true
	}
	if !micro {
		nanos = 0
	}
	if seconds < firstSecond || seconds > lastSecond || nanos < 0 || nanos > 999_999_999 {
		f.odd = true
	}
	t = time.Unix(seconds, int64(nanos/1000*1000)).UTC()
	f.odd = f.odd || ok && t.IsZero()
	return t, ok
}

// timeFill decodes a time.Time.
func timeFill(micro bool) fill {
	return func(f *fastDecoder, v reflect.Value, b []byte, _ uint64) {
		if t, ok := f.instant(b, micro); ok {
			*v.Addr().Interface().(*time.Time) = t
		}
	}
}

// unmarshaler is implemented by the types of k8s.io/apimachinery that have their own
// encoding.
type unmarshaler interface {
	Unmarshal([]byte) error
	Reset()
}

// ownFill decodes a type by its UnmarshalJSON, or, for Kubernetes' types, by its
// Unmarshal, which is faster and has the same result.
func ownFill(t reflect.Type, field *protojson.Field) fill {
	f := *field
	direct := kubernetes(t, &f)
	return func(o *fastDecoder, v reflect.Value, b []byte, n uint64) {
		if direct != nil && direct(o, b) {
			if v.Addr().Interface().(unmarshaler).Unmarshal(b) != nil {
				o.odd = true
			}
			return
		}
		o.json(v, &f, b, n)
	}
}

// ownPointerFill decodes a pointer to such a type; null leaves it nil.
func ownPointerFill(t reflect.Type, field *protojson.Field) fill {
	f, elem, size := *field, ownFill(t, field), int(t.Size())
	return func(o *fastDecoder, v reflect.Value, b []byte, n uint64) {
		if !o.weigh(1, size) {
			return
		}
		switch f.Type {
		case 't', 'm':
			if _, ok := o.instant(b, f.Type == 'm'); !ok {
				return
			}
		case 'r':
			if o.noJSON(b) {
				return
			}
		}
		fresh := reflect.New(t)
		elem(o, fresh.Elem(), b, n)
		v.Set(fresh)
	}
}

// noJSON reports whether a message of raw JSON is empty.
func (f *fastDecoder) noJSON(b []byte) bool {
	raw, err := protojson.Part(b, 1)
	f.odd = f.odd || err != nil
	return len(raw) == 0
}

// kubernetes returns a function that reports whether the Unmarshal of t may be called
// with b. It is nil if t has none, or JSON is needed anyway.
func kubernetes(t reflect.Type, f *protojson.Field) func(o *fastDecoder, b []byte) bool {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()) {
		return nil
	}
	switch f.Type {
	case 't', 'm':
		return func(o *fastDecoder, b []byte) bool {
			_, ok := o.instant(b, f.Type == 'm')
			return ok
		}
	case 'n':
		return plainIntOrString
	case 'q':
		return func(_ *fastDecoder, b []byte) bool { return len(b) > 0 }
	case 'r':
		return func(_ *fastDecoder, b []byte) bool {
			raw, err := protojson.Part(b, 1)
			return err == nil && tight(raw)
		}
	}
	return nil
}

// plainIntOrString reports whether an IntOrString is a number without a string, or a
// string without a number: the JSON of others has less than Unmarshal reads.
func plainIntOrString(f *fastDecoder, b []byte) bool {
	var kind, number uint64
	var text []byte
	for len(b) > 0 && !f.odd {
		var tag uint64
		switch tag, b = f.uvarint(b); tag {
		case 1<<3 | protojson.Varint:
			kind, b = f.uvarint(b)
		case 2<<3 | protojson.Varint:
			number, b = f.uvarint(b)
		case 3<<3 | protojson.Bytes:
			text, b = f.take(b)
		default:
			return false
		}
	}
	return kind == 0 && len(text) == 0 || kind == 1 && number == 0 && utf8.Valid(text)
}

// tight reports whether encoding/json certainly writes raw JSON unchanged.
func tight(raw []byte) bool {
	return len(raw) > 0 && !bytes.ContainsFunc(raw, func(c rune) bool {
		return c <= ' ' || c >= 0x7F || c == '<' || c == '>' || c == '&'
	})
}

// json decodes v by its UnmarshalJSON.
func (f *fastDecoder) json(v reflect.Value, field *protojson.Field, b []byte, n uint64) {
	text, err := field.JSON(n, b, codec.MaxDecoded)
	if err != nil || v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(text) != nil {
		f.odd = true
	}
}
