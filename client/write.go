package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// WriteOptions are what writes of a collection carry; see [Collection.With].
type WriteOptions struct {
	// FieldManager is who owns what is written, at most 128 characters. Default:
	// what stands before the "/" in the user agent. Apply needs one. See
	// https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers.
	FieldManager string

	// DryRun lets the server check and answer without storing anything.
	DryRun bool

	// Validation is what the server does about unknown and duplicate members:
	// "Strict", "Warn" or "Ignore". Default: the server's, which is Warn.
	Validation string
}

func (o WriteOptions) query() url.Values {
	q := url.Values{}
	if o.FieldManager != "" {
		q.Set("fieldManager", o.FieldManager)
	}
	if o.DryRun {
		q.Set("dryRun", "All")
	}
	if o.Validation != "" {
		q.Set("fieldValidation", o.Validation)
	}
	return q
}

// With returns the collection with other options for its writes.
func (c Collection[T]) With(o WriteOptions) Collection[T] {
	c.Write = o
	return c
}

// Create stores a new object and returns it as the server made it. With a
// GenerateName and no name the server chooses one. A name that is taken is
// [kube.ErrExists], an object that is not valid [kube.ErrInvalid], with the causes
// in the [kube.Status].
//
// What T leaves out is left out: the server fills in its defaults.
//
// Of a subresource, o has the name of the object, and Create returns what the server
// made of it, or o where the answer is no more than a success: see [Collection.Sub].
func (c Collection[T]) Create(ctx context.Context, o T) (T, error) {
	if isNil(o) {
		return *new(T), fmt.Errorf("create %s: the object is nil", c.Resource)
	}
	what := "create " + c.named(c.keyIn(kube.KeyOf(o)))
	if err := c.confine(o.GetNamespace()); err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	tree, err := treeOf(o)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	if c.Subresource != "" {
		return c.createSub(ctx, what, o, tree)
	}
	if c.Resource.Kind == "" {
		return *new(T), fmt.Errorf("%s: the kube.Resource has no Kind", what)
	}
	c.identify(tree)
	if meta, ok := tree["metadata"].(map[string]any); ok {
		delete(meta, "resourceVersion") // of the object that o may be a copy of: the server refuses it
	}
	ns := o.GetNamespace()
	if ns == "" {
		ns = c.Namespace
	}
	if ns == "" && c.Resource.Namespaced {
		return *new(T), fmt.Errorf("%s: it names no namespace, and objects of this resource are in one", what)
	}
	return c.send(ctx, what, http.MethodPost, c.Resource.Path(ns), tree)
}

// Update replaces the object by o, whose resourceVersion must be the one it has on
// the server: otherwise the answer is [kube.ErrConflict], and o must be made anew
// from what is stored by now. See [Collection.Edit], which does that.
//
// What T does not know of the object stays: unless T holds all of it (codec.Raw),
// Update reads the object and changes in it what differs between the T of it and o.
// The elements of a list are paired with those before: by their keys where the API
// defines them, as for containers and conditions, otherwise by a name that each has to
// itself, otherwise by equality. Where an element has members that T does not know, and
// it cannot be told whether it was changed or removed, nothing is written and the error
// is an *[AmbiguousError]. A type that knows the whole element, such as those of
// k8s.io/api, has no such error.
//
// An element with another key of the API, an entry of a map with another name, and a
// pointer that is set to nil, lose what T does not know of them: they are not what they
// were.
//
// Of a resource with a status subresource, Update does not change the status, and
// UpdateStatus nothing else. See
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
func (c Collection[T]) Update(ctx context.Context, o T) (T, error) {
	if isNil(o) {
		return *new(T), fmt.Errorf("update %s: the object is nil", c.Resource)
	}
	key := c.keyIn(kube.KeyOf(o))
	what := "update " + c.named(key)
	path, err := c.objectPath(key)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	if o.GetResourceVersion() == "" {
		return *new(T), fmt.Errorf("%s: it has no resourceVersion: read it from the server first, or use Patch or Apply", what)
	}
	tree, err := treeOf(o)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	if !whole[T]() {
		before, err := c.readState(ctx, key)
		if err != nil {
			return *new(T), fmt.Errorf("%s: %w", what, err)
		}
		if before.object.GetResourceVersion() != o.GetResourceVersion() {
			return *new(T), fmt.Errorf("%s: %w", what, c.conflict(key))
		}
		if tree, err = before.overlay(tree); err != nil {
			return *new(T), fmt.Errorf("%s: %w", what, err)
		}
	}
	c.identify(tree)
	return c.send(ctx, what, http.MethodPut, path, tree)
}

