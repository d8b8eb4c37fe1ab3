package apitest

import (
	"bufio"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// This file has the operations for handlers of [Server.On]. Package faults uses them.

// Quirks are changes to the normal response.
type Quirks struct {
	MetadataLast        bool          // a list has its metadata after its items
	EmptyPage           bool          // a list has no items, and a continue token that brings them
	IgnoreInitialEvents bool          // sendInitialEvents of a watch is ignored
	IgnoreShard         bool          // shardSelector is ignored; if set within a watch, for its later events
	NoInitialEventsEnd  bool          // the bookmark at the end of the initial events is left out
	Revision            kube.Revision // a list shows this revision; "" = as requested
}

// Quirks returns the quirks of the normal response, to be changed before [Continue].
func (x *Exchange) Quirks() *Quirks { return &x.quirks }

// Server returns the server of the exchange.
func (x *Exchange) Server() *Server { return x.srv }

// Verb returns the verb of the request, as [Request] has it.
func (x *Exchange) Verb() string { return x.target.verb }

// Begun reports whether the response header has been written.
func (x *Exchange) Begun() bool { return x.code != 0 }

// Abort closes the connection, or the HTTP/2 stream, without ending the body. It does
// not return.
func (x *Exchange) Abort() { panic(http.ErrAbortHandler) }

// Reset resets the connection (TCP RST). It does not return.
func (x *Exchange) Reset() {
	if x.conn != nil {
		x.conn.Reset()
	}
	x.Abort()
}

// Vanish drops everything that is sent over the connection from now on, in both
// directions.
func (x *Exchange) Vanish() {
	if x.conn != nil {
		x.conn.Vanish()
	}
}

// Trickle sends n bytes at a time over the connection from now on, with a pause after
// each piece.
func (x *Exchange) Trickle(n int, pause time.Duration) {
	if x.conn != nil {
		x.conn.Trickle(n, pause)
	}
}

// Wait waits for d. It returns false if the request ends first.
func (x *Exchange) Wait(d time.Duration) bool { return wait.For(x.r.Context(), d) == nil }

// Hijack implements http.Hijacker, over HTTP/1.1. Before it returns, it sends the written data and
// ends a compressed body.
func (x *Exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	h, ok := x.w.(http.Hijacker)
	if !ok {
		return nil, nil, http.ErrNotSupported
	}
	x.Flush()
	if x.gz != nil {
		x.gz.Close()
		x.gz = nil
		x.Flush()
	}
	return h.Hijack()
}

// EachEvent passes every later event of a watch to f, with its newline; f writes the
// replacement to w. Several functions apply in the order in which they were set.
func (x *Exchange) EachEvent(f func(w http.ResponseWriter, event []byte)) {
	x.rewrite = append(x.rewrite, f)
}

// AtEnd calls f when the stream of the watch ends normally.
func (x *Exchange) AtEnd(f func()) { x.finish = append(x.finish, f) }

// StrikeAfter lets h handle this watch, and no other, when that many events have been
// sent, until remove is called.
func (x *Exchange) StrikeAfter(events int, h http.HandlerFunc) (remove func()) {
	f := x.srv.On(Match{Verb: "none", AfterEvent: events}, h).Times(1) // no request matches it
	x.midway = append(slices.Clone(x.midway), f)
	slices.SortStableFunc(x.midway, func(a, b *Fault) int { return a.match.AfterEvent - b.match.AfterEvent })
	return f.Remove
}

// BookmarkEvent returns a bookmark of the watched resource, with its newline. kind
// replaces the kind of the objects; "" keeps it.
func (x *Exchange) BookmarkEvent(rev kube.Revision, kind string) []byte {
	n, err := strconv.ParseUint(string(rev), 10, 64)
	if err != nil {
		x.srv.fail("bookmark at %q: want a decimal revision", rev)
	}
	info := *x.target.table.Info
	if kind != "" {
		info.Kind = kind
	}
	return (&view.View{Info: &info}).Bookmark(n, false)
}

// Recreate deletes the first object of the request's collection and creates it again,
// with another UID. For a later page of a list, this is the first object of the whole list.
func (x *Exchange) Recreate() {
	if x.target.table != nil {
		x.srv.store.Recreate(x.target.table, x.target.key)
	}
}
