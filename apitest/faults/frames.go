package faults

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// EachEvent passes every later event of a watch to f, with its newline; f writes the
// replacement to w. The other rewriters use it; several for one watch apply in the
// order in which they were set.
func EachEvent(f func(w http.ResponseWriter, event []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		apitest.ExchangeOf(r).EachEvent(f)
		apitest.Continue(w, r)
	}
}

// next passes only the next event to f.
func next(f func(w http.ResponseWriter, event []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		done := false
		EachEvent(func(w http.ResponseWriter, event []byte) {
			if done {
				w.Write(event)
				return
			}
			done = true
			f(w, event)
		})(w, r)
	}
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// Inject writes text into the stream and continues.
func Inject(text string) http.HandlerFunc {
	return inject(func(*apitest.Exchange) []byte { return []byte(text) })
}

// inject writes the current result of text.
func inject(text func(*apitest.Exchange) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		if !x.Begun() { // before the first event of the stream
			next(func(w http.ResponseWriter, event []byte) {
				w.Write(text(x))
				w.Write(event)
			})(w, r)
			return
		}
		x.Write(text(x))
		x.Flush()
		apitest.Continue(w, r)
	}
}

// ErrorEvent sends an ERROR event with st and ends the stream. Events that other faults hold
// back come before it.
func ErrorEvent(st *kube.Status) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if x := apitest.ExchangeOf(r); x.Begun() {
			x.AtEnd(func() { x.Write(apitest.StatusEvent(st)) })
			return
		}
		EndStream()(w, r)
		w.Write(apitest.StatusEvent(st))
	}
}

// CutEvent sends the first n bytes of the next event and closes the connection.
func CutEvent(n int) http.HandlerFunc {
	return next(func(w http.ResponseWriter, event []byte) {
		w.Write(event[:min(n, len(event))])
		flush(w)
		panic(http.ErrAbortHandler)
	})
}

// Chop sends each event in pieces of n bytes, each in a chunk of its own.
func Chop(n int) http.HandlerFunc {
	return EachEvent(func(w http.ResponseWriter, event []byte) {
		for len(event) > 0 {
			k := min(n, len(event))
			w.Write(event[:k])
			flush(w)
			event = event[k:]
		}
	})
}

// SplitRunes sends each event in two chunks, split within its first character of more
// than one byte, or after the backslash of its first escape; other events are sent
// whole.
func SplitRunes() http.HandlerFunc {
	return EachEvent(func(w http.ResponseWriter, event []byte) {
		at := bytes.IndexFunc(event, func(c rune) bool { return c >= utf8.RuneSelf })
		if at < 0 {
			at = bytes.IndexByte(event, '\\')
		}
		w.Write(event[:at+1])
		flush(w)
		w.Write(event[at+1:])
	})
}

// Coalesce holds events back until there are n, or the stream ends, and sends them in
// one chunk.
func Coalesce(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		var held []byte
		count := 0
		release := func() {
			x.Write(held)
			x.Flush()
			held, count = nil, 0
		}
		x.AtEnd(release)
		EachEvent(func(_ http.ResponseWriter, event []byte) {
			held = append(held, event...)
			if count++; count >= n {
				release()
			}
		})(w, r)
	}
}

// CRLF ends each event by \r\n and adds blank lines.
func CRLF() http.HandlerFunc {
	return EachEvent(func(w http.ResponseWriter, event []byte) {
		w.Write([]byte("\r\n" + strings.TrimSuffix(string(event), "\n") + "\r\n\r\n"))
	})
}

// NoNewline leaves out the newline after each event.
func NoNewline() http.HandlerFunc {
	return EachEvent(func(w http.ResponseWriter, event []byte) { w.Write(bytes.TrimSuffix(event, []byte("\n"))) })
}

// Pretty indents each event over many lines.
func Pretty() http.HandlerFunc {
	return EachEvent(func(w http.ResponseWriter, event []byte) {
		var b bytes.Buffer
		if err := json.Indent(&b, event, "", "  "); err != nil {
			w.Write(event) // another fault has made it invalid JSON
			return
		}
		w.Write(b.Bytes())
	})
}

// Drop leaves out the next event.
func Drop() http.HandlerFunc { return next(func(http.ResponseWriter, []byte) {}) }

