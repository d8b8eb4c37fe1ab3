// Package backlog limits the memory of responses that wait for clients to read them.
package backlog
