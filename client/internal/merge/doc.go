// Package merge makes the change of a part of an object in the whole object.
package merge
