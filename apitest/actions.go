package apitest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
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

// HalfOpen lets everything that is sent from now on over the connection, either
// way, vanish without closing it, as a dead peer or a firewall does. HTTP/2 pings
// get no answer then.
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

// TooLarge answers 504, at once, with the cause ResourceVersionTooLarge: the
// server, or this replica of it, has yet to reach the revision that the client
// names, or any at all where it names none.
func TooLarge() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked, _ := parseRevision(r.URL.Query().Get("resourceVersion")) // 0 is no revision either
		current := exchangeOf(r).srv.past(0)
		if asked > 0 {
			current = min(current, asked-1)
		}
		WriteStatus(w, StatusTooLarge(max(asked, current+1), current))
	}
}

// ExpireContinueForGood is ExpireContinue without a token.
func ExpireContinueForGood() http.HandlerFunc { return Answer(statusContinueExpired(continueToken{})) }

// Behind answers a LIST as of n revisions ago, or as far back as the history
// goes: a replica of the server that lags.
func Behind(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.quirks.revision = x.srv.past(n)
		Continue(w, r)
	}
}

// past returns the revision of n writes ago, which is in the history of every
// resource.
func (s *Server) past(n int) uint64 {
	st := s.store
	st.mu.Lock()
	defer st.mu.Unlock()
	rv := st.rev - min(uint64(max(n, 0)), st.rev-1)
	for _, t := range st.tables {
		rv = max(rv, t.floor)
	}
	return rv
}

// ShiftRevision answers a LIST with n added to its revision and to nothing else:
// with Nth, a page that is of another revision than the page before.
func ShiftRevision(n int) http.HandlerFunc {
	return edit(func(_ http.Header, body []byte) []byte {
		var list struct {
			Metadata json.RawMessage `json:"metadata"`
		}
		var meta listMeta
		if json.Unmarshal(body, &list) != nil || json.Unmarshal(list.Metadata, &meta) != nil {
			return body // not a list
		}
		rv, err := strconv.ParseInt(meta.ResourceVersion, 10, 64)
		if err != nil {
			return body
		}
		name := `"resourceVersion":"`
		shifted := strings.Replace(string(list.Metadata), name+meta.ResourceVersion+`"`, name+strconv.FormatInt(rv+int64(n), 10)+`"`, 1)
		return bytes.Replace(body, append([]byte(`"metadata":`), list.Metadata...), []byte(`"metadata":`+shifted), 1)
	})
}

// Forget makes the server forget its history up to now, as [Server.Compact]
// does, and goes on: before the second page of a LIST it is a compaction in
// mid-list.
func Forget() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := exchangeOf(r).srv
		s.Compact(s.Tick())
		Continue(w, r)
	}
}

// Recreate deletes the first object that the request is about and creates it
// anew, under another UID, before it goes on: what a client may find that was
// away. Of a continued list it is the first of the whole.
func Recreate() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		if x.target.table != nil {
			x.srv.store.recreate(x.target.table, x.target.key)
		}
		Continue(w, r)
	}
}

// recreate does so with the first object that key, which may be of a collection,
// stands for.
func (st *store) recreate(t *table, key kube.Key) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for old := range t.sorted.from(key) {
		k := old.key
		if key.Namespace != "" && k.Namespace != key.Namespace || key.Name != "" && k.Name != key.Name {
			continue
		}
		o := &object{key: k, meta: old.meta, fields: old.fields}
		o.meta.UID, o.meta.CreationTimestamp, o.meta.Generation = "", "", 0
		o.meta.DeletionTimestamp, o.meta.DeletionGracePeriodSeconds = "", nil
		st.commit(t, k, nil)
		st.prepareCreate(t.info, o)
		st.commit(t, k, o)
		return
	}
}

// Crash is [Server.Restart] where the answer is due.
func Crash() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.srv.Restart()
		x.abort()
	}
}

// Restore is [Server.RestoreTo] where the answer is due: to the state of n
// revisions ago, or as far back as the history goes.
func Restore(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.srv.RestoreTo(revision(x.srv.past(n)))
		x.abort()
	}
}

// Rotated is [Server.Rotate], before it goes on.
func Rotated() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r).srv.Rotate()
		Continue(w, r)
	}
}

// Down resets every connection and lets new ones meet door for d. Hanging stalls
// TLS handshakes too; Untrusted, Outdated and HTTP1 serve, but not as before.
func Down(door Door, d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		s := x.srv
		if s.SetDoor(door) == nil {
			s.running.Go(func() {
				// Somebody may have taken the port meanwhile, and may leave it.
				for sleep(s.ctx, d) && s.SetDoor(Open) != nil {
				}
			})
		}
		s.Cut()
		x.abort()
	}
}

// GoAway tells an HTTP/2 client to make no further requests on the connection,
// as a server that balances or shuts down does, and goes on with those that run.
// On HTTP/1.1 it closes the connection after the answer.
func GoAway() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // net/http turns it into GOAWAY
		Continue(w, r)
	}
}

// EarlyHints sends an informational answer, 103, before the real one.
func EarlyHints() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r).w.WriteHeader(http.StatusEarlyHints)
		Continue(w, r)
	}
}

// ExtraLastChunk sends the normal answer in chunks, the last chunk twice, and
// closes the connection. HTTP/2 has no chunks: there it does nothing.
func ExtraLastChunk() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		Continue(w, r)
		x.Flush()
		h, ok := x.w.(http.Hijacker)
		if !ok {
			return
		}
		if x.gz != nil {
			x.gz.Close()
			x.gz = nil
			x.Flush()
		}
		c, rw, err := h.Hijack()
		if err != nil {
			return // the client has gone
		}
		rw.WriteString("0\r\n\r\n0\r\n\r\n")
		rw.Flush()
		c.Close()
	}
}

// Skew answers with a Date that is d ahead of the clock: the server's clock is
// wrong.
func Skew(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(d).UTC().Format(http.TimeFormat))
		Continue(w, r)
	}
}

// ThrottleUntil answers 429 with a Retry-After that is a date, d from now by the
// clock of the server, which [Skew] may have set.
func ThrottleUntil(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now, err := http.ParseTime(w.Header().Get("Date"))
		if err != nil {
			now = time.Now()
		}
		Throttle(now.Add(d).UTC().Format(http.TimeFormat))(w, r)
	}
}
