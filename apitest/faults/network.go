package faults

import (
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest"
)

// Hang never answers, or stops answering, until the client or the server ends
// the request.
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

// Hangup closes the connection (TCP FIN) where the answer or its last chunk is
// due. On HTTP/2 it resets the stream.
func Hangup() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { apitest.ExchangeOf(r).Abort() }
}

// HalfOpen lets everything that is sent from now on over the connection, either
// way, vanish without closing it, as a dead peer or a firewall does. HTTP/2 pings
// get no answer then.
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

// Delay waits before it goes on: before the headers, or between events.
func Delay(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if x := apitest.ExchangeOf(r); !x.Wait(d) {
			x.Abort()
		}
		apitest.Continue(w, r)
	}
}

// NoLastChunk sends the normal answer in chunks and closes the connection
// where the last chunk should follow.
func NoLastChunk() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.Continue(w, r)
		flush(w)
		apitest.ExchangeOf(r).Abort()
	}
}

// ExtraLastChunk sends the normal answer in chunks, the last chunk twice, and
// closes the connection. HTTP/2 has no chunks: there it does nothing.
func ExtraLastChunk() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		apitest.Continue(w, r)
		x.Flush()
		c, rw, err := x.Hijack()
		if err != nil {
			return // over HTTP/2, or the client has gone
		}
		rw.WriteString("0\r\n\r\n0\r\n\r\n")
		rw.Flush()
		c.Close()
	}
}

// GoAway tells an HTTP/2 client to make no further requests on the connection,
// as a server that balances or shuts down does, and goes on with those that run.
// On HTTP/1.1 it closes the connection after the answer.
func GoAway() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // net/http turns it into GOAWAY
		apitest.Continue(w, r)
	}
}

// EarlyHints sends an informational answer, 103, before the real one.
func EarlyHints() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.ExchangeOf(r).WriteHeader(http.StatusEarlyHints)
		apitest.Continue(w, r)
	}
}
