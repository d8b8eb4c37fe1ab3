package discovery

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// mostKept limits the bytes of the documents that are kept.
const mostKept = 32 << 20

// Documents makes the documents of /openapi/v3, one at a time, and keeps them until a
// definition changes. The zero value has none.
type Documents struct {
	mu    sync.Mutex
	of    []*schema.Type // of definitions
	index []byte         // nil = it was not made
	urls  map[string]string
	kept  map[string][]byte
	size  int // of kept
	made  int // documents up to now
}

// Made returns how many documents were made up to now.
func (d *Documents) Made() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.made
}

// list returns the index, for the types of definitions.
func (d *Documents) list(of []*schema.Type) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.follow(of)
	return d.index, err
}

// document returns one document, and its URL with its hash.
func (d *Documents) document(name string, of []*schema.Type) (body []byte, at string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.follow(of); err != nil {
		return nil, "", err
	}
	if body, ok := d.kept[name]; ok {
		return body, d.urls[name], nil
	}
	if body, err = object.Types().Document(name, of...); err != nil {
		return nil, "", err
	}
	d.made++
	if d.size+len(body) > mostKept {
		clear(d.kept)
		d.size = 0
	}
	if len(body) <= mostKept {
		d.kept[name] = body
		d.size += len(body)
	}
	return body, d.urls[name], nil
}

// follow forgets all if the types are others than before. The caller holds mu.
func (d *Documents) follow(of []*schema.Type) error {
	if d.index != nil && slices.Equal(d.of, of) {
		return nil
	}
	d.index, d.of, d.size = nil, nil, 0
	d.urls, d.kept = make(map[string]string), make(map[string][]byte)
	index, err := object.Types().Index(of...)
	if err != nil {
		return err
	}
	var known struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	json.Unmarshal(index, &known) // it is our own JSON
	for name, p := range known.Paths {
		d.urls[name] = p.ServerRelativeURL
	}
	d.index, d.of = index, of
	return nil
}
