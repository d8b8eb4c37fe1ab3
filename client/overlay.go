package client

import (
	"github.com/listwatch/listwatch/client/internal/merge"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// AmbiguousError reports that a change cannot be written, because an object has members
// that T does not have, and it is not certain which element of a list they belong to.
// Nothing was written. To resolve it, add these members to T, or send the change by
// [Collection.Patch]. See [Collection.Update].
type AmbiguousError struct {
	Path    string   // of the list: spec.rules
	Unknown []string // some of the members that T does not have: http.paths
}

func (e *AmbiguousError) Error() string { return (*merge.AmbiguousError)(e).Error() }

// overlay makes the change that f or the caller of Update made to a T in the object that
// was read. Members that T does not have are kept, or the error is an *AmbiguousError.
func (s *state[T]) overlay(after map[string]any) (map[string]any, error) {
	result, unclear := merge.Change(s.tree, s.known, s.view, after, viewOf[T])
	if unclear != nil {
		return nil, (*AmbiguousError)(unclear)
	}
	return result, nil
}

// viewOf returns the encoding of a T that is decoded from tree; nil if it cannot be
// decoded.
func viewOf[T kube.Object](tree map[string]any) map[string]any {
	o, err := decodeTree[T](tree)
	if err != nil {
		return nil
	}
	view, err := merge.Tree(o)
	if err != nil {
		return nil
	}
	return view
}

func decodeTree[T kube.Object](tree map[string]any) (T, error) {
	b, err := codec.Encode(tree)
	if err != nil {
		return *new(T), err
	}
	return codec.Decode[T](b)
}
