// Package network is the listener of a fake server, over TCP or in memory, with the
// faults of connections: they are refused, reset, never answered, slow, or half open.
//
// Connections in memory need no sockets, and wait as testing/synctest wants it: a story
// of hours runs at once. Unlike net.Pipe they buffer, keep the boundaries of writes, and
// distinguish a reset from an orderly end.
package network
