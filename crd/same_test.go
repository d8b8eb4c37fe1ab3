package crd

import "testing"

func TestNumbersAreComparedByValueAlsoInside(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`[[1.0]]`, `[[1]]`, true},
		{`{"a":1e1,"b":null}`, `{"b":null,"a":10}`, true},
		{`[1]`, `[1,1]`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`[1]`, `["1"]`, false},
		{`[1e999]`, `[1e999]`, true}, // too large to be compared by value
		{`"a"`, `"a"`, true},
		{`true`, `false`, false},
		{`{}`, `[]`, false},
	} {
		v, err := decode([]byte(tt.b))
		if err != nil {
			t.Fatal(err)
		}
		if got := same([]byte(tt.a), v); got != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
	if changes, _ := breaking(t, `{"type":"array","enum":[[1.0]]}`, `{"type":"array","enum":[[1]]}`); changes != nil {
		t.Errorf("%v", changes)
	}
}
