// Package faults makes what may go wrong with a request to the fake server of package
// apitest: answers that are wrong, late or cut, connections that break, streams that end,
// repeat or lie, and servers that restart, forget or go back in time.
//
// A fault is an http.Handler, to be set by [apitest.Server.On]. Each constructor says what
// it does, and most go on to the normal answer. [Parse] reads a script of faults, a line
// each; [Help] describes its language. [NewRandom] strikes at random, and says what it did
// as a script that does the same again.
//
// Faults of one's own are handlers that use [apitest.ExchangeOf] and [apitest.Continue].
package faults
