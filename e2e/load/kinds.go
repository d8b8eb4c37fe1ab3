package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// kind is a resource that the load maker writes.
type kind struct {
	resource   string
	prefix     string
	plural     string
	apiVersion string
	name       string
	// content returns the fields besides metadata of a whole object, or those
	// that an update may change.
	content func(whole bool, payload string) map[string]any
}

var kinds = [...]kind{
	{"configmaps", "/api/v1", "configmaps", "v1", "ConfigMap", func(_ bool, payload string) map[string]any {
		return map[string]any{"data": map[string]any{"payload": payload}}
	}},
	{"pods", "/api/v1", "pods", "v1", "Pod", func(whole bool, _ string) map[string]any {
		if !whole { // a pod's spec can't change; the annotations do
			return map[string]any{}
		}
		return map[string]any{"spec": map[string]any{
			"automountServiceAccountToken": false,
			"containers":                   []any{map[string]any{"name": "main", "image": "registry.invalid/none"}},
		}}
	}},
	{"foos.example.com", "/apis/example.com/v1", "foos", "example.com/v1", "Foo", func(_ bool, payload string) map[string]any {
		return map[string]any{"spec": map[string]any{"payload": payload, "size": len(payload)}}
	}},
}

// Resources returns what Write.Resource can be.
func Resources() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.resource)
	}
	return names
}

// Path returns the URL path of a resource's collection over all namespaces.
func Path(resource string) (string, error) {
	for _, k := range kinds {
		if k.resource == resource {
			return k.prefix + "/" + k.plural, nil
		}
	}
	return "", fmt.Errorf("load: no resource %q", resource)
}

func (k *kind) path(ns string) string { return k.prefix + "/namespaces/" + ns + "/" + k.plural }

func (k *kind) object(ns, name, stamp, payload string) map[string]any {
	o := k.content(true, payload)
	o["apiVersion"], o["kind"] = k.apiVersion, k.name
	o["metadata"] = map[string]any{
		"namespace": ns, "name": name,
		"labels":      map[string]any{"app": "load"},
		"annotations": map[string]any{stampKey: stamp},
	}
	return o
}

// patch names the version that it changes: an attempt whose answer was lost and
// that the server carries out late must not make a version that nobody recorded.
func (k *kind) patch(uid, rv, stamp, payload string) map[string]any {
	o := k.content(false, payload)
	o["metadata"] = map[string]any{"uid": uid, "resourceVersion": rv, "annotations": map[string]any{stampKey: stamp}}
	return o
}

// payload returns size letters.
func payload(random *rand.Rand, size int) string {
	return strings.Repeat(string(rune('a'+random.IntN(26))), size)
}

// Setup makes the namespaces and the CRD of foos.example.com, and returns when
// objects of all three resources can be written. It may run more than once.
func Setup(ctx context.Context, config Config) error {
	config, err := config.withDefaults()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, config.Retry, fmt.Errorf("not ready after %s", config.Retry))
	defer cancel()
	a := &api{url: config.URL, http: config.HTTP}
	if err := a.ensure(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd()); err != nil {
		return fmt.Errorf("load: create the CRD: %w", err)
	}
	for _, ns := range config.Namespaces {
		err := a.ensure(ctx, "/api/v1/namespaces", map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns},
		})
		if err != nil {
			return fmt.Errorf("load: create namespace %s: %w", ns, err)
		}
	}
	// Established is not enough: the handler appears a moment later.
	for {
		_, err := a.call(ctx, http.MethodGet, a.url+"/apis/example.com/v1/foos", "", nil)
		if err == nil {
			return nil
		}
		if serr := sleep(ctx, 50*time.Millisecond); serr != nil {
			return fmt.Errorf("load: wait for the CRD: %w", errors.Join(serr, err))
		}
	}
}

// ensure creates an object unless it exists.
func (a *api) ensure(ctx context.Context, path string, o any) error {
	_, err := a.call(ctx, http.MethodPost, a.url+path, "application/json", o)
	var refused *statusError
	if errors.As(err, &refused) && refused.code == http.StatusConflict {
		return nil
	}
	return err
}

func crd() map[string]any {
	text := map[string]any{"type": "string"}
	number := map[string]any{"type": "integer", "format": "int64"}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "foos.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList", "shortNames": []any{"fo"}},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"additionalPrinterColumns": []any{
					map[string]any{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "Bytes of payload."},
					map[string]any{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
				},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{
						"spec":   map[string]any{"type": "object", "properties": map[string]any{"payload": text, "size": number}},
						"status": map[string]any{"type": "object", "properties": map[string]any{"phase": text}},
					},
				}},
			}},
		},
	}
}
