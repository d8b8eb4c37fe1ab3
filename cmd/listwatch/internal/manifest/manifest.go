// Package manifest reads files of objects, YAML or JSON, as kubectl's -f takes them.
//
// A file may be a URL, and a kustomization is built by a command. A [Reader] has limits
// that hold for all that it reads: text of 64 MiB (32 MiB of it in one file of YAML),
// 100,000 objects, and objects of 3 MiB, which is what an API server takes, and of
// 300,000 values. It holds the
// objects as JSON, not as decoded values.
package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/internal/yamljson"
)

// What a Reader reads at most.
const (
	MaxBytes   = 64 << 20 // of text
	MaxObjects = 100_000
	maxObject  = 3 << 20  // bytes of one object, as JSON
	maxValues  = 300_000  // of one object: its decoded values take some 100 bytes each
	maxYAML    = 32 << 20 // bytes of a file of YAML, whose parser needs several times as much
)

// limits are those of YAML in a file. The parser needs up to 510 bytes for each token.
var limits = yamljson.Limits{Bytes: maxYAML, Documents: MaxObjects, Tokens: maxValues}

// ErrNothing is that a file has no objects.
var ErrNothing = errors.New("there are no objects in it")

var errLarge = fmt.Errorf("larger than %d bytes, which is more than a server takes", maxObject)

// Object is one object of a file.
type Object struct {
	Where string // file and document, for errors
	Head  Head
	body  []byte // all of it, as JSON
}

// Head is what says which object it is.
type Head struct {
	APIVersion, Kind string
	Metadata         struct{ Name, GenerateName, Namespace string }
}

// JSON returns the object. The caller does not change it.
func (o *Object) JSON() json.RawMessage { return o.body }

// Value decodes the object: numbers are json.Number.
func (o *Object) Value() (map[string]any, error) {
	v, err := codec.Decode[map[string]any](o.body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Where, err)
	}
	return v, nil
}

// Reader reads files, of which those named - are stdin.
type Reader struct {
	Stdin     io.Reader
	Recursive bool // folders with the folders in them

	bytes   int // that were read
	objects int
}

// Read returns the objects of a file, of stdin, of a URL, or of the files of a folder by
// name. A URL is one of https, or of http on this machine.
func (r *Reader) Read(ctx context.Context, name string) ([]*Object, error) {
	if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
		all, err := r.folder(ctx, name)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s has no objects in .yaml, .yml and .json files", name)
		}
		return all, err
	}
	return r.file(ctx, name)
}

func (r *Reader) file(ctx context.Context, name string) ([]*Object, error) {
	b, name, err := r.text(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := r.Parse(name, b)
	if err == nil && all == nil {
		err = fmt.Errorf("%s: %w", name, ErrNothing) // whoever made it has failed, most often
	}
	return all, err
}

func (r *Reader) folder(ctx context.Context, name string) ([]*Object, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var all []*Object
	for _, e := range entries {
		path, read := filepath.Join(name, e.Name()), r.file // no folder that it links to
		switch ext := filepath.Ext(e.Name()); {
		case e.IsDir() && r.Recursive:
			read = r.folder
		case e.IsDir() || ext != ".yaml" && ext != ".yml" && ext != ".json":
			continue
		}
		list, err := read(ctx, path)
		if err != nil && !errors.Is(err, ErrNothing) {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// text reads a file, a URL, or stdin for -, and returns how errors name it.
func (r *Reader) text(ctx context.Context, name string) (b []byte, shown string, err error) {
	if isURL(name) {
		b, name, err = download(ctx, name, MaxBytes-r.bytes)
	} else {
		b, err = disk.ReadInput(name, r.Stdin, int64(MaxBytes-r.bytes))
	}
	r.bytes += len(b)
	return bytes.TrimPrefix(b, []byte("\ufeff")), name, err // some editors write it
}
