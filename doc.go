// Package listwatch is the root of a Kubernetes list/watch engine over plain
// HTTP, without client-go. It holds no code; start at package watch.
//
//	kube       nouns: objects, keys, resources, selectors, Status
//	codec      bytes <-> values, frames of a watch, items of a list
//	client     one HTTP round trip: who we are, TLS, rate limit
//	config     kubeconfig files to a client.Config
//	discovery  names that people type to a kube.Resource
//	list       a collection, object by object, in the memory of one
//	watch      a collection for ever: list, watch, resume, list again
//	cache      the state that the events add up to
//	queue      keys for workers, with delays and priorities
//	controller a function that is called with the keys of changed objects
//	manager    runs all that a program consists of, and stops it in order
//	apitest    a fake API server, to test clients against
//
// The program is cmd/listwatch; the smallest program that embeds the engine is
// examples/minimal. ARCHITECTURE.md says how the parts fit together.
package listwatch
