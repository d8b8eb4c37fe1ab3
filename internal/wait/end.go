package wait

import (
	"context"
	"errors"
	"reflect"
	"slices"
)

// Ended reports whether err says only that ctx has ended: it wraps the error or the cause of ctx,
// and if it wraps several errors, each of them does.
func Ended(ctx context.Context, err error) bool {
	cause := context.Cause(ctx)
	if cause == nil || !errors.Is(err, cause) && !errors.Is(err, ctx.Err()) {
		return false
	}
	for e := err; e != nil && !same(e, cause); e = errors.Unwrap(e) { // the cause may wrap several itself
		if x, ok := e.(*explained); ok {
			return Ended(ctx, x.end)
		}
		if many, ok := e.(interface{ Unwrap() []error }); ok {
			return !slices.ContainsFunc(many.Unwrap(), func(one error) bool { return one != nil && !Ended(ctx, one) })
		}
	}
	return true
}

// same reports whether a is b, which need not be comparable.
func same(a, b error) bool { return reflect.ValueOf(b).Comparable() && a == b }

// Explain returns err, which wraps the end of a wait and the reason why it was not over by then.
// For Ended it is the end.
func Explain(end, err error) error { return &explained{err, end} }

type explained struct {
	error
	end error
}

func (e *explained) Unwrap() error { return e.error }
