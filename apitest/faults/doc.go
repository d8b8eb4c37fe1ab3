// Package faults has faults for the fake server of package apitest: responses that are
// wrong, late or truncated, connections that break, streams that end, repeat events or
// send wrong ones, and servers that restart or return to an earlier state.
//
// A fault is an http.Handler for [apitest.Server.On]. Most faults continue with the
// normal response. [Parse] reads a script of faults, one per line; [Help] describes its
// language. [NewRandom] applies faults at random, and reports them as a script that
// repeats them.
//
// Your own faults are handlers that use [apitest.ExchangeOf] and [apitest.Continue].
package faults
