// Package network is the listener of a fake server, over TCP or in memory, with faults
// of connections: refused, reset, without responses, slow, or half open.
//
// Connections in memory need no sockets, and block durably for testing/synctest, so
// that hours pass at once. Unlike net.Pipe they buffer, preserve the boundaries of
// writes, and distinguish a reset from a normal end.
package network
