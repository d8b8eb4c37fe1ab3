package faults

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// EndStream ends a watch normally: with AfterEvent, or before the first event, like
// servers that end watches at once.
func EndStream() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
	}
}

// Answer responds with st as an HTTP error.
func Answer(st *kube.Status) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { apitest.WriteStatus(w, st) }
}

// Throttle responds 429; retryAfter is the unchanged Retry-After header: seconds, an
// HTTP date, invalid text, or "" for none.
func Throttle(retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		apitest.WriteStatus(w, apitest.StatusThrottled(0))
	}
}

// HTML responds with code and an HTML page, as a proxy does.
func HTML(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text := strconv.Itoa(code) + " " + http.StatusText(code)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		w.Write([]byte("<html>\r\n<head><title>" + text + "</title></head>\r\n<body>\r\n<center><h1>" + text + "</h1></center>\r\n</body>\r\n</html>\r\n"))
	}
}

// EmptyBody responds 200, as JSON, without a body, as a proxy that has lost it.
func EmptyBody() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
	}
}

// Redirect responds with code and a Location.
func Redirect(code int, location string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, location, code) }
}

// ContentType sends the normal response with another Content-Type.
func ContentType(typ string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { apitest.Continue(&typed{w, typ}, r) }
}

type typed struct {
	http.ResponseWriter
	typ string
}

func (t *typed) WriteHeader(code int) {
	t.Header().Set("Content-Type", t.typ)
	t.ResponseWriter.WriteHeader(code)
}

// recorder records a response to change it.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// edit sends the body of the normal response, which must not be a watch, as f changes
// it; f may change the header too.
func edit(f func(h http.Header, body []byte) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if apitest.ExchangeOf(r).Verb() == "watch" {
			panic("apitest: this fault is not for watches")
		}
		rec := &recorder{header: w.Header(), code: http.StatusOK}
		apitest.Continue(rec, r)
		b := f(rec.header, rec.body.Bytes())
		w.WriteHeader(rec.code)
		w.Write(b)
	}
}

// TruncatedGzip compresses the normal response and sends the first half of it, in an
// HTTP body that is complete.
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

// Truncate sends the first n bytes of the normal response with the Content-Length of
// the whole, and closes the connection.
func Truncate(n int) http.HandlerFunc {
	return edit(func(h http.Header, body []byte) []byte {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		return body[:min(n, len(body))]
	})
}

// quirk changes the normal response by a Quirk.
func quirk(f func(*apitest.Quirks)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f(apitest.ExchangeOf(r).Quirks())
		apitest.Continue(w, r)
	}
}

// MetadataLast puts the metadata of a LIST after its items.
func MetadataLast() http.HandlerFunc { return quirk(func(q *apitest.Quirks) { q.MetadataLast = true }) }

// EmptyPage responds to a LIST without items but with a continue token that returns
// them, which Kubernetes allows. Limit it by Times or Nth.
func EmptyPage() http.HandlerFunc { return quirk(func(q *apitest.Quirks) { q.EmptyPage = true }) }

// IgnoreInitialEvents ignores the sendInitialEvents of a watch, as servers before 1.27
// and some proxies do.
func IgnoreInitialEvents() http.HandlerFunc {
	return quirk(func(q *apitest.Quirks) { q.IgnoreInitialEvents = true })
}

// IgnoreShard responds like a server that does not support shardSelector, or has its
// feature gate off. Within a watch, all events are sent from then on.
func IgnoreShard() http.HandlerFunc {
	return quirk(func(q *apitest.Quirks) { q.IgnoreShard = true })
}

// RejectShard responds 500 without a reason, as kube-apiserver does if it cannot parse
// the shardSelector. Match such requests by Query "shardSelector".
func RejectShard() http.HandlerFunc {
	return Answer(&kube.Status{Code: http.StatusInternalServerError, Message: "invalid shard selector: apitest: rejected"})
}

// NoInitialEventsEnd leaves out the bookmark at the end of the initial events.
func NoInitialEventsEnd() http.HandlerFunc {
	return quirk(func(q *apitest.Quirks) { q.NoInitialEventsEnd = true })
}

// ShiftRevision adds n to the revision of a LIST only: with Nth, the revision of a page
// differs from that of the previous page.
func ShiftRevision(n int) http.HandlerFunc {
	return edit(func(_ http.Header, body []byte) []byte {
		var list struct {
			Metadata json.RawMessage `json:"metadata"`
		}
		var meta struct {
			ResourceVersion string `json:"resourceVersion"`
		}
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

// Skew responds with a Date that is d ahead of the clock: the server's clock is wrong.
func Skew(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(d).UTC().Format(http.TimeFormat))
		apitest.Continue(w, r)
	}
}

// ThrottleUntil responds 429 with a Retry-After that is a date, d from now by the
// server's clock, which [Skew] may have set.
func ThrottleUntil(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now, err := http.ParseTime(w.Header().Get("Date"))
		if err != nil {
			now = time.Now()
		}
		Throttle(now.Add(d).UTC().Format(http.TimeFormat))(w, r)
	}
}
