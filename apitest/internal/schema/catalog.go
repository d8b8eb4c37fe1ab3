package schema

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/kube"
)

// schemasJSON and documentsJSON come from kube-apiserver, by
//
//	go run ./cmd/schema
//
// in the e2e module. Each line of the first is a schema, each of the second a
// document or a path of one.
var (
	//go:embed openapi/schemas.json
	schemasJSON string
	//go:embed openapi/documents.json
	documentsJSON string
)

// ErrUnknown is the error for a type that a catalog does not have.
var ErrUnknown = errors.New("unknown type")

// Catalog has the built-in types. The zero value is ready to use. It parses a type at
// its first use and keeps it. It is safe for concurrent use, and must not be copied.
type Catalog struct {
	mu    sync.Mutex
	texts map[string]string // name of a component to its JSON
	kinds map[gvk]string    // to the name of the component
	nodes map[string]*node
	types map[gvk]*Type
}

type gvk struct{ group, version, kind string }

func (g gvk) apiVersion() string {
	if g.group == "" {
		return g.version
	}
	return g.group + "/" + g.version
}

func (g gvk) String() string { return g.group + "/" + g.version + ", Kind=" + g.kind }

// Type returns a built-in type by group, version and kind of r. The error is ErrUnknown
// if kube-apiserver does not serve it by default, such as alpha and beta types.
func (c *Catalog) Type(r kube.Resource) (*Type, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return nil, err
	}
	id := gvk{r.Group, r.Version, r.Kind}
	if t := c.types[id]; t != nil {
		return t, nil
	}
	name, ok := c.kinds[id]
	if !ok {
		return nil, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	root, err := c.component(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	t := &Type{id: id, root: root, builtIn: true}
	t.described = sync.OnceValue(t.convert)
	c.types[id] = t
	return t, nil
}

// Custom returns the type of a custom resource: openAPIV3Schema is that of its version
// in the CustomResourceDefinition, as JSON; empty means no validation. The catalog does
// not keep it. It returns the errors of the schema.
func (c *Catalog) Custom(r kube.Resource, openAPIV3Schema []byte) (*Type, error) {
	id := gvk{r.Group, r.Version, r.Kind}
	var v any = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	if len(openAPIV3Schema) > 0 {
		var err error
		if v, err = Decode(openAPIV3Schema); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", id, err)
		}
	}
	root, err := (&parser{left: nodeLimit}).parse(v)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", id, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return nil, err
	}
	meta, err := c.component(objectMeta)
	if err != nil {
		return nil, err
	}
	t := &Type{id: id, root: root, meta: meta, resource: r, source: v}
	t.described = sync.OnceValue(t.convert)
	root.index()
	return t, nil
}

// load indexes the lines of the embedded schemas.
func (c *Catalog) load() error {
	if c.texts != nil {
		return nil
	}
	c.texts, c.kinds = make(map[string]string), make(map[gvk]string)
	c.nodes, c.types = make(map[string]*node), make(map[gvk]*Type)
	for line := range strings.Lines(schemasJSON) {
		name, text, ok := strings.Cut(strings.TrimPrefix(line, `"`), `":`)
		if !ok || name == "" {
			continue // the header, or a brace
		}
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), ",")
		c.texts[name] = text
		const mark = `"x-kubernetes-group-version-kind":`
		i := strings.Index(text, mark)
		if i < 0 {
			continue
		}
		var kinds []struct{ Group, Version, Kind string }
		if err := json.NewDecoder(strings.NewReader(text[i+len(mark):])).Decode(&kinds); err != nil {
			return fmt.Errorf("embedded schema %s: %w", name, err)
		}
		for _, k := range kinds {
			c.kinds[gvk{k.Group, k.Version, k.Kind}] = name
		}
	}
	return nil
}

// component returns the node of a component, parsed once. It is added to the map before
// its parts are parsed, for recursive types.
func (c *Catalog) component(name string) (*node, error) {
	if n := c.nodes[name]; n != nil {
		return n, nil
	}
	text, ok := c.texts[name]
	if !ok {
		return nil, fmt.Errorf("no schema %s", name)
	}
	v, err := Decode([]byte(text))
	if err != nil {
		return nil, err
	}
	n := new(node)
	c.nodes[name] = n
	parsed, err := (&parser{resolve: c.component, left: nodeLimit}).parse(v)
	if err != nil {
		delete(c.nodes, name)
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	*n = *parsed
	n.name = name
	return n, nil
}

// Origin returns the source of the built-in types: "kube-apiserver v1.37.0".
func Origin() string {
	var header map[string]struct{ From string }
	line, _, _ := strings.Cut(strings.TrimPrefix(schemasJSON, "{\n"), ",\n")
	if err := json.Unmarshal([]byte("{"+line+"}"), &header); err != nil {
		return ""
	}
	return header[""].From
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
