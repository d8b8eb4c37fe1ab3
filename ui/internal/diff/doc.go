// Package diff compares two states of an object value by value, with elements of lists
// named as people name them.
package diff
