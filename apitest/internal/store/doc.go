// Package store keeps the objects of a server and their history: one table for each
// resource, one revision for all, a history for lists and watches at an earlier
// revision, and the immediate work of controllers (definitions of resources,
// namespaces, garbage). It does not depend on requests: its callers have validated the
// objects.
package store
