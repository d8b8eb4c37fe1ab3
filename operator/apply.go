package operator

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

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
		err = json.Unmarshal(body, &tree)
	}
	if err != nil || tree == nil {
		return nil, kube.Key{}, errors.Join(err, errors.New("the desired state is no JSON object"))
	}
	child := kube.Meta{}
	metadata, _ := tree["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		tree["metadata"] = metadata
	}
	child.Name, _ = metadata["name"].(string)
	child.Namespace, _ = metadata["namespace"].(string)
	if child.Name == "" {
		child.Name = owner.GetName()
	}
	if child.Namespace == "" && s.Resource.Namespaced {
		child.Namespace = owner.GetNamespace()
	}
	if err := child.SetControllerReference(s.owner.Resource, owner); err != nil {
		return nil, kube.Key{}, err
	}
	metadata["ownerReferences"] = child.OwnerReferences
	return tree, kube.KeyOf(child), nil
}

// send applies a tree to an object that exists.
func (s *Children[C, T]) send(ctx context.Context, owner T, k kube.Key, tree map[string]any) (C, error) {
	now, err := s.writes(owner).Apply(ctx, k, tree, client.ApplyOptions{Force: true})
	if !errors.Is(err, kube.ErrInvalid) {
		return now, err
	}
	if s.replace(ctx, owner, k, tree) != nil {
		return now, err
	}
	return s.writes(owner).Apply(ctx, k, tree, client.ApplyOptions{Force: true})
}

// replace sends a tree as a merge patch, which replaces lists. Somebody may have changed the
// key of an element of a list, such as a port: apply keeps that element as one of theirs,
// and the desired one beside it may be invalid.
func (s *Children[C, T]) replace(ctx context.Context, owner T, k kube.Key, tree map[string]any) error {
	all := writes[codec.RawFull](s, owner)
	o, err := all.Patch(ctx, k, client.MergePatch, tree)
	if err != nil {
		return err
	}
	var now struct {
		Metadata struct {
			ManagedFields []map[string]any `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(o.JSON()), &now); err != nil {
		return err
	}
	// What a patch sets is owned by an entry of its own, which would keep the members when
	// the desired state no longer has them.
	managed := slices.DeleteFunc(now.Metadata.ManagedFields, func(m map[string]any) bool {
		return m["manager"] == all.Write.FieldManager && m["operation"] == "Update" && m["subresource"] == nil
	})
	_, err = all.Patch(ctx, k, client.JSONPatch, []map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": managed},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": o.GetResourceVersion()},
	})
	return err
}

func (s *Children[C, T]) writes(owner T) client.Collection[C] { return writes[C](s, owner) }

// writes returns the children as objects of type W. The next run of owner sees the writes.
func writes[W, C, T kube.Object](s *Children[C, T], owner T) client.Collection[W] {
	c := of[W](s.owner.op, s.Resource).With(client.WriteOptions{FieldManager: s.owner.op.o.suffixed(), Validation: "Strict"})
	return controller.Awaited(s.owner.Controller, kube.KeyOf(owner), c, s.Informer)
}
