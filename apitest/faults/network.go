package faults

import (
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest"
)

// Hang sends no response, or no more of it, until the client or the server ends the
// request.
func Hang() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		apitest.ExchangeOf(r).Abort()
	}
}

// Reset resets the connection (TCP RST). On HTTP/2 that ends all its streams.
func Reset() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { apitest.ExchangeOf(r).Reset() }
}

// Hangup closes the connection (TCP FIN) in place of the response or its last chunk. On
// HTTP/2 it resets the stream.
func Hangup() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { apitest.ExchangeOf(r).Abort() }
}

// HalfOpen drops everything that is sent over the connection from now on, in both
// directions, without closing it, like a dead peer or a firewall. HTTP/2 pings get no
// response.
func HalfOpen() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.ExchangeOf(r).Vanish()
		apitest.Continue(w, r)
	}
}

// Trickle sends n bytes at a time over the connection, with a pause after each
// piece. Trickle(1, 0) makes one-byte writes.
func Trickle(n int, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.ExchangeOf(r).Trickle(n, pause)
		apitest.Continue(w, r)
	}
}

// Delay waits before it continues: before the headers, or between events.
func Delay(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if x := apitest.ExchangeOf(r); !x.Wait(d) {
			x.Abort()
		}
		apitest.Continue(w, r)
	}
}

// NoLastChunk sends the normal response in chunks and closes the connection instead of
// sending the last chunk.
func NoLastChunk() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.Continue(w, r)
		flush(w)
		apitest.ExchangeOf(r).Abort()
	}
}

// ExtraLastChunk sends the normal response in chunks, with the last chunk twice, and
// closes the connection. It does nothing on HTTP/2, which has no chunks.
func ExtraLastChunk() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		apitest.Continue(w, r)
		x.Flush()
		c, rw, err := x.Hijack()
		if err != nil {
			return // over HTTP/2, or the client has left
		}
		rw.WriteString("0\r\n\r\n0\r\n\r\n")
		rw.Flush()
		c.Close()
	}
}

// GoAway makes an HTTP/2 client send no further requests over the connection, as a
// server does to balance load or to shut down; current requests continue. On HTTP/1.1
// it closes the connection after the response.
func GoAway() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // net/http turns it into GOAWAY
		apitest.Continue(w, r)
	}
}

// EarlyHints sends an informational response, 103, before the real one.
func EarlyHints() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.ExchangeOf(r).WriteHeader(http.StatusEarlyHints)
		apitest.Continue(w, r)
	}
}
