// Package probe measures one client of the benchmark: a process that brings a
// collection into memory, waits until all of it has been handled, and then
// handles events. It links the standard library only, so that it adds the same
// little to each client.
//
// A client's main function calls [Main] with a function that starts it. The
// client reports each object that it handles to a [Sink]; the sink knows when the
// collection is complete and when the last event has come. Between the two the
// probe reads the process's CPU time and memory, and asks the server to go on.
package probe
