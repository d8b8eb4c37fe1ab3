// Package describe makes what a page says about an object of its JSON: YAML, conditions,
// containers, commands to copy, and what each change of it was.
package describe
