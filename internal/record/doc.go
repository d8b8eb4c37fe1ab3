// Package record has what is printed, filtered and handed to hooks: an object's event, or something
// about a watch.
package record
