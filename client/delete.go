package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Propagation sets what happens to the dependents of an object. See
// https://kubernetes.io/docs/concepts/architecture/garbage-collection/#cascading-deletion.
type Propagation string

// Values of Propagation.
const (
	Background Propagation = "Background" // the object is deleted at once, its dependents later
	Foreground Propagation = "Foreground" // the dependents are deleted first
	Orphan     Propagation = "Orphan"     // the dependents are kept
)

// DeleteOptions are the preconditions and options of a deletion.
type DeleteOptions struct {
	Propagation Propagation // default: that of the resource, mostly Background

	// GracePeriod is the time that a Pod has to stop, rounded up to whole seconds; nil =
	// as in its spec, 0 = none: the Pod is removed before its containers have stopped.
	GracePeriod *time.Duration

	// UID and ResourceVersion, if not empty, must be those of the object; otherwise
	// nothing is deleted and the error is [kube.ErrConflict].
	UID             string
	ResourceVersion kube.Revision
}

func (c Collection[T]) deletion(o DeleteOptions) ([]byte, error) {
	body := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions"}
	if o.Propagation != "" {
		body["propagationPolicy"] = o.Propagation
	}
	if o.GracePeriod != nil {
		seconds := int64(*o.GracePeriod / time.Second)
		switch part := *o.GracePeriod % time.Second; { // never 0 for another time: it kills the Pod
		case part > 0:
			seconds++
		case part < 0:
			seconds--
		}
		body["gracePeriodSeconds"] = seconds
	}
	preconditions := map[string]any{}
	if o.UID != "" {
		preconditions["uid"] = o.UID
	}
	if o.ResourceVersion != "" {
		preconditions["resourceVersion"] = o.ResourceVersion
	}
	if len(preconditions) > 0 {
		body["preconditions"] = preconditions
	}
	if c.Write.DryRun {
		body["dryRun"] = []string{"All"}
	}
	return codec.Encode(body)
}

// Delete deletes an object. An object with finalizers, or a Pod with a grace period,
// first gets a deletionTimestamp and is deleted later. If the object does not exist,
// the error is [kube.ErrNotFound].
func (c Collection[T]) Delete(ctx context.Context, k kube.Key, o DeleteOptions) error {
	k = c.keyIn(k)
	what := "delete " + c.named(k)
	if err := c.notOf("Delete"); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	path, err := c.objectPath(k)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	b, err := c.remove(ctx, what, &Request{Path: path}, o)
	if err == nil && c.Deleted != nil && !c.Write.DryRun {
		c.Deleted(deleted(k, b))
	}
	return err
}

// deleted returns what the response to a deletion says of the object: it is the object, or
// a Status.
func deleted(k kube.Key, response []byte) kube.Partial {
	o, _ := codec.Decode[struct {
		Kind     string    `json:"kind"`
		Metadata kube.Meta `json:"metadata"`
		Details  struct {
			UID string `json:"uid"`
		} `json:"details"`
	}](response)
	if o.Kind == "Status" {
		o.Metadata = kube.Meta{UID: o.Details.UID}
	}
	return kube.Partial{Meta: kube.Meta{Namespace: k.Namespace, Name: k.Name, UID: o.Metadata.UID, ResourceVersion: o.Metadata.ResourceVersion}}
}

// DeleteAll deletes the objects of a namespace, or of a cluster scoped resource, that the
// collection selects; without [Collection.Where] these are all of them. The server
// deletes them one after the other: if the request fails, some may be deleted.
func (c Collection[T]) DeleteAll(ctx context.Context, o DeleteOptions) error {
	what := "delete all " + c.String()
	if err := c.notOf("DeleteAll"); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if c.Resource.Namespaced && c.Namespace == "" {
		return fmt.Errorf("%s: servers delete within one namespace: use In", what)
	}
	_, err := c.remove(ctx, what, &Request{Path: c.Path(), Query: c.selected(nil)}, o)
	return err
}

func (c Collection[T]) remove(ctx context.Context, what string, r *Request, o DeleteOptions) (response []byte, err error) {
	if r.Body, err = c.deletion(o); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	r.Method = http.MethodDelete
	if response, err = c.answer(ctx, r); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return response, nil
}
