package protobuf

import (
	"encoding/base64"
	"math"
	"reflect"

	"github.com/listwatch/listwatch/internal/protojson"
)

func (f *fastDecoder) bool(v reflect.Value, _ []byte, n uint64) { v.SetBool(n != 0) }

func (f *fastDecoder) float(v reflect.Value, _ []byte, n uint64) {
	x := math.Float64frombits(n)
	f.odd = f.odd || math.IsNaN(x) || math.IsInf(x, 0)
	v.SetFloat(x)
}

// bytes sets a []byte to a copy.
func (f *fastDecoder) bytes(v reflect.Value, b []byte, _ uint64) {
	v.SetBytes(append(make([]byte, 0, len(b)), b...))
}

// base64 sets a string to the JSON form of bytes.
func (f *fastDecoder) base64(v reflect.Value, b []byte, _ uint64) {
	v.SetString(base64.StdEncoding.EncodeToString(b))
}

// quantity sets a string to a Quantity.
func (f *fastDecoder) quantity(v reflect.Value, b []byte, n uint64) {
	s, err := protojson.Part(b, 1)
	f.odd = f.odd || err != nil || len(s) == 0
	f.string(v, s, n)
}

func intFill(narrow bool) fill {
	return func(f *fastDecoder, v reflect.Value, _ []byte, n uint64) {
		x := int64(n)
		if narrow {
			x = int64(int32(x))
		}
		f.odd = f.odd || v.OverflowInt(x)
		v.SetInt(x)
	}
}

func uintFill(narrow bool) fill {
	return func(f *fastDecoder, v reflect.Value, _ []byte, n uint64) {
		x := int64(n)
		if narrow {
			x = int64(int32(x))
		}
		f.odd = f.odd || x < 0 || v.OverflowUint(uint64(x))
		v.SetUint(uint64(x))
	}
}
