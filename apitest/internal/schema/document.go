package schema

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// keptDocument is an embedded document of /openapi/v3.
type keptDocument struct {
	Schemas []string                     // names of components
	Paths   map[string]map[string]string // path to method to "action apiVersion Kind"

	Parameters map[string][]string // of the header: method to query parameters
}

func documents() (map[string]keptDocument, error) {
	var docs map[string]keptDocument
	if err := json.Unmarshal([]byte(documentsJSON), &docs); err != nil {
		return nil, fmt.Errorf("embedded documents: %w", err)
	}
	return docs, nil
}

// Index returns the body of GET /openapi/v3, as JSON: kube-apiserver's documents, and
// one for each group and version of custom.
func (c *Catalog) Index(custom ...*Type) ([]byte, error) {
	docs, err := documents()
	if err != nil {
		return nil, err
	}
	type entry struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	paths := make(map[string]entry)
	for name := range docs {
		if name != "" {
			paths[name] = entry{"/openapi/v3/" + name + "?hash=" + hash(schemasJSON, documentsJSON)}
		}
	}
	texts := make(map[string][]string)
	for _, t := range custom {
		source, err := Encode(t.source)
		if err != nil {
			return nil, err
		}
		texts[t.document()] = append(texts[t.document()], t.id.String(), string(source))
	}
	for name, text := range texts {
		paths[name] = entry{"/openapi/v3/" + name + "?hash=" + hash(text...)}
	}
	return json.Marshal(map[string]any{"paths": paths})
}

func hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		h.Write([]byte(t)) // never fails
	}
	return fmt.Sprintf("%X", h.Sum(nil))
}

// Document returns the body of GET /openapi/v3/name, as JSON; name is for instance
// "api/v1" or "apis/apps/v1". It has no descriptions, and for each operation only the
// parts that kubectl uses: the kind, and the parameters of a write. custom are all
// types of Index. The error is ErrUnknown for another name.
func (c *Catalog) Document(name string, custom ...*Type) ([]byte, error) {
	docs, err := documents()
	if err != nil {
		return nil, err
	}
	parameters := docs[""].Parameters
	schemas, paths := make(map[string]any), make(map[string]any)
	if doc, ok := docs[name]; ok && name != "" {
		if err := c.components(doc.Schemas, schemas); err != nil {
			return nil, err
		}
		for path, methods := range doc.Paths {
			paths[path] = operations(methods, parameters)
		}
	}
	for _, t := range custom {
		if t.document() != name {
			continue
		}
		if err := c.components([]string{objectMeta, ownerReference, managedFieldsEntry, fieldsV1, timeName}, schemas); err != nil {
			return nil, err
		}
		t.describe(schemas, paths, parameters)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("document %q: %w", name, ErrUnknown)
	}
	return json.Marshal(map[string]any{
		"openapi":    "3.0.0",
		"info":       map[string]any{"title": "Kubernetes", "version": strings.TrimPrefix(Origin(), "kube-apiserver ")},
		"paths":      paths,
		"components": map[string]any{"schemas": schemas},
	})
}

const (
	metaPackage        = "io.k8s.apimachinery.pkg.apis.meta.v1."
	objectMeta         = metaPackage + "ObjectMeta"
	ownerReference     = metaPackage + "OwnerReference"
	managedFieldsEntry = metaPackage + "ManagedFieldsEntry"
	fieldsV1           = metaPackage + "FieldsV1"
	timeName           = metaPackage + "Time"
	microTimeName      = metaPackage + "MicroTime"
)

// components adds the schemas of those names as kube-apiserver writes them.
func (c *Catalog) components(names []string, to map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return err
	}
	for _, name := range names {
		v, err := Decode([]byte(c.texts[name]))
		if err != nil {
			return fmt.Errorf("embedded schema %s: %w", name, err)
		}
		to[name] = published(v)
	}
	return nil
}

// published puts a $ref that has something beside it into an allOf, where OpenAPI
// wants it.
func published(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if name != "default" && name != "enum" {
				v[name] = published(e)
			}
		}
		if ref, ok := v["$ref"].(string); ok && len(v) > 1 {
			delete(v, "$ref")
			v["allOf"] = []any{map[string]any{"$ref": ref}}
		}
	case []any:
		for i, e := range v {
			v[i] = published(e)
		}
	}
	return v
}

// operations describes the methods of a path.
func operations(methods map[string]string, parameters map[string][]string) map[string]any {
	path := make(map[string]any)
	for method, text := range methods {
		words := strings.Fields(text)
		if len(words) != 3 {
			continue
		}
		id := parseKind(words[1], words[2])
		op := map[string]any{
			"x-kubernetes-action":             words[0],
			"x-kubernetes-group-version-kind": map[string]any{"group": id.group, "version": id.version, "kind": id.kind},
			"responses":                       map[string]any{"200": map[string]any{"description": "OK"}},
		}
		if words[0] == method { // patch, post and put: not the connect of a subresource
			list := []any{}
			for _, name := range parameters[method] {
				typ := "string"
				if name == "force" {
					typ = "boolean"
				}
				list = append(list, map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": typ, "uniqueItems": true}})
			}
			op["parameters"] = list
		}
		path[method] = op
	}
	return path
}

// document returns the name of the document that contains t.
func (t *Type) document() string { return "apis/" + t.id.group + "/" + t.id.version }

// describe adds a custom type's schema and paths.
func (t *Type) describe(schemas, paths map[string]any, parameters map[string][]string) {
	parts := strings.Split(t.id.group, ".")
	slices.Reverse(parts)
	name := strings.Join(append(parts, t.id.version, t.id.kind), ".")
	ref := func(name string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + name} }
	add := func(name, kind string, schema map[string]any, props map[string]any) {
		own, _ := schema["properties"].(map[string]any)
		all := maps.Clone(own)
		if all == nil {
			all = make(map[string]any)
		}
		text := map[string]any{"type": "string"}
		all["apiVersion"], all["kind"] = text, text
		maps.Copy(all, props)
		schema["properties"] = all
		schema["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": t.id.group, "version": t.id.version, "kind": kind}}
		schemas[name] = schema
	}
	source, _ := Copy(t.source).(map[string]any)
	add(name, t.id.kind, source, map[string]any{"metadata": ref(objectMeta)})
	add(name+"List", t.id.kind+"List", map[string]any{"type": "object", "required": []any{"items"}},
		map[string]any{"metadata": map[string]any{"type": "object"}, "items": map[string]any{"type": "array", "items": ref(name)}})
	base := "/apis/" + t.id.group + "/" + t.id.version
	kind := t.id.apiVersion() + " " + t.id.kind
	collection, object := base+"/"+t.resource.Plural, ""
	if t.resource.Namespaced {
		paths[collection] = operations(map[string]string{"get": "list " + kind}, parameters)
		collection = base + "/namespaces/{namespace}/" + t.resource.Plural
	}
	object = collection + "/{name}"
	paths[collection] = operations(map[string]string{"get": "list " + kind, "post": "post " + kind, "delete": "deletecollection " + kind}, parameters)
	paths[object] = operations(map[string]string{"get": "get " + kind, "put": "put " + kind, "patch": "patch " + kind, "delete": "delete " + kind}, parameters)
}
