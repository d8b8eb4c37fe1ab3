package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/listwatch/listwatch/client/internal/merge"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// WriteOptions are the options of a collection's writes; see [Collection.With].
type WriteOptions struct {
	// FieldManager is the owner of the written members, at most 128 bytes. Default:
	// [Config.FieldManager], and without that the part of the user agent before "/". Apply
	// requires one of the two settings. See
	// https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers.
	FieldManager string

	// DryRun makes the server check a request and respond without storing anything.
	DryRun bool

	// Validation sets how the server handles unknown and duplicate members: "Strict",
	// "Warn" or "Ignore". Default: the server's, which is Warn.
	Validation string

	// Whole declares that T has every member of the objects. This is true for the types of
	// k8s.io/api of the server's version, and for the struct that a CustomResourceDefinition is
	// made from. Update and PatchFrom then do not read the object before they write it. Members
	// that T does not have are lost.
	Whole bool
}

// writes returns the query of a write.
func (c Collection[T]) writes() url.Values {
	q := url.Values{}
	if m := c.fieldManager(); m != "" {
		q.Set("fieldManager", m)
	}
	if c.Write.DryRun {
		q.Set("dryRun", "All")
	}
	if c.Write.Validation != "" {
		q.Set("fieldValidation", c.Write.Validation)
	}
	return q
}

func (c Collection[T]) fieldManager() string {
	if c.Write.FieldManager == "" && c.Client != nil {
		return c.Client.manager
	}
	return c.Write.FieldManager
}

// With returns the collection with these options for its writes.
func (c Collection[T]) With(o WriteOptions) Collection[T] {
	c.Write = o
	return c
}

// Create stores a new object and returns the stored one. With a GenerateName and no
// name the server chooses one. A name in use is [kube.ErrExists], an invalid object
// [kube.ErrInvalid], with the causes in the [kube.Status].
//
// The server sets its defaults for members that T leaves out.
//
// For a subresource, o has the name of the object, and Create returns the object in the
// response, or o if the response says only that it succeeded: see [Collection.Sub].
func (c Collection[T]) Create(ctx context.Context, o T) (T, error) {
	if isNil(o) {
		return *new(T), fmt.Errorf("create %s: the object is nil", c.Resource)
	}
	what := "create " + c.named(c.keyIn(kube.KeyOf(o)))
	if err := c.confine(o.GetNamespace()); err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	tree, err := merge.Tree(o)
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
		delete(meta, "resourceVersion") // in case that o is a copy of a stored object: the server would refuse it
	}
	ns := o.GetNamespace()
	if ns == "" {
		ns = c.Namespace
	}
	if ns == "" && c.Resource.Namespaced {
		return *new(T), fmt.Errorf("%s: it has no namespace, but the resource is namespaced", what)
	}
	return c.send(ctx, what, http.MethodPost, c.Resource.Path(ns), tree)
}

