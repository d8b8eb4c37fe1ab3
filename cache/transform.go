package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/uid"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// transformed returns ev with its object transformed. unreadable is the error of the
// transformation, err is why it was not called. It takes exclusive, because Transform
// is not called concurrently.
func (i *Informer[T]) transformed(ctx context.Context, ev watch.Event[T]) (_ watch.Event[T], unreadable, err error) {
	if i.transform == nil || ev.Type != watch.Added && ev.Type != watch.Modified && ev.Type != watch.Deleted {
		return ev, nil, nil
	}
	if !i.begin(ctx) {
		return ev, nil, context.Cause(ctx)
	}
	defer i.finish()
	object, err := transform(i.transform, ev.Object)
	if err != nil {
		return ev, &codec.ItemError{
			Identity: codec.Identity{Namespace: ev.Key.Namespace, Name: ev.Key.Name, UID: ev.UID, ResourceVersion: string(ev.Revision)},
			Err:      err,
		}, nil
	}
	ev.Object = object
	// The strings of the event may share memory with the original object.
	ev.Key = kube.KeyOf(object)
	if rev := kube.Revision(object.GetResourceVersion()); rev != "" {
		ev.Revision = rev
	}
	if uid, _ := uid.Of(&object); uid != "" {
		ev.UID = uid
	}
	return ev, nil, nil
}

// transform calls f with o. Its errors are of type *transformError.
func transform[T kube.Object](f func(T) (T, error), o T) (T, error) {
	key := kube.KeyOf(o)
	switch made, err := f(o); {
	case err != nil:
		return made, &transformError{err}
	case reflect.TypeFor[T]().Kind() == reflect.Pointer && reflect.ValueOf(made).IsNil():
		return made, &transformError{errors.New("it returned nil: to leave an object out, use a selector or return an error")}
	case kube.KeyOf(made) != key:
		return made, &transformError{fmt.Errorf("the name became %q: do not rename objects; to leave one out, use a selector or return an error", kube.KeyOf(made))}
	default:
		return made, nil
	}
}

// transformError is an error of Options.Transform, which may quote the object.
type transformError struct{ err error }

func (e *transformError) Error() string { return "transform: " + e.err.Error() }
func (e *transformError) Unwrap() error { return e.err }

// Is reports that a snapshot is read without this object.
func (e *transformError) Is(target error) bool { return target == persist.ErrLeftOut }
