package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"

	jsoniter "github.com/json-iterator/go"
)

// iterator is the configuration of json-iterator. Kubernetes requires exact letter
// case; a number in an interface is a json.Number, so that no int64 loses digits.
var iterator = jsoniter.Config{
	CaseSensitive: true,
	UseNumber:     true,
}.Froze()

// Decode decodes one JSON value into a fresh T: a struct, a pointer to one, a
// map, Raw. The result shares no memory with b. On an error it is the zero
// value.
//
// Strings of at most 256 bytes may share an allocation of at most 4 KB: use
// strings.Clone for a string that is kept longer than the others.
//
// Names must match exactly, letter case included. If a member occurs twice the last one
// counts, but objects are merged, as in encoding/json. Unknown members are ignored.
// Numbers in an interface ("map[string]any") are json.Number. Invalid UTF-8 becomes
// U+FFFD, but is an error in more than 1 MiB. null is not an object and is an error.
// Errors are a *SyntaxError or *DecodeError.
//
// Otherwise it behaves like encoding/json with UseNumber, except that unpaired
// surrogates may become other characters than U+FFFD.
//
// A T with a method FromRaw(Raw) T is not decoded: the result is that of the method,
// called on the zero T with the object as ParseRaw reads it.
//
// A panic of a type's own UnmarshalJSON passes through.
func Decode[T any](b []byte) (T, error) { return DecoderOf[T]()(b) }

// DecoderOf returns Decode for T, resolved once for many calls. It is safe for
// concurrent use.
func DecoderOf[T any]() func([]byte) (T, error) {
	if f, ok := any(ParseRaw).(func([]byte) (T, error)); ok {
		return f
	}
	if f, ok := any(ParseRawFull).(func([]byte) (T, error)); ok {
		return f
	}
	var zero T
	if maker, ok := any(zero).(interface{ FromRaw(Raw) T }); ok {
		return func(b []byte) (T, error) {
			r, err := ParseRaw(b)
			if err != nil {
				return zero, err
			}
			return maker.FromRaw(r), nil
		}
	}
	to := targetOf(reflect.TypeFor[T]())
	return func(b []byte) (T, error) {
		v := new(T)
		if err := unmarshal(b, v, to); err != nil {
			return *new(T), err
		}
		return *v, nil
	}
}

// decodeInto decodes b into a fresh value and then assigns it.
func decodeInto(b []byte, into any) error {
	to := reflect.ValueOf(into).Elem()
	fresh := reflect.New(to.Type())
	if err := unmarshal(b, fresh.Interface(), targetOf(to.Type())); err != nil {
		return err
	}
	to.Set(fresh.Elem())
	return nil
}

// unmarshal decodes b into the fresh value that v points to: by a fastDecoder for
// fields with plans, and by another decoder for the rest and for all unusual JSON.
func unmarshal(b []byte, v any, to *target) error {
	b, err := objectUTF8(b)
	if err != nil {
		return err
	}
	if len(b) > weighFrom && heavy(b, to.weight) {
		return &LimitError{What: "decoded object", Limit: MaxDecoded}
	}
	if len(to.fields) == 0 {
		return decodeAll(b, v, to)
	}
	f := fastDecoders.Get().(*fastDecoder)
	defer f.free()
	root := reflect.ValueOf(v).Elem()
	rest, ok := f.root(b, root, to)
	switch {
	case !ok:
		root.SetZero()
		return decodeAll(b, v, to)
	case rest == nil:
		return nil
	}
	return decodeRest(b, rest, v, to)
}

// decodeAll decodes b into the fresh value that v points to, by json-iterator, or by
// encoding/json if the two may differ. The grammar is checked first, and members that v
// has no field for are removed, so that leniency, recursion, and matching of names by
// hash or without letter case cannot have an effect.
func decodeAll(b []byte, v any, to *target) error {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)

	p := projector{parser: parser{b: b}, out: (*scratch)[:0]}
	null := p.peek() == 'n'
	p.value(to.shape)
	p.end()
	switch {
	case p.err != nil:
		return p.err
	case null:
		return &DecodeError{Got: "null", Want: goType(reflect.TypeOf(v).Elem())}
	}
	rest := p.result()
	if cap(p.out) <= chunk {
		*scratch = p.out
	}
	return decodeRest(b, rest, v, to)
}

// decodeRest decodes the rest of b by json-iterator or encoding/json.
func decodeRest(b, rest []byte, v any, to *target) error {
	decode := iterate
	if to.standard {
		decode = standard
	}
	switch err := decode(rest, v); {
	case err == errPanic:
		return &DecodeError{Want: goType(reflect.TypeOf(v).Elem()), Cause: err.Error()}
	case err != nil:
		return explain(b, v)
	}
	return nil
}

// scratches holds buffers for the rest of an object.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// standard calls encoding/json.
func standard(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

var errPanic = errors.New("json-iterator panicked")

// iterate calls json-iterator. Its own panics become errors; those of a user's method
// continue.
func iterate(b []byte, v any) (err error) {
	done := false
	defer func() {
		if !done && panickedInIterator() {
			_ = recover()
			err = errPanic
		}
	}()
	err = iterator.Unmarshal(b, v)
	done = true
	return err
}

// panickedInIterator reports, from a deferred function, whether the panic in
// progress was raised by json-iterator or its reflection.
func panickedInIterator() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	inPanic := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			inPanic = true
		case !inPanic, strings.HasPrefix(f.Function, "runtime."), strings.HasPrefix(f.Function, "reflect."):
		default:
			return strings.Contains(f.Function, "json-iterator/go.") || strings.Contains(f.Function, "modern-go/")
		}
		if !more {
			return false
		}
	}
}

// explain returns why valid JSON does not fit the type that v points to. Errors of
// json-iterator quote the payload, so the JSON is decoded again by encoding/json; only
// names of fields and types are taken from its error.
func explain(b []byte, v any) error {
	t := reflect.TypeOf(v).Elem()
	out := &DecodeError{Want: goType(t)}
	err := json.Unmarshal(b, reflect.New(t).Interface())
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil: // the two decoders differ
	case errors.As(err, &mismatch):
		out.Path, out.Offset = jsonPath(t, mismatch.Field), mismatch.Offset
		out.Got, _, _ = strings.Cut(mismatch.Value, " ") // "number 300"
		out.Want = goType(mismatch.Type)
	default:
		out.Cause = reflect.TypeOf(err).String()
	}
	return out
}

// jsonPath returns a path of encoding/json without the names of embedded structs, whose
// fields belong to the outer struct in JSON.
func jsonPath(t reflect.Type, path string) string {
	var names []string
	for name := range strings.SplitSeq(path, ".") {
		for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			t = t.Elem()
		}
		if t == nil || t.Kind() != reflect.Struct {
			names, t = append(names, name), nil
			continue
		}
		embedded, next := false, reflect.Type(nil)
		for _, f := range reflect.VisibleFields(t) {
			switch tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
			case f.Anonymous && tag == "" && f.Name == name:
				embedded, next = true, f.Type
			case tag == name, tag == "" && f.Name == name:
				next = f.Type
			}
		}
		if t = next; !embedded {
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

// goType returns the name of a type, or the kind of one that would be written in full.
func goType(t reflect.Type) string {
	if s := t.String(); len(s) <= 64 && !strings.Contains(s, "struct {") {
		return s
	}
	return t.Kind().String()
}
