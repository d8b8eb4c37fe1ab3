package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/itchyny/gojq"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
)

// JQCode compiles a filter, which sees no environment and no files.
func JQCode(text string) (*gojq.Code, error) {
	query, err := gojq.Parse(text)
	if err != nil && err.Error() == "unexpected EOF" {
		return nil, errors.New("jq: it ends too early")
	} else if err != nil {
		return nil, fmt.Errorf("jq: %w", err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("jq: %w", err)
	}
	return code, nil
}

// JQValue makes the numbers of v those that gojq knows.
func JQValue(v any) any {
	return record.Leaves(v, func(v any) any {
		switch v := v.(type) {
		case int64:
			return int(v)
		case json.Number:
			f, _ := v.Float64()
			return f
		}
		return v
	})
}

// maxResults bounds what one object makes, so that a filter without an end, such
// as range(infinite), is an error.
const maxResults = 1 << 20

// AppendJQ appends what code makes of v, at most so many bytes and maxResults results. A
// result that does not come within patience is an error.
func AppendJQ(b []byte, code *gojq.Code, v any, most int, patience time.Duration) ([]byte, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := time.AfterFunc(patience, cancel)
	defer late.Stop()
	out := b
	results := code.RunWithContext(ctx, JQValue(v))
	for n := 0; ; n++ {
		late.Reset(patience)
		v, more := results.Next()
		switch {
		case ctx.Err() != nil:
			return b, fmt.Errorf("jq: no result within %v", patience)
		case !more:
			return out, nil
		}
		switch v := v.(type) {
		case error:
			return b, fmt.Errorf("jq: %w", v)
		case string:
			out = append(out, v...)
		default:
			text, err := gojq.Marshal(v)
			if err != nil {
				return b, fmt.Errorf("jq: %w", err)
			}
			out = append(out, text...)
		}
		out = append(out, '\n')
		if n == maxResults {
			return b, fmt.Errorf("jq: more than %d results of one object", maxResults)
		}
		if len(out)-len(b) > most {
			return b, &codec.LimitError{What: "result of jq", Limit: most}
		}
	}
}

// True reports whether the first result of code for v is neither false nor null, as select
// decides. Values are those of the variables that code was compiled with. v is as JQValue
// makes it. A filter without a result within 5 s is an error.
func True(code *gojq.Code, v any, values ...any) (bool, error) {
	return verdict(code, OfObject, v, values...)
}

// How long a filter of the program may take to its next result: a run ends at --timeout
// and at signals also if its filter never does.
const (
	OfObject = 5 * time.Second
	OfList   = 30 * time.Second
)

func verdict(code *gojq.Code, most time.Duration, v any, values ...any) (bool, error) {
	first, err := first(code, most, v, values...)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("jq: no result for one object within %v", most)
	}
	return err == nil && first != nil && first != false, err
}

// first returns the first result of code, nil if there is none. The error of a filter that
// takes too long is context.DeadlineExceeded.
func first(code *gojq.Code, most time.Duration, v any, values ...any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	result, _ := code.RunWithContext(ctx, v, values...).Next()
	if err, failed := result.(error); failed {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return result, nil
}

// Decides returns an error unless the first result of code is true or false, for variables
// with these values: code is a comparison.
func Decides(code *gojq.Code, values ...any) error {
	switch result, err := first(code, OfObject, nil, values...); {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("jq: no result within %v", OfObject)
	case err != nil || result != true && result != false:
		return errors.New("it is neither true nor false: compare, as in count(...) > 3")
	}
	return nil
}

// condition is how long one object may take in a filter of many.
const condition = 200 * time.Millisecond

// Condition compiles a filter to a function that reports whether its first result for
// an object is neither false nor null. The function ends where the filter does not.
func Condition(text string) (func(object map[string]any) (bool, error), error) {
	code, err := JQCode(text)
	if err != nil {
		return nil, err
	}
	return func(object map[string]any) (bool, error) {
		return verdict(code, condition, JQValue(object))
	}, nil
}
