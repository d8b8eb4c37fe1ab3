package webhooktest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"time"
)

// deepest limits the nesting of random values, for types that contain themselves.
const deepest = 12

// random returns a random T. Half of the members that may be missing are.
func random[T any](r *rand.Rand) T {
	var o T
	fill(reflect.ValueOf(&o).Elem(), r, 0)
	return o
}

// literals are tried for types with their own UnmarshalJSON, in random order: numbers,
// quantities, durations, times, names.
var literals = []string{`"5"`, `5`, `"100m"`, `"1Gi"`, `"30%"`, `"1h0m0s"`, `"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.000006Z"`, `"a"`, `{"a":"b"}`, `["a"]`, `true`}

// fill sets v to a random value.
func fill(v reflect.Value, r *rand.Rand, depth int) {
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		if raw, ok := u.(*json.RawMessage); ok {
			*raw = json.RawMessage(literals[r.IntN(len(literals))])
			return
		}
		if when, ok := u.(*time.Time); ok {
			*when = time.Unix(r.Int64N(1<<32), 0).UTC()
			return
		}
		for _, i := range r.Perm(len(literals)) {
			if u.UnmarshalJSON([]byte(literals[i])) == nil {
				return
			}
			v.SetZero()
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(number(r) >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(number(r)) >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(r.IntN(1<<20)) / 16)
	case reflect.String:
		v.SetString(text(r))
	case reflect.Pointer:
		if depth < deepest && r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), r, depth+1)
		}
	case reflect.Slice:
		for range several(r, depth) {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			fill(v.Index(v.Len()-1), r, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), r, depth+1)
		}
	case reflect.Map:
		fillMap(v, r, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), r, depth+1)
			}
		}
	case reflect.Interface:
		if v.NumMethod() == 0 && r.IntN(2) == 0 {
			v.Set(reflect.ValueOf(text(r)))
		}
	}
}

func fillMap(v reflect.Value, r *rand.Rand, depth int) {
	n := several(r, depth)
	if n == 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, r, depth+1)
		fill(value, r, depth+1)
		v.SetMapIndex(key, value)
	}
}

// several returns the length of a list: often 0.
func several(r *rand.Rand, depth int) int {
	if depth >= deepest {
		return 0
	}
	return max(0, r.IntN(6)-2)
}

// number returns a number of any size: often one at a limit.
func number(r *rand.Rand) int64 {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return math.MaxInt64
	}
	return int64(r.Uint64())
}

// text returns a string: often an empty one, and sometimes one that needs escapes.
func text(r *rand.Rand) string {
	switch r.IntN(5) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("a/b~c %q <é>\n%d", "x", r.IntN(100))
	}
	return "s" + strconv.Itoa(r.IntN(1000))
}
