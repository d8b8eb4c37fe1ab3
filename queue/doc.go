// Package queue hands keys to workers: each key once, never to two workers at a time,
// again after a delay that grows with its failures, and by priority. It knows nothing
// of Kubernetes: a key is any comparable value, and so is what a caller wants to know
// about why a key was added.
//
//	q := queue.New(queue.Options[string, string]{})
//	q.Add("a")
//	item, err := q.Get(ctx)
//	...
//	q.Done(item.Key)
//
// Package controller calls a function with the keys of a queue.
package queue
