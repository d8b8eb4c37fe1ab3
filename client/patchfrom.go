package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/listwatch/listwatch/client/internal/merge"
	"github.com/listwatch/listwatch/kube"
)

// PatchOptions set how PatchFrom handles concurrent changes.
type PatchOptions struct {
	// OptimisticLock adds the resourceVersion of before to the patch, so that any
	// concurrent change is a [kube.ErrConflict]. Without it there is a conflict only if the
	// object was deleted and created again, or if it was changed and the patch changes a
	// list or removes a struct that becomes zero.
	OptimisticLock bool
}

// PatchFrom sends the difference between two values of an object as a JSON merge patch.
// before is the object as it was read, from a cache or a server; after is a changed copy,
// which must not share maps, lists and pointers with before. Members that only before has, such
// as an entry of a map, are removed. Concurrent changes of other members are kept. If the two
// values are equal, no request is sent, and PatchFrom returns after.
//
// A merge patch can only replace a list as a whole; the same is true for a struct that becomes
// zero and has omitzero. Such a patch contains the resourceVersion of before, so that it overwrites
// no concurrent change: it fails with [kube.ErrConflict] if the object has another one.
// If the list has objects, or the struct may have members that T does not have, PatchFrom reads
// the object first to keep these, or fails with an *[AmbiguousError]: see [Collection.Update].
// [WriteOptions.Whole] avoids this read.
//
// If a map in the argument after has a null entry, the stored entry is removed, as by any merge
// patch. For a resource with a status subresource the server ignores changes of the status: see
// [Collection.PatchStatusFrom].
func (c Collection[T]) PatchFrom(ctx context.Context, before, after T, o PatchOptions) (T, error) {
	if isNil(before) || isNil(after) {
		return *new(T), fmt.Errorf("patch %s: the object before or after the change is nil", c.Resource)
	}
	k := c.keyIn(kube.KeyOf(before))
	what := "patch " + c.named(k)
	was, now, err := c.trees(before, after)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	if reflect.DeepEqual(was, now) {
		return after, nil
	}
	read := was
	structs := merge.Emptied(was, now, viewOf[T])
	if patch, _ := merge.Patch(was, now); !c.whole() && (structs || merge.HasElements(patch)) {
		if read, now, err = c.reread(ctx, k, before, was, now); err != nil {
			return *new(T), fmt.Errorf("%s: %w", what, err)
		}
	}
	return c.patchFrom(ctx, k, read, now, o.OptimisticLock || structs)
}

// PatchStatusFrom is PatchFrom of the status subresource: it changes what differs in the status,
// and nothing else. If the object has changed since it was read, PatchStatusFrom reads the object's
// metadata, and sends the difference again, at most five times. It does not do so, and returns
// [kube.ErrConflict], if the object was deleted and created again, if a list changes, such as the
// conditions, if a struct becomes zero, or with OptimisticLock.
func (c Collection[T]) PatchStatusFrom(ctx context.Context, before, after T, o PatchOptions) (T, error) {
	return c.Sub("status").PatchFrom(ctx, before, after, o)
}

// trees returns the encodings of an object before and after a change, which differ only
// in what the collection writes.
func (c Collection[T]) trees(before, after T) (was, now map[string]any, err error) {
	if was, err = merge.Tree(before); err != nil {
		return nil, nil, err
	}
	if now, err = merge.Tree(after); err != nil {
		return nil, nil, err
	}
	s := state[T]{view: was}
	s.identify(now)
	a, _ := was["metadata"].(map[string]any)
	b, _ := now["metadata"].(map[string]any)
	for _, member := range []string{"name", "namespace", "uid"} {
		if !reflect.DeepEqual(a[member], b[member]) {
			return nil, nil, fmt.Errorf("before and after are different objects: they differ in metadata.%s", member)
		}
	}
	if b != nil {
		b["resourceVersion"] = a["resourceVersion"] // of before: the change is based on it
		if a["resourceVersion"] == nil {
			delete(b, "resourceVersion")
		}
	}
	if c.Subresource == "status" {
		status, ok := now["status"]
		if now = maps.Clone(was); ok {
			now["status"] = status
		} else {
			delete(now, "status")
		}
	}
	return was, now, nil
}

// reread returns the whole object, before and after the change from was to now.
func (c Collection[T]) reread(ctx context.Context, k kube.Key, before T, was, now map[string]any) (read, changed map[string]any, err error) {
	s, err := c.readState(ctx, k)
	if err != nil {
		return nil, nil, err
	}
	if s.object.GetResourceVersion() != before.GetResourceVersion() {
		return nil, nil, c.conflict(k)
	}
	s.view = was
	changed, err = s.overlay(now)
	return s.tree, changed, err
}

// patchFrom sends the difference between two encodings, with the UID: if the object was
// deleted and created again since it was read, that is a conflict.
func (c Collection[T]) patchFrom(ctx context.Context, k kube.Key, read, now map[string]any, lock bool) (T, error) {
	patch, lists := merge.Patch(read, now)
	meta, _ := patch["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		patch["metadata"] = meta
	}
	guarded := false // by the resourceVersion of the object with the UID
	if was, ok := read["metadata"].(map[string]any); ok {
		if uid, ok := was["uid"]; ok {
			meta["uid"] = uid
		}
		revision := was["resourceVersion"]
		guarded = c.Subresource == "status" && !lists && !lock && meta["uid"] != nil && !merge.IsZero(revision)
		if lists || lock || guarded {
			if merge.IsZero(revision) {
				return *new(T), fmt.Errorf("patch %s: a list changes, a struct becomes zero, or OptimisticLock is set, but the object before the change has no resourceVersion: read it from the server first", c.named(k))
			}
			meta["resourceVersion"] = revision
		}
	}
	for try := 0; ; try++ {
		o, err := c.Patch(ctx, k, MergePatch, patch)
		again := refusesUID(err)
		if guarded && try < guardedTries && errors.Is(err, kube.ErrConflict) {
			now, failed := Collection[kube.Partial](c).Sub("").Get(ctx, k)
			if errors.Is(failed, kube.ErrNotFound) {
				return o, failed
			}
			if again = failed == nil && now.UID != meta["uid"]; failed == nil && !again {
				meta["resourceVersion"] = now.ResourceVersion
				continue
			}
		}
		if again {
			return o, fmt.Errorf("the object was deleted and created again since it was read: %w", c.conflict(k))
		}
		return o, err
	}
}

// guardedTries is how often a patch of a status is sent again with a newer resourceVersion of
// the same object: servers ignore the UID in a status of a custom resource.
const guardedTries = 5
