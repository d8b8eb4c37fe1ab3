package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Ensure lets f set the desired state of the object k, and writes the object if f changes
// it. Unlike [client.Collection.CreateOrUpdate] it first calls f with a copy of the
// object in the cache: if f changes nothing, as in most runs, Ensure sends no request and
// returns the copy. If the cache has no such object, f gets one without UID, and Ensure
// creates it by one request. If f changes the copy, or the request to create fails because the
// object exists, f runs again on the server's state, as in CreateOrUpdate.
//
// Use it with a collection of [Awaited], and an informer that is an input of the
// controller by [For], [Owns] or [Map]: a change by others then leads to another run.
func Ensure[T kube.Object](ctx context.Context, writes client.Collection[T], cached *cache.Store[T], k kube.Key, f func(*T) error) (T, client.Outcome, error) {
	before, ok := cached.Get(k)
	if !ok {
		o, err := made(k, f)
		if err != nil {
			return *new(T), client.Unchanged, fmt.Errorf("create %s %s: %w", writes.Resource.Kind, k, err)
		}
		o, err = writes.Create(ctx, o)
		switch {
		case err == nil:
			return o, client.Created, nil
		case !errors.Is(err, kube.ErrExists):
			return *new(T), client.Unchanged, err
		}
		return writes.CreateOrUpdate(ctx, k, f)
	}
	after := kube.Clone(before)
	if err := f(&after); err != nil {
		return *new(T), client.Unchanged, fmt.Errorf("change %s %s: %w", writes.Resource.Kind, k, err)
	}
	if reflect.DeepEqual(before, after) || sameJSON(before, after) {
		return after, client.Unchanged, nil
	}
	return writes.CreateOrUpdate(ctx, k, f)
}

// sameJSON reports whether a server would see no difference, as between an empty list and none.
func sameJSON(a, b any) bool {
	before, err := codec.Encode(a)
	if err != nil {
		return false
	}
	after, err := codec.Encode(b)
	return err == nil && bytes.Equal(before, after)
}

// made returns the object that f makes from an empty one.
func made[T kube.Object](k kube.Key, f func(*T) error) (T, error) {
	named, err := codec.Encode(kube.Partial{Meta: kube.Meta{Namespace: k.Namespace, Name: k.Name}})
	if err != nil {
		return *new(T), err
	}
	o, err := codec.Decode[T](named)
	if err == nil {
		err = f(&o)
	}
	return o, err
}
