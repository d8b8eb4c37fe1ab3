package apitest

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// exchangeOf returns the exchange of a request to the server.
func exchangeOf(r *http.Request) *exchange {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		panic("apitest: a fault's handler is called outside its server")
	}
	return x
}

// Hang never answers, or stops answering, until the client or the server ends
// the request.
func Hang() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		exchangeOf(r).abort()
	}
}

// Reset resets the connection (TCP RST). On HTTP/2 that ends all its streams.
func Reset() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { exchangeOf(r).reset() }
}

// Hangup closes the connection (TCP FIN) where the answer or its last chunk is
// due. On HTTP/2 it resets the stream.
func Hangup() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { exchangeOf(r).abort() }
}

// EndStream ends a watch in good order: set with AfterEvent, or before the
// first event, as servers do that end watches at once.
func EndStream() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
	}
}

// HalfOpen lets everything that is sent from now on over the connection vanish
// without closing it, as a dead peer or a firewall does.
func HalfOpen() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c := exchangeOf(r).conn; c != nil {
			c.mu.Lock()
			c.dead = true
			c.mu.Unlock()
		}
		Continue(w, r)
	}
}

// Trickle sends n bytes at a time over the connection, with a pause after each
// piece. Trickle(1, 0) makes one-byte writes.
func Trickle(n int, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c := exchangeOf(r).conn; c != nil {
			c.mu.Lock()
			c.piece, c.pause = n, pause
			c.mu.Unlock()
		}
		Continue(w, r)
	}
}

// Delay waits before it goes on: before the headers, or between events.
func Delay(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !wait(r, d) {
			exchangeOf(r).abort()
		}
		Continue(w, r)
	}
}

// Answer answers with st as an HTTP error.
func Answer(st *kube.Status) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { WriteStatus(w, st) }
}

// Throttle answers 429; retryAfter is the Retry-After header as it stands:
// seconds, an HTTP date, nonsense, or "" for none.
func Throttle(retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		WriteStatus(w, StatusThrottled(0))
	}
}

// HTML answers with code and a page for people, as a proxy does.
func HTML(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text := strconv.Itoa(code) + " " + http.StatusText(code)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		w.Write([]byte("<html>\r\n<head><title>" + text + "</title></head>\r\n<body>\r\n<center><h1>" + text + "</h1></center>\r\n</body>\r\n</html>\r\n"))
	}
}

// Redirect answers with code and a Location.
func Redirect(code int, location string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, location, code) }
}

// ContentType gives the normal answer under another Content-Type.
func ContentType(typ string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { Continue(&typed{w, typ}, r) }
}

type typed struct {
	http.ResponseWriter
	typ string
}

func (t *typed) WriteHeader(code int) {
	t.Header().Set("Content-Type", t.typ)
	t.ResponseWriter.WriteHeader(code)
}

// recorder keeps an answer to change it.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// edit sends what f makes of the body of the normal answer, which must not be a
// watch; f may change the header too.
func edit(f func(h http.Header, body []byte) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		if x.target.verb == "watch" {
			panic("apitest: this fault is not for watches")
		}
		rec := &recorder{header: w.Header(), code: http.StatusOK}
		Continue(rec, r)
		b := f(rec.header, rec.body.Bytes())
		w.WriteHeader(rec.code)
		w.Write(b)
	}
}

// TruncatedGzip compresses the normal answer and sends the first half of it,
// in an HTTP body that is complete.
func TruncatedGzip() http.HandlerFunc {
	return edit(func(h http.Header, body []byte) []byte {
		var packed bytes.Buffer
		gz := gzip.NewWriter(&packed)
		gz.Write(body) // memory does not fail
		gz.Close()
		h.Set("Content-Encoding", "gzip")
		return packed.Bytes()[:packed.Len()/2]
	})
}

// Truncate sends the first n bytes of the normal answer under the
// Content-Length of the whole, and closes.
func Truncate(n int) http.HandlerFunc {
	return edit(func(h http.Header, body []byte) []byte {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		return body[:min(n, len(body))]
	})
}

// NoLastChunk sends the normal answer in chunks and closes the connection
// where the last chunk should follow.
func NoLastChunk() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		Continue(w, r)
		flush(w)
		exchangeOf(r).abort()
	}
}

// quirk changes the normal answer from within.
func quirk(f func(*quirks)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f(&exchangeOf(r).quirks)
		Continue(w, r)
	}
}

// MetadataLast puts the metadata of a LIST after its items.
func MetadataLast() http.HandlerFunc { return quirk(func(q *quirks) { q.metadataLast = true }) }

// EmptyPage answers a LIST without items but with a continue token that brings
// them, which Kubernetes allows. Limit it by Times or Nth.
func EmptyPage() http.HandlerFunc { return quirk(func(q *quirks) { q.emptyPage = true }) }

// IgnoreInitialEvents answers a watch with sendInitialEvents as if it were not
// there, as servers before 1.27 and some proxies do.
func IgnoreInitialEvents() http.HandlerFunc { return quirk(func(q *quirks) { q.ignoreInitial = true }) }

// NoInitialEventsEnd leaves out the bookmark at the end of the initial events.
func NoInitialEventsEnd() http.HandlerFunc { return quirk(func(q *quirks) { q.noMarker = true }) }

// Stale answers a LIST as of rv, as a replica of the server that lags behind.
func Stale(rv kube.Revision) http.HandlerFunc {
	n, err := strconv.ParseUint(string(rv), 10, 64)
	if err != nil {
		panic("apitest: Stale: want a decimal revision")
	}
	return quirk(func(q *quirks) { q.revision = n })
}

// RejectInitialEvents answers 422, as a server without streaming lists does.
func RejectInitialEvents() http.HandlerFunc {
	return Answer(statusInvalid("meta.k8s.io", "ListOptions", "",
		forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")))
}

// ExpireContinue answers a page of a LIST with 410 Expired, with a token to go
// on inconsistently.
func ExpireContinue() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, st := parseToken(r.URL.Query().Get("continue"))
		if st == nil {
			st = statusContinueExpired(token)
		}
		WriteStatus(w, st)
	}
}

// ExpireContinueForGood is ExpireContinue without a token.
func ExpireContinueForGood() http.HandlerFunc { return Answer(statusContinueExpired(continueToken{})) }
