// Package discovery finds what a server serves: it turns the names that people
// type, such as "po", "deployments.apps" or "Foo.v1.example.com", into
// kube.Resource.
//
//	api, err := discovery.Fetch(ctx, c)
//	...
//	found, err := api.Resolve("deploy")
//	pods := client.Of[kube.Partial](c, found[0].Resource)
//
// Fetch asks for the aggregated form, two requests in all, and falls back to
// the legacy form, one request for each group and version. See
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api.
//
// A [Known] keeps the responses of the aggregated form with their ETags: the next Fetch of
// it transfers only what has changed, and its API method needs no request.
//
// An API is a snapshot: it is immutable, safe for concurrent use, and does not contain
// CustomResourceDefinitions that are created later. A group whose server does not answer
// is reported by [API.Broken] and does not affect the others: Fetch waits 5 seconds for
// each of its versions in the legacy form, and 30 seconds for the next response.
package discovery