// UpdateStatus is Update of the status subresource.
func (c Collection[T]) UpdateStatus(ctx context.Context, o T) (T, error) {
	return c.Sub("status").Update(ctx, o)
}

// Edit reads the object, lets f change it, and writes it back, again if the object
// was changed by somebody else meanwhile; so f may run more than once, each time on
// a new copy. If f changes nothing, nothing is written. If it fails, so does Edit. What
// T does not know stays, or the error is an *[AmbiguousError]: see [Collection.Update].
// Where f puts another T in place of the one it gets, what that leaves out is removed,
// labels and finalizers too, but for what only the server sets: name, namespace, UID,
// resourceVersion and the like.
func (c Collection[T]) Edit(ctx context.Context, k kube.Key, f func(o *T) error) (T, error) {
	o, _, err := c.edit(ctx, k, f, c.put)
	return o, err
}

// Outcome says what CreateOrUpdate and CreateOrPatch did.
type Outcome string

// The outcomes.
const (
	Unchanged Outcome = "unchanged"
	Created   Outcome = "created"
	Updated   Outcome = "updated"
)

// CreateOrUpdate lets f make the object what it should be: f gets the object that
// the server has, as with [Collection.Edit], or else a T with nothing but the name and
// namespace of k, which are given to it again afterwards. It is written only where f changed it, and f runs again
// where somebody else was faster. What T does not know stays, or the error is an
// *[AmbiguousError]: see [Collection.Update].
func (c Collection[T]) CreateOrUpdate(ctx context.Context, k kube.Key, f func(o *T) error) (T, Outcome, error) {
	return c.createOr(ctx, k, f, c.put)
}

// CreateOrPatch is CreateOrUpdate that sends only what f changed, as a JSON merge
// patch: changes of other members by others at the same time do not matter. It is sent
// with the UID of the object that f got: where that was deleted and created again, f runs
// again. Lists are sent as a whole, and so with the resourceVersion that they were read at.
func (c Collection[T]) CreateOrPatch(ctx context.Context, k kube.Key, f func(o *T) error) (T, Outcome, error) {
	return c.createOr(ctx, k, f, c.mergePatch)
}

func (c Collection[T]) createOr(ctx context.Context, k kube.Key, f func(*T) error, write writeState[T]) (T, Outcome, error) {
	if err := c.notOf("CreateOrUpdate or CreateOrPatch"); err != nil {
		return *new(T), Unchanged, fmt.Errorf("create or change %s: %w", c.named(c.keyIn(k)), err)
	}
	var refused error // by f, whose own requests may be answered with ErrNotFound too
	guarded := func(o *T) error {
		refused = f(o)
		return refused
	}
	for again := true; ; again = false {
		o, outcome, err := c.edit(ctx, k, guarded, write)
		if refused != nil || !errors.Is(err, kube.ErrNotFound) {
			return o, outcome, err
		}
		fresh, err := c.fresh(k, f)
		if err != nil {
			return *new(T), Unchanged, err
		}
		o, err = c.Create(ctx, fresh)
		if again && errors.Is(err, kube.ErrExists) {
			continue // somebody else created it since
		}
		if err != nil {
			return *new(T), Unchanged, err
		}
		return o, Created, nil
	}
}

// fresh returns what f makes of nothing.
func (c Collection[T]) fresh(k kube.Key, f func(*T) error) (T, error) {
	k = c.keyIn(k)
	named := map[string]any{}
	_ = name(named, k, c.Resource) // it has no other one yet
	o, err := decodeTree[T](named)
	if err == nil {
		err = f(&o)
	}
	if err != nil {
		return *new(T), fmt.Errorf("create %s: %w", c.named(k), err)
	}
	tree, err := treeOf(o)
	if err != nil {
		return *new(T), fmt.Errorf("create %s: %w", c.named(k), err)
	}
	if err := name(tree, k, c.Resource); err != nil {
		return *new(T), fmt.Errorf("create %s: %w", c.named(k), err)
	}
	return decodeTree[T](tree)
}

// RetryOnConflict calls f until it returns something else than
// [kube.ErrConflict], at most six times, with pauses of some milliseconds. f must
// read the object anew each time.
func RetryOnConflict(ctx context.Context, f func() error) error {
	pause := 10 * time.Millisecond
	for try := 1; ; try++ {
		err := f()
		if err == nil || !errors.Is(err, kube.ErrConflict) || errors.Is(err, kube.ErrExists) || try == 6 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause *= 2
	}
}
