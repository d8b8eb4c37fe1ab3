package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/listwatch/listwatch/client/internal/merge"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// PatchType is the format of a patch, as its Content-Type. See
// https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply.
type PatchType string

// The types of patches; for server-side apply see [Collection.Apply].
const (
	JSONPatch           PatchType = "application/json-patch+json"            // RFC 6902
	MergePatch          PatchType = "application/merge-patch+json"           // RFC 7396
	StrategicMergePatch PatchType = "application/strategic-merge-patch+json" // merges lists by key; not for custom resources
)

// Patch changes an object without reading it. patch is JSON as []byte or string, or any
// value that encodes to the patch. If a patch sets metadata.resourceVersion and the
// object has another one, the request fails with [kube.ErrConflict].
func (c Collection[T]) Patch(ctx context.Context, k kube.Key, t PatchType, patch any) (T, error) {
	k = c.keyIn(k)
	what := "patch " + c.named(k)
	body, err := patchBody(patch)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	return c.sendPatch(ctx, what, k, t, body, false)
}

// PatchStatus sends a merge patch of the status: members that status does not contain are
// unchanged. status is the value of the member status, as a struct, map or JSON. A member
// that a struct leaves out by omitempty or omitzero is not removed: to remove it use
// PatchStatusFrom. Lists are sent as a whole.
func (c Collection[T]) PatchStatus(ctx context.Context, k kube.Key, status any) (T, error) {
	body, err := patchBody(status)
	if err != nil {
		return *new(T), fmt.Errorf("patch %s (status): %w", c.named(c.keyIn(k)), err)
	}
	return c.Sub("status").Patch(ctx, k, MergePatch, map[string]any{"status": json.RawMessage(body)})
}

// ApplyOptions set how Apply resolves conflicts.
type ApplyOptions struct {
	// Force takes over members that have another owner and another value. Without it such
	// members are a [kube.ErrConflict], whose causes name them and their owners. Controllers
	// should set it.
	Force bool

	// Create refuses to change an object that exists: Apply then returns [kube.ErrConflict].
	// Without it, Apply cannot distinguish its own object from one that others have created.
	Create bool
}

// absent is a resourceVersion that no object has: the server compares it if the object
// exists, and creates the object otherwise.
const absent = "1"

// Apply declares the desired value of all members that object contains: this field
// manager becomes their owner, members that it applied before and that object no longer
// contains are removed, and those of other owners are kept. If the object does not
// exist, it is created. Apply requires a field manager: see [WriteOptions]. object is a T,
// a map, or JSON; apiVersion, kind, name and namespace are added. A member with a zero
// value is applied too: mark it omitempty if it should not be. See
// https://kubernetes.io/docs/reference/using-api/server-side-apply/.
func (c Collection[T]) Apply(ctx context.Context, k kube.Key, object any, o ApplyOptions) (T, error) {
	k = c.keyIn(k)
	what := "apply " + c.named(k)
	if c.fieldManager() == "" {
		return *new(T), fmt.Errorf("%s: server-side apply needs a field manager: set Config.FieldManager, or use With(client.WriteOptions{FieldManager: ...})", what)
	}
	body, err := patchBody(object)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	tree, err := merge.Parse(body)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	c.identify(tree)
	if err := name(tree, k, c.Resource); err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	if o.Create {
		tree["metadata"].(map[string]any)["resourceVersion"] = absent
	}
	if body, err = codec.Encode(tree); err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	return c.sendPatch(ctx, what, k, "application/apply-patch+yaml", body, o.Force)
}

func (c Collection[T]) sendPatch(ctx context.Context, what string, k kube.Key, t PatchType, body []byte, force bool) (T, error) {
	path, err := c.objectPath(k)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	q := c.writes()
	if force {
		q.Set("force", "true")
	}
	return c.exchange(ctx, what, &Request{
		Method: http.MethodPatch, Path: path, Query: q, Body: body, ContentType: string(t),
	})
}

func patchBody(v any) ([]byte, error) {
	var b []byte
	switch v := v.(type) {
	case []byte:
		b = v
	case string:
		b = []byte(v)
	default:
		return codec.Encode(v)
	}
	if !json.Valid(b) {
		return nil, errors.New("the patch is not valid JSON")
	}
	return b, nil
}

// name sets the name and namespace of an object to k. An object with others is an
// error.
func name(tree map[string]any, k kube.Key, r kube.Resource) error {
	meta, _ := tree["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		tree["metadata"] = meta
	}
	for _, part := range []struct{ member, want string }{{"name", k.Name}, {"namespace", k.Namespace}} {
		was, _ := meta[part.member].(string)
		if part.want == "" || part.member == "namespace" && !r.Namespaced {
			continue
		}
		if was != "" && was != part.want {
			return fmt.Errorf("the object has the %s %q, and the key %q", part.member, was, part.want)
		}
		meta[part.member] = part.want
	}
	return nil
}