// Update replaces the object by o, which must have a resourceVersion. If the stored object has
// another one, the error is [kube.ErrConflict], and the caller must make the change again on the
// current object, as [Collection.Edit] does.
//
// T may be a part of the object. Members that T does not have are kept: Update reads the
// object, compares it, as a T, with o, and writes the differences only. Only for codec.Raw, and
// with [WriteOptions.Whole], it does not read the object.
//
// If lists differ, each element of o is paired with a stored element: by the keys that the
// API defines, as for containers and conditions; else by a unique name; else by equality. If
// an element has members that T does not have, and it may have been changed or removed,
// nothing is written, and the error is an *[AmbiguousError]. This cannot occur if T has all
// members of the elements, as the types of k8s.io/api do.
//
// Some changes replace a value; members of the old one that T does not have are then lost:
// another key of a list element, another name of a map entry, a pointer that becomes nil.
//
// For a resource with a status subresource, Update does not change the status, and
// UpdateStatus changes nothing else. See
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
	tree, err := merge.Tree(o)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	if !c.whole() {
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

// Edit reads the object, lets f change it, and writes it back. If the object was changed
// meanwhile, Edit retries as [RetryOnConflict] does, so f may run up to six times, each time
// on a new copy. If f changes nothing, nothing is written. If f fails, Edit does not retry,
// and returns the error of f, wrapped. Members that T does not have are kept, or the error
// is an *[AmbiguousError]: see [Collection.Update].
//
// f may replace the whole T. Members that the new one leaves out are then removed, labels and
// finalizers too, except those that only the server sets: name, namespace, UID,
// resourceVersion and the like.
func (c Collection[T]) Edit(ctx context.Context, k kube.Key, f func(o *T) error) (T, error) {
	o, _, err := c.edit(ctx, k, f, c.put)
	return o, err
}

// Outcome is what CreateOrUpdate and CreateOrPatch did.
type Outcome string

// Values of Outcome.
const (
	Unchanged Outcome = "unchanged"
	Created   Outcome = "created"
	Updated   Outcome = "updated"
)

// CreateOrUpdate lets f set the desired state of the object. f gets the stored object, as
// for [Collection.Edit], or, if there is none, a T with only the name and namespace of k,
// which f must not replace by others. The object is written only if f changed it; after a
// conflict f runs again. Members that T does not have are kept, or the error is an
// *[AmbiguousError]: see [Collection.Update].
func (c Collection[T]) CreateOrUpdate(ctx context.Context, k kube.Key, f func(o *T) error) (T, Outcome, error) {
	return c.createOr(ctx, k, f, c.put)
}

// CreateOrPatch is CreateOrUpdate, but sends only the changes of f, as a JSON merge
// patch: concurrent changes of other members do not conflict. The patch contains the UID
// of the object that f got: if that object was deleted and created again, f runs again.
// Lists, and structs that become zero and have omitzero, are sent as a whole, and
// therefore with the resourceVersion at which they were read. If two clients change the
// same member at the same time, the last write wins: a value that depends on the previous
// one, such as a counter, needs CreateOrUpdate.
func (c Collection[T]) CreateOrPatch(ctx context.Context, k kube.Key, f func(o *T) error) (T, Outcome, error) {
	return c.createOr(ctx, k, f, c.mergePatch)
}

func (c Collection[T]) createOr(ctx context.Context, k kube.Key, f func(*T) error, write writeState[T]) (T, Outcome, error) {
	if err := c.notOf("CreateOrUpdate or CreateOrPatch"); err != nil {
		return *new(T), Unchanged, fmt.Errorf("create or change %s: %w", c.named(c.keyIn(k)), err)
	}
	var refused error // the error of f, whose own requests may return ErrNotFound too
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
			continue // somebody else has created it
		}
		if err != nil {
			return *new(T), Unchanged, err
		}
		return o, Created, nil
	}
}

// fresh returns the object that f makes from an empty one.
func (c Collection[T]) fresh(k kube.Key, f func(*T) error) (T, error) {
	k = c.keyIn(k)
	named := map[string]any{}
	_ = name(named, k, c.Resource) // cannot fail: it has no name yet
	o, err := decodeTree[T](named)
	if err == nil {
		err = f(&o)
	}
	if err != nil {
		return *new(T), fmt.Errorf("create %s: %w", c.named(k), err)
	}
	tree, err := merge.Tree(o)
	if err != nil {
		return *new(T), fmt.Errorf("create %s: %w", c.named(k), err)
	}
	if err := name(tree, k, c.Resource); err != nil {
		return *new(T), fmt.Errorf("create %s: %w", c.named(k), err)
	}
	return decodeTree[T](tree)
}

// RetryOnConflict calls f until it returns something other than [kube.ErrConflict], at
// most six times, with pauses that double from about 10 to 160 ms. f must read the
// object again each time. If ctx ends in a pause, RetryOnConflict returns the last error of f.
func RetryOnConflict(ctx context.Context, f func() error) error {
	pause := 10 * time.Millisecond
	for try := 1; ; try++ {
		err := f()
		if err == nil || !errors.Is(err, kube.ErrConflict) || errors.Is(err, kube.ErrExists) || try == 6 {
			return err
		}
		if wait.For(ctx, pause/2+rand.N(pause)) != nil {
			return err
		}
		pause *= 2
	}
}
