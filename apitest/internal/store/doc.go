// Package store keeps the objects of a server and what became of them: one table for
// each resource, one revision for all, a history from which lists and watches at an
// earlier revision are answered, and what the controllers of a cluster would do at
// once (definitions of resources, namespaces, garbage). It knows no requests: who
// writes has checked the object before.
package store
