// Package queue passes keys to workers: each key once, never to two workers at a time,
// again after a delay that grows with its failures, and by priority. It does not depend
// on Kubernetes: a key is any comparable value, and so is the cause that a caller adds
// it with.
//
//	q := queue.New(queue.Options[string, string]{})
//	q.Add("a")
//	item, err := q.Get(ctx)
//	...
//	q.Done(item.Key)
//
// Package controller calls a function with the keys of a queue.
package queue
