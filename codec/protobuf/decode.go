package protobuf

import (
	"errors"
	"reflect"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/protojson"
)

// MediaType is the media type of Kubernetes' protobuf.
const MediaType = protojson.MediaType

// Is reports whether an object is protobuf: it begins with four bytes with which no
// JSON begins.
func Is(object []byte) bool { return protojson.Is(object) }

// DecoderOf returns a function that decodes an object of a kind, in its envelope, into
// a fresh T, as codec.DecoderOf decodes its JSON. ok is false if a T can be decoded
// only from JSON: the kind is not one of the stable built-in ones, or T has a field
// that the known fields of the kind do not contain, or that is an interface, a
// json.RawMessage or another type with its own text form, or T keeps the bytes, such as
// codec.Raw.
//
// Errors are a *codec.SyntaxError, *codec.DecodeError or *codec.LimitError. An object
// of another kind is converted to JSON and decoded; if that kind is not built in, the
// error is a *codec.DecodeError. The function is safe for concurrent use.
func DecoderOf[T any](apiVersion, kind string) (decode func([]byte) (T, error), ok bool) {
	t := reflect.TypeFor[T]()
	p := planOf(t, apiVersion, kind)
	if _, raw := any(*new(T)).(interface{ FromRaw(codec.Raw) T }); p == nil || raw {
		return nil, false
	}
	pointer := t.Kind() == reflect.Pointer
	byJSON := codec.DecoderOf[T]()
	return func(b []byte) (v T, err error) {
		e, err := protojson.Open(b)
		if err != nil {
			return v, syntax(err)
		}
		if string(e.Kind) == p.wantKind && string(e.APIVersion) == p.wantVersion {
			fresh := new(T)
			root := reflect.ValueOf(fresh).Elem()
			if pointer {
				root.Set(reflect.New(t.Elem()))
				root = root.Elem()
			}
			if done, err := p.object(root, e); done {
				return *fresh, nil
			} else if err != nil {
				return v, err
			}
		}
		text, err := JSON(b)
		if err != nil {
			return v, err
		}
		return byJSON(text)
	}, true
}

// object decodes into root. done is false if the object is unusual.
func (p *rootPlan) object(root reflect.Value, e protojson.Envelope) (done bool, err error) {
	f := fastDecoders.Get().(*fastDecoder)
	defer f.free()
	f.sum = int64(p.size)
	p.fill(f, root, e.Raw, 0)
	switch {
	case f.odd:
		return false, nil
	case f.sum > codec.MaxDecoded:
		return false, &codec.LimitError{What: "decoded object", Limit: codec.MaxDecoded}
	}
	f.assignStrings()
	if p.apiVersion != nil {
		root.FieldByIndex(p.apiVersion).SetString(p.wantVersion)
	}
	if p.kind != nil {
		root.FieldByIndex(p.kind).SetString(p.wantKind)
	}
	return true, nil
}

// maxTranslated limits an object that is converted to JSON, in bytes: more than etcd
// accepts, and small enough for the memory of the conversion.
const maxTranslated = 4 << 20

// JSON converts an object of a built-in kind, in its envelope, to the JSON that a
// server would send. Errors are those of the functions that DecoderOf returns.
func JSON(b []byte) ([]byte, error) {
	text, _, _, err := protojson.Decode(b, maxTranslated)
	switch {
	case errors.Is(err, protojson.ErrLimit):
		return nil, &codec.LimitError{What: "object", Limit: maxTranslated}
	case errors.Is(err, protojson.ErrUnknown):
		return nil, &codec.DecodeError{Path: "kind", Got: "unknown kind", Want: "a built-in kind"}
	case err != nil:
		return nil, syntax(err)
	}
	return text, nil
}

// syntax returns the error of invalid bytes. The texts of package protojson name fields
// and quote nothing.
func syntax(err error) error { return &codec.SyntaxError{Form: "protobuf", Msg: err.Error()} }
