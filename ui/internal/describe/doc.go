// Package describe makes what a page says about an object of its JSON: YAML, conditions,
// containers, and commands to copy.
package describe
