package main

import (
	"strings"
	"testing"
)

// TestJQEndsWhereTheFilterDoesNot: its results are bounded, and none is printed then.
func TestJQEndsWhereTheFilterDoesNot(t *testing.T) {
	code, err := jqCode("repeat(1)")
	if err != nil {
		t.Fatal(err)
	}
	b, err := appendJQ([]byte("before\n"), code, map[string]any{}, 3)
	if err == nil || err.Error() != "jq: more than 3 results of one object" {
		t.Errorf("the error is %v", err)
	}
	if string(b) != "before\n" {
		t.Errorf("%d bytes are kept: %.20q", len(b), b)
	}
}

// TestJQPrintsAllResults: as many as are allowed.
func TestJQPrintsAllResults(t *testing.T) {
	code, err := jqCode("range(3)|0")
	if err != nil {
		t.Fatal(err)
	}
	b, err := appendJQ(nil, code, nil, 3)
	if n := strings.Count(string(b), "0\n"); n != 3 || err != nil {
		t.Errorf("%d results, %v", n, err)
	}
}
