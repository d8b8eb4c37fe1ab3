// Package queue implements a queue of keys for workers. A key that is added several times before a
// worker gets it is passed once, and no two workers have the same key. Keys of a higher priority
// are passed first, unless another key has waited long enough (Options.Ageing). For a key that
// failed there is AddRateLimited: it delays the key, longer with each such add, until Forget.
//
// The package does not depend on Kubernetes: a key is any comparable value. A caller may add
// a key with a cause, a value of any type, which the worker gets with the key.
//
//	q := queue.New(queue.Options[string, string]{})
//	q.Add("a")
//	item, err := q.Get(ctx)
//	...
//	q.Done(item.Key)
//
// Package controller runs workers that take keys from such a queue.
package queue
