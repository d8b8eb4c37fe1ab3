package jq

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// TestJQEndsWhereTheFilterDoesNot: the number and the bytes of its results are limited, and
// none is printed then.
func TestJQEndsWhereTheFilterDoesNot(t *testing.T) {
	code, err := JQCode("repeat(1)")
	if err != nil {
		t.Fatal(err)
	}
	b, err := AppendJQ(nil, []byte("before\n"), code, map[string]any{}, 3, time.Hour)
	if err == nil || err.Error() != "result of jq above the limit of 3 bytes" {
		t.Errorf("the error is %v", err)
	}
	if string(b) != "before\n" {
		t.Errorf("%d bytes are kept: %.20q", len(b), b)
	}
	if _, err = AppendJQ(nil, nil, code, map[string]any{}, math.MaxInt, time.Hour); err == nil || err.Error() != "jq: more than 1048576 results of one object" {
		t.Errorf("the error is %v", err)
	}
}

// TestResultsThatDoNotCome: neither the first nor a later one.
func TestResultsThatDoNotCome(t *testing.T) {
	for _, text := range []string{"def f: f; f", "1, last(range(infinite))", "[range(infinite)|empty]"} {
		t.Run(text, func(t *testing.T) { // gojq looks at a real clock only
			code, err := JQCode(text)
			if err != nil {
				t.Fatal(err)
			}
			b, err := AppendJQ(nil, []byte("before\n"), code, nil, math.MaxInt, 10*time.Millisecond)
			if string(b) != "before\n" || err == nil || err.Error() != "jq: no result within 10ms" {
				t.Errorf("%s: %q, %v", text, b, err)
			}
		})
	}
}

// TestJQPrintsAllResults: as many as are allowed.
func TestJQPrintsAllResults(t *testing.T) {
	code, err := JQCode("range(3)|0")
	if err != nil {
		t.Fatal(err)
	}
	b, err := AppendJQ(nil, nil, code, nil, 6, time.Hour)
	if n := strings.Count(string(b), "0\n"); n != 3 || err != nil {
		t.Errorf("%d results, %v", n, err)
	}
}

// TestConditionsEndWhereTheFilterDoesNot: no result is an error, which says so.
func TestConditionsEndWhereTheFilterDoesNot(t *testing.T) {
	code, err := JQCode("def f: f; f")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := True(nil, code, map[string]any{}); ok || err == nil || err.Error() != "jq: no result for one object within 5s" {
		t.Errorf("%v, %v", ok, err)
	}
}

// TestEvaluationsEndWithTheRun: those that go on, some time after it, and those that begin
// later.
func TestEvaluationsEndWithTheRun(t *testing.T) {
	code, err := JQCode("def f: f; f")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, stop := Ended(ctx)
	defer stop()
	time.AfterFunc(10*time.Millisecond, cancel)
	for range 2 {
		if b, err := AppendJQ(ended, []byte("before"), code, nil, math.MaxInt, time.Hour); !errors.Is(err, ErrEnded) || string(b) != "before" {
			t.Errorf("%q, %v", b, err)
		}
		if ok, err := verdict(ended, code, time.Hour, nil); ok || !errors.Is(err, ErrEnded) {
			t.Errorf("as a condition: %v, %v", ok, err)
		}
	}
}

// TestFiltersThatHoldTooMuchEnd: long before their time, in a condition and in a result.
func TestFiltersThatHoldTooMuchEnd(t *testing.T) {
	code, err := JQCode("[range(.spec.replicas)|\"x\"*100000]|length")
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{"spec": map[string]any{"replicas": math.MaxInt}}
	if b, err := AppendJQ(nil, []byte("before\n"), code, object, math.MaxInt, OfList-1); string(b) != "before\n" || err == nil || err.Error() != "jq: the filter holds more than 256 MiB" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := first(nil, code, OfList, object); err != errHeld {
		t.Errorf("a condition: %v", err)
	}
}
