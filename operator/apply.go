package operator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// tree returns the desired state with its name and owner.
func (s *Children[C, T]) tree(owner T, desired any) (map[string]any, kube.Key, error) {
	var body []byte
	var err error
	switch d := desired.(type) {
	case []byte:
		body = d
	case string:
		body = []byte(d)
	default:
		body, err = codec.Encode(desired)
	}
	var tree map[string]any
	if err == nil {
		err = decode(body, &tree)
	}
	if err != nil || tree == nil {
		return nil, kube.Key{}, errors.Join(err, errors.New("the desired state is no JSON object"))
	}
	child := kube.Meta{}
	metadata, ok := tree["metadata"].(map[string]any)
	if !ok && tree["metadata"] != nil {
		return nil, kube.Key{}, errors.New("the metadata of the desired state is no JSON object")
	}
	if metadata == nil {
		metadata = map[string]any{}
		tree["metadata"] = metadata
	}
	for _, set := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		delete(metadata, set) // by the server: the desired state may be a copy of another object
	}
	for _, name := range []string{"name", "namespace"} {
		if _, ok := metadata[name].(string); !ok && metadata[name] != nil {
			return nil, kube.Key{}, fmt.Errorf("the %s of the desired state is no string", name)
		}
	}
	child.Name, _ = metadata["name"].(string)
	child.Namespace, _ = metadata["namespace"].(string)
	if child.Name == "" {
		child.Name = owner.GetName()
	}
	if child.Namespace == "" && s.Resource.Namespaced {
		child.Namespace = owner.GetNamespace()
	}
	if child.Namespace == "" && s.Resource.Namespaced { // Watched is where to look, not where to write
		return nil, kube.Key{}, fmt.Errorf("%s has no namespace, and neither has its owner", child.Name)
	}
	if refs, ok := metadata["ownerReferences"]; ok {
		if body, err = codec.Encode(refs); err == nil {
			err = decode(body, &child.OwnerReferences)
		}
		if err != nil {
			return nil, kube.Key{}, err
		}
	}
	if err := child.SetControllerReference(s.owner.Resource, owner); err != nil {
		return nil, kube.Key{}, err
	}
	metadata["ownerReferences"] = child.OwnerReferences
	return tree, kube.KeyOf(child), nil
}

// decode keeps integers that no float64 has.
func decode(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more than one JSON value")
	}
	return nil
}

// locked calls write with a child of owner, which writes on the condition that the child has
// the resourceVersion of that: its controller is the same then. After a conflict the next
// call gets the child as the server has it.
func (s *Children[C, T]) locked(ctx context.Context, owner T, k kube.Key, c C, write func(C) error) error {
	for try := 0; ; try++ {
		err := write(c)
		if !errors.Is(err, kube.ErrConflict) || try == 3 {
			return err
		}
		s.wait(owner, k) // before the child is read
		now, failed := s.writes(owner).Get(ctx, k)
		switch {
		case errors.Is(failed, kube.ErrNotFound):
			return fmt.Errorf("it was deleted meanwhile: %w", err)
		case failed != nil:
			return errors.Join(err, failed)
		case !s.belongs(s.refs(now), owner):
			return fmt.Errorf("%s %s: %w", s.Resource.Kind, k.Name, ErrForeign)
		}
		c = now
	}
}

// replaced is the annotation of a child between a replacement and its end: see replace. The next
// process ends what one that is killed has begun.
const replaced = "listwatch.dev/replaced"

