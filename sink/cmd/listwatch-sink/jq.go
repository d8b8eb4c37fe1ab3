package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/listwatch/listwatch/codec"
)

// jqTime bounds the evaluation of an expression on one object.
const jqTime = time.Second

func compile(flag, text string) (*gojq.Code, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, usage("%s: jq: %w", flag, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, usage("%s: jq: %w", flag, err)
	}
	return code, nil
}

// first returns the first result of code on an object. Errors of jq quote values, which
// may be secret, and are left out.
func first(code *gojq.Code, o codec.Raw) (any, error) {
	dec := json.NewDecoder(strings.NewReader(o.JSON()))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("the object cannot be decoded")
	}
	ctx, cancel := context.WithTimeout(context.Background(), jqTime)
	defer cancel()
	result, ok := code.RunWithContext(ctx, v).Next()
	if _, failed := result.(error); failed || !ok {
		return nil, errors.New("jq: the expression fails or has no result for the object")
	}
	return result, nil
}

// where returns the function for --where; nil for none.
func where(text string) (func(codec.Raw) (bool, error), error) {
	if text == "" {
		return nil, nil
	}
	code, err := compile("--where", text)
	if err != nil {
		return nil, err
	}
	return func(o codec.Raw) (bool, error) {
		v, err := first(code, o)
		return v != nil && v != false, err
	}, nil
}

// project returns the function for --project; nil for none.
func project(text string) (func(codec.Raw) ([]byte, error), error) {
	if text == "" {
		return nil, nil
	}
	code, err := compile("--project", text)
	if err != nil {
		return nil, err
	}
	return func(o codec.Raw) ([]byte, error) {
		v, err := first(code, o)
		if err != nil {
			return nil, err
		}
		b, err := gojq.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("jq: the result is no JSON")
		}
		return b, nil
	}, nil
}
