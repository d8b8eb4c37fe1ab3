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

// iterator is how json-iterator decodes here. Kubernetes insists on letter
// case; a number in an interface is a json.Number, so that no int64 loses
// digits.
var iterator = jsoniter.Config{
	CaseSensitive: true,
	UseNumber:     true,
}.Froze()

// Decode decodes one JSON value into a fresh T: a struct, a pointer to one, a
// map, Raw. The result shares no memory with b. On an error it is the zero
// value.
//
// Strings of at most 256 bytes may be parts of one allocation, of at most 4 KB:
// strings.Clone what must not keep its neighbours alive.
//
// Names match exactly, letter case included; of a member that occurs twice the last
// one counts, but objects are merged, as in encoding/json; unknown members are
// ignored. Numbers in an interface
// ("map[string]any") are json.Number. Invalid UTF-8 becomes U+FFFD,
// but is an error in more than 1 MiB. null is not
// an object, hence an error. Errors are a *SyntaxError or *DecodeError.
//
// Besides, it is as encoding/json with UseNumber, but that halves of surrogate pairs
// that are out of place may become other characters than U+FFFD.
//
// A T with a method FromRaw(Raw) T is not decoded: it is what that method, of
// the zero T, returns for the object as ParseRaw reads it.
//
// A panic of a type's own UnmarshalJSON passes through.
func Decode[T any](b []byte) (T, error) { return DecoderOf[T]()(b) }

// DecoderOf returns what Decode does, resolved once for many calls. It may be
// used by several goroutines at a time.
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

// decodeInto decodes into a fresh value and then assigns it.
func decodeInto(b []byte, into any) error {
	to := reflect.ValueOf(into).Elem()
	fresh := reflect.New(to.Type())
	if err := unmarshal(b, fresh.Interface(), targetOf(to.Type())); err != nil {
		return err
	}
	to.Set(fresh.Elem())
	return nil
}

// unmarshal decodes b into the fresh value that v points to: by a filler as far as
// to has plans for its type, and the rest, or all that is unusual, by another decoder.
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
	f := fillers.Get().(*filler)
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

// decodeAll lets json-iterator, or encoding/json where the two may differ, decode b
// into the fresh value that v points to. The grammar is checked first and what v has
// no place for is cut, so that they see nothing but JSON that they need: leniency,
// recursion, and matching of names by hash or without letter case do not matter.
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

// decodeRest lets json-iterator or encoding/json decode what is left of b.
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

// scratches holds buffers for what is left of an object.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// standard calls encoding/json.
func standard(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

var errPanic = errors.New("json-iterator panicked")

// iterate calls json-iterator. A panic of its own becomes an error; one of a
// user's method goes on.
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

// explain says why valid JSON does not fit the type v points to. The texts of
// json-iterator quote the payload, so encoding/json is asked again; of its
// error only names of fields and types are taken.
func explain(b []byte, v any) error {
	t := reflect.TypeOf(v).Elem()
	out := &DecodeError{Want: goType(t)}
	err := json.Unmarshal(b, reflect.New(t).Interface())
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil: // a difference between the two decoders
	case errors.As(err, &mismatch):
		out.Path, out.Offset = jsonPath(t, mismatch.Field), mismatch.Offset
		out.Got, _, _ = strings.Cut(mismatch.Value, " ") // "number 300"
		out.Want = goType(mismatch.Type)
	default:
		out.Cause = reflect.TypeOf(err).String()
	}
	return out
}

// jsonPath is a path as encoding/json tells it, less the names of embedded structs,
// whose fields are in JSON those of the struct around.
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

// goType names a type; one that is written out at length by its kind.
func goType(t reflect.Type) string {
	if s := t.String(); len(s) <= 64 && !strings.Contains(s, "struct {") {
		return s
	}
	return t.Kind().String()
}
