package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// command is what the files name as their origin.
const command = "go run ./cmd/schema, in the e2e module"

// document is what is kept of one document of /openapi/v3.
type document struct {
	Schemas []string        `json:"schemas"` // the names of its components
	Paths   map[string]path `json:"paths"`
}

// path is what is kept of a path: an operation's method and what Kubernetes
// calls it, such as "get": "list v1 Pod": action, apiVersion and kind.
type path map[string]string

// operation is what is read of an operation.
type operation struct {
	Action     string `json:"x-kubernetes-action"`
	Kind       gvk    `json:"x-kubernetes-group-version-kind"`
	Parameters []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
}

type gvk struct{ Group, Version, Kind string }

func (g gvk) String() string {
	if g.Group != "" {
		g.Version = g.Group + "/" + g.Version
	}
	return g.Version + " " + g.Kind
}

// writeOpenAPI writes schemas.json and documents.json, one schema and one path
// a line.
func writeOpenAPI(ctx context.Context, s *server, dir string, stdout io.Writer) error {
	var version struct{ GitVersion string }
	if err := s.get(ctx, "/version", &version); err != nil {
		return err
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := s.get(ctx, "/openapi/v3", &index); err != nil {
		return err
	}
	schemas := make(map[string]any)
	documents := make(map[string]document)
	parameters := make(map[string][]string) // of each method, the same for all paths
	for _, name := range slices.Sorted(maps.Keys(index.Paths)) {
		if !strings.HasPrefix(name, "api/v") && (!strings.HasPrefix(name, "apis/") || strings.Count(name, "/") != 2) {
			continue // a group without version, /version and the like
		}
		var doc struct {
			Components struct{ Schemas map[string]any }
			Paths      map[string]map[string]json.RawMessage
		}
		if err := s.get(ctx, index.Paths[name].ServerRelativeURL, &doc); err != nil {
			return err
		}
		kept := document{Schemas: slices.Sorted(maps.Keys(doc.Components.Schemas))}
		for n, schema := range doc.Components.Schemas {
			schema = strip(schema)
			// DeleteOptions and WatchEvent list the groups that use them: core's all.
			if old := schemas[n]; old != nil && !reflect.DeepEqual(old, schema) &&
				!strings.HasSuffix(n, ".DeleteOptions") && !strings.HasSuffix(n, ".WatchEvent") {
				return fmt.Errorf("%s: %s is not what another document says", name, n)
			} else if old == nil {
				schemas[n] = schema
			}
		}
		var err error
		if kept.Paths, err = keepPaths(doc.Paths, parameters); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		documents[name] = kept
	}
	header := map[string]any{"from": "kube-apiserver " + version.GitVersion, "by": command}
	size := 0
	for name, write := range map[string]func(*bytes.Buffer) error{
		"schemas.json": func(b *bytes.Buffer) error { return appendLines(b, header, schemas) },
		"documents.json": func(b *bytes.Buffer) error {
			header := maps.Clone(header)
			header["parameters"] = parameters
			return appendDocuments(b, header, documents)
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		if !json.Valid(b.Bytes()) {
			return fmt.Errorf("encode %s: the result is not JSON", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return err
		}
		size += zipped(b.Bytes())
	}
	fmt.Fprintf(stdout, "%s: %d documents, %d schemas, %d bytes gzipped\n", version.GitVersion, len(documents), len(schemas), size)
	return nil
}

// keepPaths returns what is kept of paths, and notes the parameters of each
// method that writes.
func keepPaths(paths map[string]map[string]json.RawMessage, parameters map[string][]string) (map[string]path, error) {
	kept := make(map[string]path)
	for name, methods := range paths {
		if strings.Contains(name, "/watch/") {
			continue // deprecated, and nobody asks
		}
		for method, raw := range methods {
			var op operation
			if method == "parameters" {
				continue
			}
			if err := json.Unmarshal(raw, &op); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, name, err)
			}
			if op.Action == "" || op.Action == "connect" || op.Kind.Kind == "" {
				continue
			}
			if kept[name] == nil {
				kept[name] = make(path)
			}
			kept[name][method] = op.Action + " " + op.Kind.String()
			if method != "patch" && method != "post" && method != "put" {
				continue
			}
			var names []string
			for _, p := range op.Parameters {
				if p.In == "query" && p.Name != "pretty" {
					names = append(names, p.Name)
				}
			}
			if old, ok := parameters[method]; ok && len(names) > 0 && !slices.Equal(old, names) {
				return nil, fmt.Errorf("%s %s has parameters of its own: %q", method, name, names)
			} else if !ok && len(names) > 0 {
				parameters[method] = names
			}
		}
	}
	return kept, nil
}

// strip drops what is there for people to read.
func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any)
		for name, e := range v {
			switch name {
			case "description", "title", "example", "examples", "externalDocs":
			case "properties":
				props := make(map[string]any)
				for name, p := range e.(map[string]any) {
					props[name] = strip(p)
				}
				out[name] = props
			case "allOf":
				// A reference with a default or an extension beside it stands in an allOf of one.
				if list, ok := e.([]any); ok && len(list) == 1 {
					maps.Copy(out, strip(list[0]).(map[string]any))
					continue
				}
				out[name] = strip(e)
			case "default", "enum":
				out[name] = e
			default:
				out[name] = strip(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = strip(e)
		}
		return out
	}
	return v
}

// appendLines writes an object with one member a line, the header first.
func appendLines(b *bytes.Buffer, header any, members map[string]any) error {
	line := func(sep, name string, v any) error {
		e, err := json.Marshal(v)
		fmt.Fprintf(b, "%s%q:%s", sep, name, e)
		return err
	}
	if err := line("{\n", "", header); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := line(",\n", name, members[name]); err != nil {
			return err
		}
	}
	b.WriteString("\n}\n")
	return nil
}

func appendDocuments(b *bytes.Buffer, header any, documents map[string]document) error {
	h, err := json.Marshal(header)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "{\n%q:%s", "", h)
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		d := documents[name]
		names, err := json.Marshal(d.Schemas)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, ",\n%q:{\"schemas\":%s,\n \"paths\":{", name, names)
		sep := ""
		for _, p := range slices.Sorted(maps.Keys(d.Paths)) {
			e, err := json.Marshal(d.Paths[p])
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "%s\n  %q:%s", sep, p, e)
			sep = ","
		}
		b.WriteString("}}")
	}
	b.WriteString("\n}\n")
	return nil
}

func zipped(b []byte) int {
	var n bytes.Buffer
	w, _ := gzip.NewWriterLevel(&n, gzip.BestCompression) // the level is valid
	w.Write(b)
	w.Close()
	return n.Len()
}
