// Package manifest reads files of objects, YAML or JSON, as kubectl's -f takes them.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/yamljson"
)

// maxBytes bounds a file of objects.
const maxBytes = 256 << 20

// limits are those of YAML in such a file.
var limits = yamljson.Limits{Bytes: maxBytes, Documents: 1_000_000, Tokens: 1_000_000}

// Object is one object of a file.
type Object struct {
	Where string // file and document, for errors
	Head  Head
	Value map[string]any // all of it
}

// Head is what says which object it is.
type Head struct {
	APIVersion, Kind string
	Metadata         struct{ Name, GenerateName, Namespace string }
}

// Read reads a file, stdin, or the files of a folder by name.
func Read(name string, stdin io.Reader) ([]*Object, error) {
	if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		var all []*Object
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); e.IsDir() || ext != ".yaml" && ext != ".yml" && ext != ".json" {
				continue
			}
			list, err := Read(filepath.Join(name, e.Name()), stdin)
			if err != nil && !errors.Is(err, ErrNothing) {
				return nil, err
			}
			all = append(all, list...)
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s has no objects in .yaml, .yml and .json files", name)
		}
		return all, nil
	}
	b, err := ReadText(name, stdin)
	if err != nil {
		return nil, err
	}
	all, err := Parse(name, b)
	if err == nil && all == nil {
		err = fmt.Errorf("%s: %w", name, ErrNothing) // whoever made it has failed, most often
	}
	return all, err
}

// ErrNothing is that a file has no objects.
var ErrNothing = errors.New("there are no objects in it")

// ReadText returns a file of at most 256 MiB, or stdin for -.
func ReadText(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxBytes {
		return nil, fmt.Errorf("%s: %w", name, &codec.LimitError{What: "file", Limit: maxBytes})
	}
	return bytes.TrimPrefix(b, []byte("\ufeff")), nil // some editors write it
}

// Parse reads YAML or JSON documents, one after the other; nil means that
// there is none. Errors say which document, and quote nothing.
func Parse(name string, b []byte) ([]*Object, error) {
	var all []*Object
	dec := yamljson.NewDecoder(b, limits)
	stream := json.NewDecoder(bytes.NewReader(b))
	stream.UseNumber()
	isJSON := filepath.Ext(name) == ".json" || beginsAsJSON(b)
	for n := 1; ; n++ {
		where := fmt.Sprintf("%s, document %d", name, n)
		var v any
		var err error
		if isJSON {
			err = stream.Decode(&v)
		} else {
			var line int
			if v, line, err = dec.ValueAt(); err == nil && line > 1 {
				where += fmt.Sprintf(", line %d", line)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %s", where, syntaxOf(err, isJSON))
		case v == nil:
			continue // nothing but comments
		}
		list, err := objectsOf(where, v, Head{})
		if err != nil {
			return nil, err
		}
		all = append(slices.Grow(all, len(list)+1), list...) // not nil: a List may be without items
	}
}

// beginsAsJSON reports whether the first value of b is JSON; YAML may look like it.
func beginsAsJSON(b []byte) bool {
	var first json.RawMessage
	return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) && json.NewDecoder(bytes.NewReader(b)).Decode(&first) == nil
}

// syntaxOf says what is wrong without the text that is.
func syntaxOf(err error, isJSON bool) string {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON, at byte %d", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	case isJSON:
		return "it is not JSON"
	}
	return err.Error() // of yamljson: it quotes nothing
}

// objectsOf returns the objects of a document: itself, or those of a List. What
// the server answers to a LIST has items without a kind: they are of.
func objectsOf(where string, v any, of Head) ([]*Object, error) {
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: want an object with apiVersion, kind and metadata", where)
	}
	if o["kind"] == nil && o["apiVersion"] == nil && of.Kind != "" {
		o["kind"], o["apiVersion"] = of.Kind, of.APIVersion
	}
	if items, ok := o["items"].([]any); ok && strings.HasSuffix(text(o["kind"]), "List") {
		of := Head{Kind: strings.TrimSuffix(text(o["kind"]), "List"), APIVersion: text(o["apiVersion"])}
		var all []*Object
		for i, item := range items {
			list, err := objectsOf(fmt.Sprintf("%s, item %d", where, i+1), item, of)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
		return all, nil
	}
	m := &Object{Where: where, Value: o}
	b, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("%s: it has a value that JSON has not", where)
	}
	if err := json.Unmarshal(b, &m.Head); err != nil {
		return nil, fmt.Errorf("%s: apiVersion, kind and metadata.name must be text", where)
	}
	for _, f := range []struct{ name, value string }{{"apiVersion", m.Head.APIVersion}, {"kind", m.Head.Kind}, {"metadata.name", m.Head.Metadata.Name + m.Head.Metadata.GenerateName}} {
		if f.value == "" {
			return nil, fmt.Errorf("%s: %s is missing", where, f.name)
		}
	}
	return []*Object{m}, nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
