// Package backlog limits the memory of answers that wait for clients to read them.
package backlog
