// Package objects reads which objects a command is about: those that its arguments name,
// or those of manifests.
package objects
