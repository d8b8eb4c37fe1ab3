package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"

	"github.com/listwatch/listwatch/client/internal/merge"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// state is an object that was read to be changed: as a whole, and as a T.
type state[T kube.Object] struct {
	object T
	tree   map[string]any // all members of the object
	known  map[string]any // the members that T has fields for
	view   map[string]any // the encoding of object
}

// writeState writes a changed state.
type writeState[T kube.Object] func(ctx context.Context, k kube.Key, read map[string]any, now map[string]any) (T, error)

func (c Collection[T]) readState(ctx context.Context, k kube.Key) (state[T], error) {
	plain := c
	plain.Accept.Object = "" // the whole object
	b, err := plain.read(ctx, k)
	if err != nil {
		return state[T]{}, err
	}
	return stateOf[T](b)
}

func stateOf[T kube.Object](b []byte) (s state[T], err error) {
	if s.object, err = codec.Decode[T](b); err != nil {
		return s, err
	}
	if s.tree, err = merge.Parse(b); err != nil {
		return s, err
	}
	if b, err = codec.Known[T](b); err != nil {
		return s, err
	}
	if s.known, err = merge.Parse(b); err != nil {
		return s, err
	}
	s.view, err = merge.Tree(s.object)
	return s, err
}

// identify restores members that only the server sets, in case that the function has
// replaced the object by a new one. Without its resourceVersion the write would succeed
// although somebody else changed the object.
func (s *state[T]) identify(after map[string]any) {
	was, _ := s.view["metadata"].(map[string]any)
	if was == nil {
		return // T does not show metadata, so nothing is missing
	}
	now, _ := after["metadata"].(map[string]any)
	if now == nil {
		now = map[string]any{}
		after["metadata"] = now
	}
	for _, member := range []string{"name", "namespace", "uid", "resourceVersion", "generation",
		"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		if value, ok := was[member]; ok && merge.IsZero(now[member]) {
			now[member] = value
		}
	}
}

// change returns the whole object with the changes of f; nil if there are none.
func (s *state[T]) change(f func(*T) error) (map[string]any, error) {
	if err := f(&s.object); err != nil {
		return nil, err
	}
	after, err := merge.Tree(s.object)
	if err != nil {
		return nil, err
	}
	if s.identify(after); reflect.DeepEqual(s.view, after) {
		return nil, nil
	}
	if whole[T]() {
		return after, nil
	}
	return s.overlay(after)
}

// edit changes an object by f and write, and retries after conflicts.
func (c Collection[T]) edit(ctx context.Context, k kube.Key, f func(*T) error, write writeState[T]) (T, Outcome, error) {
	var result T
	outcome := Unchanged
	k = c.keyIn(k)
	var refused error // the error of f, which may be a conflict of another object
	err := RetryOnConflict(ctx, func() error {
		s, err := c.readState(ctx, k)
		if err != nil {
			return err
		}
		now, err := s.change(func(o *T) error { refused = f(o); return refused })
		if refused != nil {
			return nil // and no second run
		}
		if err != nil {
			return err
		}
		if now == nil {
			outcome = Unchanged
			result, err = decodeTree[T](s.tree)
			return err
		}
		result, err = write(ctx, k, s.tree, now)
		outcome = Updated
		return err
	})
	if err = cmp.Or(refused, err); err != nil {
		return *new(T), Unchanged, fmt.Errorf("change %s: %w", c.named(k), err)
	}
	return result, outcome, nil
}

func (c Collection[T]) put(ctx context.Context, k kube.Key, _, now map[string]any) (T, error) {
	path, err := c.objectPath(k)
	if err != nil {
		return *new(T), err
	}
	c.identify(now)
	return c.send(ctx, "update "+c.named(k), http.MethodPut, path, now)
}

func (c Collection[T]) mergePatch(ctx context.Context, k kube.Key, read, now map[string]any) (T, error) {
	return c.patchFrom(ctx, k, read, now, merge.Emptied(read, now, viewOf[T]))
}

