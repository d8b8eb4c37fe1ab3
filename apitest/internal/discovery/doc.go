// Package discovery serves the discovery of groups, versions and resources, in the
// legacy and the aggregated form, and of types as OpenAPI. See
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api.
package discovery
