package watch

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// Until waits until done returns true for the state of one object, and returns that
// state. done is called with the current state and after each change; exists is false,
// and o the zero value, while the object does not exist. If done fails, Until returns its
// error. done may miss states, for instance if a list replaces lost events.
//
//	pod, err := watch.Until(ctx, pods, key, func(p Pod, exists bool) (bool, error) {
//		return exists && p.Status.Phase == "Running", nil
//	})
//
// Until retries like a [Watcher], also after forbidden requests, until ctx is done. The error then
// wraps the cause of ctx and, if the last request failed, its error. If the object cannot be
// decoded, Until fails at once. The object must match the selectors of c.
func Until[T kube.Object](ctx context.Context, c client.Collection[T], k kube.Key, done func(o T, exists bool) (bool, error)) (T, error) {
	if k.Namespace == "" && c.Resource.Namespaced {
		k.Namespace = c.Namespace
	}
	fail := func(err error) (T, error) { return *new(T), fmt.Errorf("wait for %s %s: %w", c.Resource, k, err) }
	switch {
	case k.Name == "" || k.Namespace == "" && c.Resource.Namespaced:
		return fail(errors.New("the key has no name, or no namespace although the resource is namespaced"))
	case c.Namespace != "" && k.Namespace != c.Namespace:
		return fail(fmt.Errorf("the collection is that of the namespace %q", c.Namespace))
	}
	var (
		state         T
		exists, ready bool
		last          error // of the requests
	)
	for ev, err := range New(c.In(k.Namespace).Where(c.Labels, c.Fields.And(kube.NameSelector(k.Name))), Options{}).Events(ctx) {
		var report *Interruption
		var item *codec.ItemError
		switch {
		case errors.As(err, &report):
			if report.Err != nil {
				last = report.Err
			}
			continue
		case errors.As(err, &item), err != nil && (ctx.Err() == nil || last == nil):
			return fail(err)
		case err != nil:
			return fail(wait.Explain(err, fmt.Errorf("%w; the last request: %w", err, last)))
		}
		switch last = nil; ev.Type {
		case Restart:
			state, exists, ready = *new(T), false, false
			continue
		case Synced:
			ready = true
		case Added, Modified:
			state, exists = ev.Object, true
		case Deleted:
			state, exists = *new(T), false
		default:
			continue
		}
		if !ready {
			continue
		}
		if ok, err := done(state, exists); err != nil {
			return fail(err)
		} else if ok {
			return state, nil
		}
	}
	return fail(context.Cause(ctx)) // not reached: the last element is an error
}
