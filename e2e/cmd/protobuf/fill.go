package main

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// filler puts random values into objects.
type filler struct {
	rand  *rand.Rand
	share float64 // of the fields that get one
	depth int     // of objects that contain themselves
}

var texts = []string{"", "a", "a.b/c", `"\`, "<&>", "\x00\n\u2028", "grüße", "\xff"}

// fill sets v, which is addressable and zero.
func (f *filler) fill(v reflect.Value, depth int) {
	if depth > f.depth {
		return
	}
	if f.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Field(i).Type() != reflect.TypeFor[metav1.TypeMeta]() && f.rand.Float64() < f.share {
				f.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth)
	case reflect.Slice:
		n := f.rand.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.rand.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(fmt.Sprintf("k%d", f.rand.IntN(9)))
			f.fill(value, depth)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(texts[f.rand.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(f.rand.IntN(2) == 0)
	case reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 1 << 40, -1 << 63, 1<<63 - 1}[f.rand.IntN(6)])
	case reflect.Int32:
		v.SetInt([]int64{0, 1, -1, 80, -1 << 31, 1<<31 - 1}[f.rand.IntN(6)])
	case reflect.Uint8:
		v.SetUint(f.rand.Uint64N(256))
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, -0.5, 1e30, 1e-9, 3}[f.rand.IntN(6)])
	default:
		panic("no random " + v.Type().String())
	}
}

// special sets what is not the sum of its fields.
func (f *filler) special(v reflect.Value) bool {
	zero := f.rand.IntN(4) == 0
	when := time.Unix(f.rand.Int64N(4e9)-1e9, f.rand.Int64N(1e9))
	raw := [][]byte{nil, []byte(`{"a":[1,"x",null]}`), []byte("7")}[f.rand.IntN(3)]
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		if !zero {
			p.Time = when
		}
	case *metav1.MicroTime:
		if !zero {
			p.Time = when
		}
	case *metav1.Duration:
		p.Duration = time.Duration(f.rand.Int64())
	case *metav1.FieldsV1:
		p.SetRawBytes(raw)
	case *runtime.RawExtension:
		p.Raw = raw
	case *apiextensions.JSON:
		p.Raw = raw
	case *resource.Quantity:
		if !zero {
			*p = resource.MustParse([]string{"0", "1500m", "2Gi", "1e3", "-3"}[f.rand.IntN(5)])
		}
	case *intstr.IntOrString:
		if zero {
			*p = intstr.FromString("50%")
		} else {
			*p = intstr.FromInt32(f.rand.Int32())
		}
	default:
		return false
	}
	return true
}
