package replay

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ScriptOptions of a Script. The zero value responds to equivalent requests as it was
// recorded.
type ScriptOptions struct {
	Pace Pace

	// Strict requires the requests as they were recorded: in the same order, with
	// exactly the same query, Accept and User-Agent. Otherwise it is sufficient that
	// method, path and parameters are the same, in any order; the parameters timeout
	// and timeoutSeconds, which clients choose at random, do not count.
	Strict bool
}

// Script is a handler that responds to requests as recorded at the wire: to the n-th of several
// equivalent requests with the n-th recorded response, in the same pieces, and with an interruption
// at the same byte. If the recorded client left, the recorded server became silent, or the
// recording ended, an incomplete response stays open until the present client leaves. A request
// without a recorded response gets 503 and a Status that says so.
//
// Each response is timed from its own request. A connection that was reset is reset again, as far
// as the handler's server allows it.
type Script struct {
	o ScriptOptions

	mu       sync.Mutex
	order    []string            // strict: the remaining requests
	answers  map[string][]answer // by request; the remaining ones
	unknown  []string
	answered int
}

// answer is a response to a request.
type answer struct {
	sent    time.Duration
	entries []*Entry
}

// NewScript returns a handler that plays r.
func NewScript(r *Recording, o ScriptOptions) *Script {
	s := &Script{o: o, answers: map[string][]answer{}}
	var requests []*Entry
	parts := map[int][]*Entry{}
	for _, e := range r.Entries {
		switch e.Kind {
		case KindReq:
			requests = append(requests, e)
			parts[e.ID] = nil
		case KindResp, KindChunk, KindEnd:
			if list, ok := parts[e.ID]; ok && (len(list) == 0 || list[len(list)-1].Kind != KindEnd) {
				parts[e.ID] = append(list, e)
			}
		}
	}
	// Requests of the same moment may have been written in another order.
	slices.SortStableFunc(requests, func(a, b *Entry) int { return cmp.Compare(a.At, b.At) })
	for _, e := range requests {
		path, query, _ := strings.Cut(e.URL, "?")
		key := s.key(e.Method, path, query, e.Header)
		s.order = append(s.order, key)
		s.answers[key] = append(s.answers[key], answer{e.At, parts[e.ID]})
	}
	return s
}

// Unknown returns the requests without a recorded response, in order.
func (s *Script) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unknown)
}

// Left returns how many recorded requests have not been made yet.
func (s *Script) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.order) - s.answered
}

// key returns a key that is the same for equivalent requests.
func (s *Script) key(method, path, query string, h http.Header) string {
	if s.o.Strict {
		accept, agent := h.Get("Accept"), h.Get("User-Agent")
		if plain := withoutProtobuf(accept); plain != "" { // as a Writer records it
			accept = plain
		}
		if strings.HasPrefix(agent, "Go-http-client/") { // net/http adds it after a Writer's Transport
			agent = ""
		}
		return strings.Join([]string{method, path, query, accept, agent}, " ")
	}
	params := strings.FieldsFunc(query, func(c rune) bool { return c == '&' })
	kept := params[:0]
	for _, p := range params {
		if v, err := url.QueryUnescape(p); err == nil {
			p = v
		}
		if name, _, _ := strings.Cut(p, "="); name != "timeout" && name != "timeoutSeconds" {
			kept = append(kept, p)
		}
	}
	slices.Sort(kept)
	return method + " " + path + "?" + strings.Join(kept, "&")
}

// take returns the next response to a request.
func (s *Script) take(r *http.Request) (answer, bool) {
	path, query, _ := strings.Cut(target(r.URL), "?") // redacted like the recording
	key := s.key(r.Method, path, query, r.Header)
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.answers[key]
	if len(list) == 0 || s.o.Strict && s.order[s.answered] != key {
		s.unknown = append(s.unknown, r.Method+" "+target(r.URL))
		return answer{}, false
	}
	s.answers[key] = list[1:]
	s.answered++
	return list[0], true
}

// ServeHTTP implements http.Handler.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := s.take(r)
	if !ok {
		refuse(w)
		return
	}
	clock := s.o.Pace.from(a.sent)
	control := http.NewResponseController(w)
	left := int64(-1) // bytes of a body whose length the client knows
	for _, e := range a.entries {
		if clock.wait(r.Context(), e.At) != nil {
			panic(http.ErrAbortHandler)
		}
		switch e.Kind {
		case KindResp:
			for name, values := range e.Header {
				if name = http.CanonicalHeaderKey(name); slices.Contains(responseHeaders, name) {
					w.Header()[name] = values
				}
			}
			if n, err := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64); err == nil {
				left = n
			}
			w.WriteHeader(e.Code)
		case KindChunk:
			b, _ := e.Body() // it was checked when it was read
			if _, err := w.Write(b); err != nil {
				panic(http.ErrAbortHandler)
			}
			left -= int64(len(b))
		case KindEnd:
			finish(w, r, e.Cause, left == 0)
			return
		}
		_ = control.Flush()
	}
	finish(w, r, "", left == 0)
}

// finish ends a response as the recorded one ended. The client of one that is complete does
// not leave: it keeps the connection for its next request.
func finish(w http.ResponseWriter, r *http.Request, cause Cause, complete bool) {
	switch cause {
	case EndEOF:
		return
	case EndCut, EndError:
	case EndReset:
		reset(w)
	default: // the server would still keep the connection
		if complete {
			return
		}
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

// reset resets an unencrypted TCP connection; others are closed.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"the recording has no answer, or no further one, to this request","reason":"ServiceUnavailable","code":503}`+"\n")
}
