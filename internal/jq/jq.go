package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/metrics"
	"sync/atomic"
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

// ErrEnded is the error of an evaluation that the end of the run has ended.
var ErrEnded = errors.New("no result before the run ended")

// lastTurn is how long evaluations may go on after the end of a run, in all: what was
// received is to be printed.
const lastTurn = time.Second

// Ended returns a channel that is closed some time after ctx is done: evaluations with it
// then fail with ErrEnded. The caller calls stop.
func Ended(ctx context.Context) (ended <-chan struct{}, stop func()) {
	run, end := context.WithCancel(context.WithoutCancel(ctx))
	unregister := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(lastTurn):
			end()
		case <-run.Done():
		}
	})
	return run.Done(), func() { unregister(); end() }
}

// prompt is how soon an evaluation notices that the run has ended. Most are over before.
const prompt = 20 * time.Millisecond

// heed calls cancel soon after ended is closed, or, with full set, when the process holds
// maxHeld more than prompt after the call, until ctx is done or stop is called; nil = however
// much it holds. It reports whether ended is closed already.
func heed(ended <-chan struct{}, ctx context.Context, cancel func(), full *atomic.Bool) (stop func() bool, closed bool) {
	if isClosed(ended) {
		return nil, true
	}
	return time.AfterFunc(prompt, func() {
		for before := held(); ; {
			select {
			case <-ended:
				cancel()
				return
			case <-ctx.Done():
				return
			case <-time.After(prompt):
				if full != nil && held() > before+maxHeld {
					full.Store(true)
					cancel()
					return
				}
			}
		}
	}).Stop, false
}

// isClosed reports whether the run has ended.
func isClosed(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

// maxHeld is how many bytes a filter may hold that the program did not hold before: what
// [range(.spec.replicas)] makes depends on the object. What one function of jq makes at
// once, such as "x" * 500000000, is seen when it returns.
const maxHeld = 256 << 20

var errHeld = errors.New("jq: the filter holds more than 256 MiB")

// held returns how many bytes the program holds, as its garbage collector has found.
func held() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// maxResults bounds what one object makes, so that a filter without an end, such
// as range(infinite), is an error.
const maxResults = 1 << 20

// AppendJQ appends what code makes of v, at most so many bytes and maxResults results. A
// result that does not come within patience is an error, and so is one that does not come
// before ended is closed, which may be nil.
func AppendJQ(ended <-chan struct{}, b []byte, code *gojq.Code, v any, most int, patience time.Duration) ([]byte, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	full := new(atomic.Bool)
	if patience >= OfList {
		full = nil // a whole list may be large, and so may what a filter makes of it
	}
	stop, closed := heed(ended, ctx, cancel, full)
	if closed {
		return b, ErrEnded
	}
	defer stop()
	late := time.AfterFunc(patience, cancel)
	defer late.Stop()
	out := b
	results := code.RunWithContext(ctx, JQValue(v))
	for n := 0; ; n++ {
		late.Reset(patience)
		v, more := results.Next()
		switch {
		case ctx.Err() != nil && isClosed(ended):
			return b, ErrEnded
		case full != nil && full.Load():
			return b, errHeld
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
// makes it. A filter without a result within 5 s is an error, and so is one without a
// result before ended is closed, which may be nil.
func True(ended <-chan struct{}, code *gojq.Code, v any, values ...any) (bool, error) {
	return verdict(ended, code, OfObject, v, values...)
}

// How long a filter of the program may take to its next result: a run ends at --timeout
// and at signals also if its filter never does.
const (
	OfObject = 5 * time.Second
	OfList   = 30 * time.Second
)

func verdict(ended <-chan struct{}, code *gojq.Code, most time.Duration, v any, values ...any) (bool, error) {
	first, err := first(ended, code, most, v, values...)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("jq: no result for one object within %v", most)
	}
	return err == nil && first != nil && first != false, err
}

// first returns the first result of code, nil if there is none. The error of a filter that
// takes too long is context.DeadlineExceeded, that of one that holds too much errHeld.
func first(ended <-chan struct{}, code *gojq.Code, most time.Duration, v any, values ...any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	var full atomic.Bool
	stop, closed := heed(ended, ctx, cancel, &full)
	if closed {
		return nil, ErrEnded
	}
	defer stop()
	result, _ := code.RunWithContext(ctx, v, values...).Next()
	if err, failed := result.(error); failed {
		switch {
		case ctx.Err() != nil && isClosed(ended):
			err = ErrEnded
		case ctx.Err() != nil:
			err = ctx.Err()
		}
		if full.Load() {
			err = errHeld
		}
		return nil, err
	}
	return result, nil
}

// Decides returns an error unless the first result of code is true or false, for variables
// with these values: code is a comparison.
func Decides(code *gojq.Code, values ...any) error {
	switch result, err := first(nil, code, OfObject, nil, values...); {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("jq: no result within %v", OfObject)
	case err == errHeld:
		return err
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
		return verdict(nil, code, condition, JQValue(object))
	}, nil
}