// refusesUID reports whether a server refused a change of metadata.uid.
func refusesUID(err error) bool {
	var s *kube.Status
	return errors.As(err, &s) && s.Code == http.StatusUnprocessableEntity && s.Details != nil &&
		slices.ContainsFunc(s.Details.Causes, func(c kube.StatusCause) bool { return c.Field == "metadata.uid" })
}

// send writes a tree and decodes the response.
func (c Collection[T]) send(ctx context.Context, what, verb, path string, tree map[string]any) (T, error) {
	body, err := codec.Encode(tree)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	return c.exchange(ctx, what, &Request{Method: verb, Path: path, Query: c.writes(), Body: body})
}

// exchange sends a write and decodes the object in the response.
func (c Collection[T]) exchange(ctx context.Context, what string, r *Request) (T, error) {
	r.Accept = c.preferObject()
	b, err := c.answer(ctx, r)
	if c.refuses(r.Accept, err) { // a server looks at Accept before it writes
		r.Accept = c.Accept.Object
		b, err = c.answer(ctx, r)
	}
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	o, err := c.Decoder()(b)
	if err != nil {
		c.refuses(r.Accept, err)
		return *new(T), fmt.Errorf("%s: the write succeeded, but its response cannot be decoded: %w", what, err)
	}
	if c.Written != nil && !c.Write.DryRun {
		c.Written(o)
	}
	return o, nil
}

// answer sends r and reads the whole response.
func (c Collection[T]) answer(ctx context.Context, r *Request) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	resp, err := c.Client.Do(ctx, r)
	if err != nil {
		return nil, c.explain(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxObject+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxObject {
		return nil, fmt.Errorf("the response is larger than %d bytes", maxObject)
	}
	return b, nil
}

// keyIn adds the collection's namespace to a key without one.
func (c Collection[T]) keyIn(k kube.Key) kube.Key {
	if k.Namespace == "" && c.Resource.Namespaced {
		k.Namespace = c.Namespace
	}
	return k
}

// named returns the name of an object for errors: "deployments.v1.apps default/web
// (status)".
func (c Collection[T]) named(k kube.Key) string {
	name := c.Resource.String() + " " + k.String()
	if c.Subresource != "" {
		name += " (" + c.Subresource + ")"
	}
	return name
}

func (c Collection[T]) objectPath(k kube.Key) (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	if err := c.confine(k.Namespace); err != nil {
		return "", err
	}
	switch {
	case k.Name == "" || notSegment(k.Name):
		return "", fmt.Errorf("%q is not the name of an object", k.Name)
	case k.Namespace == "" && c.Resource.Namespaced:
		return "", fmt.Errorf("the key has no namespace, but the resource is namespaced")
	case c.Subresource != "":
		return c.Resource.ObjectPath(k, c.Subresource), nil
	}
	return c.Resource.ObjectPath(k), nil
}

// identify adds apiVersion and kind, which structs often lack. The server requires them
// for custom resources and for Apply.
func (c Collection[T]) identify(tree map[string]any) {
	version, kind := c.Resource.APIVersion(), c.Resource.Kind
	switch {
	case c.Subresource == "scale":
		version, kind = "autoscaling/v1", "Scale"
	case c.Subresource != "" && !updated[c.Subresource]:
		return // another kind, which was in the object that was read
	}
	for member, value := range map[string]string{"apiVersion": version, "kind": kind} {
		if was, _ := tree[member].(string); was == "" {
			tree[member] = value
		}
	}
}

// conflict returns the Status of a server that finds a conflict.
func (c Collection[T]) conflict(k kube.Key) error {
	return &kube.Status{
		Code:    http.StatusConflict,
		Reason:  "Conflict",
		Message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: the object has been modified; please apply your changes to the latest version and try again", c.Resource.GroupResource(), k.Name),
		Details: &kube.StatusDetails{Name: k.Name, Group: c.Resource.Group, Kind: c.Resource.Plural},
	}
}

// whole reports whether a T holds all of an object, so that it can be written back
// without reading the object.
func (c Collection[T]) whole() bool { return c.Write.Whole || whole[T]() }

func whole[T kube.Object]() bool {
	var zero T
	switch any(zero).(type) {
	case codec.Raw, codec.RawFull:
		return true
	}
	return false
}
