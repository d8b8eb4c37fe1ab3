// Package view makes responses of objects, in the form and version for which a client
// asks: the object, its metadata, a Table, a Scale, an event of a watch, a list; of
// custom resources in each version that is served, and of Events in both groups.
package view
