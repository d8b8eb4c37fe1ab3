package store

import (
	"iter"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Collection is the objects of a resource at one moment, sorted by key. It is
// immutable: with and without return another one, which shares most of the first. So
// readers never block writers.
type Collection struct {
	chunks [][]*object.Object // none is empty
	size   int
}

// Size returns the number of objects.
func (c Collection) Size() int { return c.size }

// chunkSize limits the objects of a chunk: a change copies one chunk, and the list of
// chunks.
const chunkSize = 256

// find returns the chunk that contains key, or would contain it, and the index in it.
func (c Collection) find(key kube.Key) (chunk, at int, found bool) {
	chunk, _ = slices.BinarySearchFunc(c.chunks, key, func(objects []*object.Object, key kube.Key) int {
		return objects[len(objects)-1].Key.Compare(key)
	})
	if chunk == len(c.chunks) {
		if chunk > 0 {
			chunk--
			at = len(c.chunks[chunk])
		}
		return chunk, at, false
	}
	at, found = slices.BinarySearchFunc(c.chunks[chunk], key, func(o *object.Object, key kube.Key) int { return o.Key.Compare(key) })
	return chunk, at, found
}

// with returns c with o, in place of the object with its key.
func (c Collection) with(o *object.Object) Collection {
	chunk, at, found := c.find(o.Key)
	if len(c.chunks) == 0 {
		return Collection{[][]*object.Object{{o}}, 1}
	}
	old := c.chunks[chunk]
	if found {
		objects := slices.Clone(old)
		objects[at] = o
		chunks := slices.Clone(c.chunks)
		chunks[chunk] = objects
		return Collection{chunks, c.size}
	}
	objects := append(append(append(make([]*object.Object, 0, len(old)+1), old[:at]...), o), old[at:]...)
	if len(objects) <= chunkSize {
		chunks := slices.Clone(c.chunks)
		chunks[chunk] = objects
		return Collection{chunks, c.size + 1}
	}
	half := len(objects) / 2
	if chunk == len(c.chunks)-1 && at == len(old) {
		half = len(objects) - 1 // they arrive in order: leave full chunks behind
	}
	chunks := append(append(make([][]*object.Object, 0, len(c.chunks)+1), c.chunks[:chunk]...), objects[:half:half], objects[half:])
	return Collection{append(chunks, c.chunks[chunk+1:]...), c.size + 1}
}

// without returns c without the object of this key.
func (c Collection) without(key kube.Key) Collection {
	chunk, at, found := c.find(key)
	if !found {
		return c
	}
	old := c.chunks[chunk]
	objects := append(append(make([]*object.Object, 0, len(old)-1), old[:at]...), old[at+1:]...)
	chunks := slices.Clone(c.chunks)
	if len(objects) == 0 {
		return Collection{slices.Delete(chunks, chunk, chunk+1), c.size - 1}
	}
	chunks[chunk] = objects
	return Collection{chunks, c.size - 1}
}

// All yields the objects in order.
func (c Collection) All() iter.Seq[*object.Object] { return c.from(kube.Key{}) }

// from yields the objects in order, from the first whose key is not before key.
func (c Collection) from(key kube.Key) iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		chunk, at, _ := c.find(key)
		for ; chunk < len(c.chunks); chunk, at = chunk+1, 0 {
			for _, o := range c.chunks[chunk][at:] {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// rank returns how many objects are before key.
func (c Collection) rank(key kube.Key) int {
	chunk, n, _ := c.find(key)
	for _, objects := range c.chunks[:chunk] {
		n += len(objects)
	}
	return n
}

// back returns c as it was before events, the newest of which is the last.
func (c Collection) back(events []Event) Collection {
	for _, e := range slices.Backward(events) {
		if e.prev == nil {
			c = c.without(e.next.Key)
		} else {
			c = c.with(e.prev)
		}
	}
	return c
}
