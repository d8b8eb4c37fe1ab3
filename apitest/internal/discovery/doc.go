// Package discovery answers what a client asks first: which groups, versions and
// resources there are, in the legacy and the aggregated form, and their types as
// OpenAPI. See
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api.
package discovery
