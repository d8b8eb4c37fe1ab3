// Package view encodes objects for responses, in the form and version that a client
// requests: an object, its metadata, a Table, a Scale, an event of a watch, a list; for
// custom resources in each served version, and for Events in both groups.
package view