// send applies a tree to was. A tree that is invalid after a replacement, too, is not replaced
// again before the child or the tree changes: the writes of a replacement add owner to the queue,
// without the delay of a failed run.
func (s *Children[C, T]) send(ctx context.Context, owner T, k kube.Key, tree map[string]any, want [sha256.Size]byte, was C) (C, error) {
	meta, err := s.metaOf(was)
	if err != nil || meta.DeletionTimestamp != nil {
		return was, err
	}
	tree = maps.Clone(tree)
	metadata := maps.Clone(tree["metadata"].(map[string]any))
	tree["metadata"] = metadata
	metadata["uid"], metadata["resourceVersion"] = meta.UID, meta.ResourceVersion
	all := writes[codec.RawFull](s, owner)
	if _, ok := meta.Annotations[replaced]; ok {
		o, err := all.Get(ctx, k)
		if err == nil {
			meta, err = disown(ctx, all, k, o, meta.ResourceVersion)
		}
		if err != nil {
			return was, err
		}
		metadata["resourceVersion"] = meta.ResourceVersion
	}
	now, err := s.writes(owner).Apply(ctx, k, tree, client.ApplyOptions{Force: true})
	if !errors.Is(err, kube.ErrInvalid) || s.last(k) == (applied{want, s.state(meta), true}) {
		return now, err
	}
	left, err := replace(ctx, all, k, tree, err)
	if err != nil {
		return now, err
	}
	metadata["resourceVersion"] = left.ResourceVersion
	now, err = s.writes(owner).Apply(ctx, k, tree, client.ApplyOptions{Force: true})
	if errors.Is(err, kube.ErrInvalid) {
		s.note(k, applied{want, s.state(left), true})
	}
	return now, err
}

// replace sends a tree, which is invalid, as a merge patch, which replaces lists, those of the
// metadata excepted. Somebody may have changed the key of an element of a list, such as a
// port: apply keeps that element as one of theirs, and the desired one beside it may be
// invalid. It returns the new metadata.
func replace(ctx context.Context, all client.Collection[codec.RawFull], k kube.Key, tree map[string]any, invalid error) (kube.Meta, error) {
	metadata := tree["metadata"].(map[string]any)
	tree = maps.Clone(tree)
	tree["metadata"] = map[string]any{
		"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
		"annotations": map[string]string{replaced: ""},
	}
	o, err := all.Patch(ctx, k, client.MergePatch, tree)
	if errors.Is(err, kube.ErrInvalid) {
		err = invalid
	}
	if err != nil {
		return kube.Meta{}, err
	}
	return disown(ctx, all, k, o, o.GetResourceVersion())
}

// disown ends a replacement of o, if it has the resourceVersion: it removes the members from
// those that a patch of this manager has set. They would be kept when the desired state no
// longer has them. It returns the new metadata.
func disown(ctx context.Context, all client.Collection[codec.RawFull], k kube.Key, o codec.RawFull, version string) (left kube.Meta, err error) {
	var now struct {
		Metadata struct {
			Annotations   map[string]string `json:"annotations"`
			ManagedFields []map[string]any  `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(o.JSON()), &now); err != nil {
		return left, err
	}
	managed := slices.DeleteFunc(now.Metadata.ManagedFields, func(m map[string]any) bool {
		return m["manager"] == all.Write.FieldManager && m["operation"] == "Update" && m["subresource"] == nil
	})
	patch := []map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": version},
		{"op": "replace", "path": "/metadata/managedFields", "value": managed},
	}
	if _, ok := now.Metadata.Annotations[replaced]; ok {
		patch = append(patch, map[string]any{"op": "remove", "path": "/metadata/annotations/" + strings.ReplaceAll(replaced, "/", "~1")})
	}
	after, err := client.Collection[kube.Partial](all).Patch(ctx, k, client.JSONPatch, patch)
	return after.Meta, err
}

func (s *Children[C, T]) writes(owner T) client.Collection[C] { return writes[C](s, owner) }

// writes returns the children as objects of type W. The next run of owner sees the writes.
func writes[W, C, T kube.Object](s *Children[C, T], owner T) client.Collection[W] {
	c := of[W](s.owner.op, s.Resource).With(client.WriteOptions{FieldManager: s.owner.op.o.suffixed(), Validation: "Strict"})
	return controller.Awaited(s.owner.Controller, kube.KeyOf(owner), c, s.Informer)
}
