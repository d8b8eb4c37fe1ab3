package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Sub returns the collection for a subresource of its objects. Update, Edit and Patch
// write "status", "scale" (with T [kube.Scale]), "ephemeralcontainers" and the like.
// Create, with a T that has the name of the object, creates "eviction" and "binding" of a
// Pod, and "token" of a ServiceAccount; see also [Collection.Evict] and
// [Collection.RequestToken]. The collection does not support lists, watches,
// CreateOrUpdate, CreateOrPatch, Delete, DeleteAll and streams. For the log of a Pod use
// [Collection.Logs], for other streams see [Client.Do].
func (c Collection[T]) Sub(name string) Collection[T] {
	c.Subresource = name
	return c
}

// Subresources of Kubernetes' own resources: those that are created, with the kind of
// their body; those that are read and written; and streams.
var (
	createdKinds = map[string][2]string{
		"eviction": {"policy/v1", "Eviction"},
		"binding":  {"v1", "Binding"},
		"token":    {"authentication.k8s.io/v1", "TokenRequest"},
	}
	updated  = map[string]bool{"status": true, "scale": true, "ephemeralcontainers": true, "resize": true, "finalize": true, "approval": true}
	streamed = map[string]bool{"log": true, "exec": true, "attach": true, "portforward": true, "proxy": true}
)

// notOf returns an error for a verb that a subresource does not have.
func (c Collection[T]) notOf(verb string) error {
	if c.Subresource == "" {
		return nil
	}
	return fmt.Errorf("the subresource %[2]q has no %[1]s: use the collection without Sub", verb, c.Subresource)
}

// createSub sends o to a subresource of the object with its name.
func (c Collection[T]) createSub(ctx context.Context, what string, o T, tree map[string]any) (T, error) {
	switch {
	case updated[c.Subresource]:
		return *new(T), fmt.Errorf("%s: the subresource %q exists with its object: use Update, Edit or Patch", what, c.Subresource)
	case streamed[c.Subresource]:
		return *new(T), fmt.Errorf("%s: the subresource %q is a stream: use Client.Do", what, c.Subresource)
	case o.GetName() == "":
		return *new(T), fmt.Errorf("%s: it has no name: set the name of the object that has the subresource", what)
	}
	path, err := c.objectPath(c.keyIn(kube.KeyOf(o)))
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	b, err := c.post(ctx, path, tree)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	if id, err := codec.Skim(b); err == nil && id.Kind == "Status" {
		return o, nil // the response says only that it succeeded
	}
	created, err := codec.Decode[T](b)
	if err != nil {
		return *new(T), fmt.Errorf("%s: the write succeeded, but its response cannot be decoded: %w", what, err)
	}
	return created, nil
}

// identifySub adds apiVersion and kind of the body for a subresource.
func identifySub(tree map[string]any, subresource string) error {
	kind, known := createdKinds[subresource]
	for i, member := range []string{"apiVersion", "kind"} {
		if was, _ := tree[member].(string); was != "" {
			continue
		}
		if !known {
			return errors.New("it has no apiVersion or kind, and a subresource does not use those of its resource: add them to the Go type")
		}
		tree[member] = kind[i]
	}
	return nil
}
