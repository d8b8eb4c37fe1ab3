// Package filter selects objects and their events by what they hold, which a server cannot do.
package filter