// Duplicate sends the next event twice.
func Duplicate() http.HandlerFunc {
	return next(func(w http.ResponseWriter, event []byte) {
		w.Write(event)
		w.Write(event)
	})
}

// ReplaceObject sends the next event with object, valid JSON or not, instead of its
// own: null, an object that cannot be decoded, another kind.
func ReplaceObject(object string) http.HandlerFunc {
	return next(func(w http.ResponseWriter, event []byte) {
		var e struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(event, &e); err != nil {
			e.Type = "MODIFIED" // another fault has made it invalid JSON
		}
		w.Write([]byte(`{"type":"` + e.Type + `","object":` + object + "}\n"))
	})
}

// InvalidJSON injects a line that is not JSON.
func InvalidJSON() http.HandlerFunc { return Inject("{\"type\":\"ADDED\",\"object\":{\"kind\":}}\n") }

// UnknownType injects an event of an unknown type.
func UnknownType() http.HandlerFunc {
	return Inject(`{"type":"RENAMED","object":{"metadata":{"name":"x","resourceVersion":"1"}}}` + "\n")
}

// NullObject injects an event without an object.
func NullObject() http.HandlerFunc { return Inject(`{"type":"MODIFIED","object":null}` + "\n") }

// Huge injects an event with an annotation of n bytes.
func Huge(n int) http.HandlerFunc {
	return Inject(`{"type":"MODIFIED","object":{"metadata":{"name":"huge","resourceVersion":"1","annotations":{"a":"` +
		strings.Repeat("x", n) + `"}}}}` + "\n")
}

// DuplicateKeys injects an event with two types and two objects.
func DuplicateKeys() http.HandlerFunc {
	return Inject(`{"type":"ADDED","type":"MODIFIED","object":{},"object":{"metadata":{"name":"a","name":"b","resourceVersion":"1"}}}` + "\n")
}

// Deep injects an event whose object nests depth arrays.
func Deep(depth int) http.HandlerFunc {
	return Inject(`{"type":"MODIFIED","object":{"metadata":{"name":"deep","resourceVersion":"1"},"spec":` +
		strings.Repeat("[", depth) + strings.Repeat("]", depth) + "}}\n")
}

// Swap sends the next two events in reverse order. If the stream ends between them, also by an
// ERROR event, the first one is sent at its end.
func Swap() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := apitest.ExchangeOf(r)
		var held []byte
		seen := 0
		x.AtEnd(func() {
			x.Write(held)
			held = nil
		})
		EachEvent(func(w http.ResponseWriter, event []byte) {
			if seen++; seen == 1 {
				held = bytes.Clone(event)
				return
			}
			events := [][]byte{event, held}
			if bytes.HasPrefix(event, []byte(`{"type":"ERROR"`)) {
				slices.Reverse(events)
			}
			held = nil
			for _, event := range events {
				if event != nil {
					w.Write(event)
				}
			}
		})(w, r)
	}
}

// OtherUID sends the next DELETED with a UID that the object never had: the deletion of
// an unseen object with the same name.
func OtherUID() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		done := false
		EachEvent(func(w http.ResponseWriter, event []byte) {
			var e struct {
				Type   string
				Object struct{ Metadata struct{ UID string } }
			}
			if !done && json.Unmarshal(event, &e) == nil && e.Type == "DELETED" {
				done = true
				name := `"uid":"`
				event = bytes.Replace(event, []byte(name+e.Object.Metadata.UID), []byte(name+"00000000-0000-4000-8000-000000000000"), 1)
			}
			w.Write(event)
		})(w, r)
	}
}

// BookmarkBehind injects a bookmark of n revisions ago.
func BookmarkBehind(n int) http.HandlerFunc {
	return inject(func(x *apitest.Exchange) []byte {
		return x.BookmarkEvent(x.Server().RevisionBefore(n), "")
	})
}

// BookmarkOf injects a bookmark for objects of another kind, with a much higher
// revision.
func BookmarkOf(kind string) http.HandlerFunc {
	return inject(func(x *apitest.Exchange) []byte {
		return x.BookmarkEvent(ahead(x.Server().Revision(), 1_000_000), kind)
	})
}

// ahead returns rev plus n.
func ahead(rev kube.Revision, n uint64) kube.Revision {
	return kube.Revision(strconv.FormatUint(numberOf(string(rev))+n, 10))
}
