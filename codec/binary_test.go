package codec_test

import (
	"bytes"
	"testing"

	"github.com/listwatch/listwatch/codec"
)

func TestRawBinaryIsWhatItWas(t *testing.T) {
	for _, object := range []string{
		`{}`,
		`{"metadata":{"name":"a"}}`,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"\u0061\"b","namespace":"n","uid":"u","resourceVersion":"7","managedFields":[1]},"spec":{"x":[1,2]}}`,
	} {
		r, err := codec.ParseRaw([]byte(object))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := r.AppendBinary([]byte("before"))
		var got codec.Raw
		if err := got.UnmarshalBinary(b[len("before"):]); err != nil || got != r {
			t.Errorf("%s: got %s, %v", object, got.JSON(), err)
		}
	}
	got, _ := codec.ParseRaw([]byte(`{}`))
	if err := got.UnmarshalBinary(nil); err != nil || !got.IsZero() {
		t.Errorf("nothing became %s, %v", got.JSON(), err)
	}
}

// TestGettersOfDamagedBytes: no getter leaves the bytes of a Raw whose JSON is damaged.
func TestGettersOfDamagedBytes(t *testing.T) {
	const object = `{"metadata":{"labels":{"a\u0061":"b\"","c":{}},"ownerReferences":[],"name":"n"}}`
	r, err := codec.ParseRaw([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := r.MarshalBinary()
	for i := 1; i < len(object)-1; i++ {
		for j := i; j < min(i+3, len(object)-1); j++ {
			for _, with := range []byte(`"{}[]:,\ 0`) {
				b := bytes.Clone(whole)
				b[i], b[j] = with, with
				var got codec.Raw
				if err := got.UnmarshalBinary(b); err != nil {
					t.Fatal(err)
				}
				got.GetLabels()
				got.Label("c")
				got.Text("metadata", "name")
				got.GetOwnerReferences()
			}
		}
	}
}

// FuzzRawBinary: whatever the bytes, no getter leads out of them.
func FuzzRawBinary(f *testing.F) {
	r, err := codec.ParseRaw([]byte(`{"kind":"Pod","metadata":{"name":"\u0061","uid":"u"}}`))
	if err != nil {
		f.Fatal(err)
	}
	b, _ := r.MarshalBinary()
	f.Add(b)
	f.Add(b[1:])
	f.Add(bytes.Repeat([]byte{0xff}, 60))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r codec.Raw
		if r.UnmarshalBinary(b) == nil {
			_, _, _ = r.Identity(), r.JSON(), r.GetLabels()
		}
	})
}
