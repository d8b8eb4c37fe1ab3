package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

// kind is the purpose of a request.
type kind string

const (
	kindList    kind = "list"    // the first page of a LIST, or the whole list
	kindPage    kind = "page"    // a further page
	kindProbe   kind = "probe"   // a LIST with limit=1, for the revision
	kindStream  kind = "stream"  // WATCH with sendInitialEvents
	kindInitial kind = "initial" // WATCH without a revision, or from 0: initial objects, without a mark
	kindResume  kind = "resume"  // WATCH from a revision
	kindOther   kind = "other"   // GET of an object, discovery, writes
)

// entry is one request and its current state. It is guarded by stage.mu.
type entry struct {
	kind      kind
	at        time.Time // when it arrived
	ended     time.Time // zero while it runs
	line      string    // its text in the log
	from      kube.Revision
	bookmarks bool // it requested bookmarks
	http      int  // major version

	code     int
	events   int
	mark     bool          // the end of the initial events was sent
	marked   kube.Revision // revision of that mark
	revision kube.Revision // of a list's response; for a watch, the last one that was sent
	complete bool          // a list was sent completely
	more     bool          // a list has a continue token
}

func (e *entry) watching() bool {
	return (e.kind == kindStream || e.kind == kindInitial || e.kind == kindResume) && e.code == http.StatusOK && e.ended.IsZero()
}

func kindOf(r *http.Request) kind {
	q := r.URL.Query()
	on := func(name string) bool {
		v := q.Get(name)
		return q.Has(name) && v != "0" && !strings.EqualFold(v, "false")
	}
	switch rv := q.Get("resourceVersion"); {
	case on("watch") && on("sendInitialEvents"):
		return kindStream
	case on("watch") && (rv == "" || rv == "0"):
		return kindInitial
	case on("watch"):
		return kindResume
	case q.Get("continue") != "":
		return kindPage
	case q.Get("limit") == "1":
		return kindProbe
	}
	return kindList
}

// format returns a line about e, with the time since start.
func (e *entry) format(start time.Time) string {
	s := fmt.Sprintf("%+8.2fs  %-7s %s -> ", e.at.Sub(start).Seconds(), e.kind, e.line)
	switch {
	case e.code == 0 && e.ended.IsZero():
		s += "no answer yet"
	case e.code == 0:
		s += "no answer"
	default:
		s += fmt.Sprint(e.code)
	}
	switch {
	case e.events == 1:
		s += ", 1 event"
	case e.events > 1:
		s += fmt.Sprintf(", %d events", e.events)
	}
	if e.revision != "" {
		s += fmt.Sprintf(", up to %s", e.revision)
	}
	if e.more {
		s += ", more to come"
	}
	if e.ended.IsZero() {
		return s + ", still open"
	}
	return s + fmt.Sprintf(", ended after %.2fs", e.ended.Sub(e.at).Seconds())
}

// observe is the fault that gets every request first, and changes nothing.
func (s *stage) observe(w http.ResponseWriter, r *http.Request) {
	e := &entry{kind: kindOther, at: time.Now(), line: r.Method + " " + r.URL.Path, http: r.ProtoMajor, bookmarks: r.URL.Query().Get("allowWatchBookmarks") != ""}
	if q := r.URL.Query(); len(q) > 0 {
		if token := q.Get("continue"); len(token) > 12 {
			q.Set("continue", token[:12]+"...")
		}
		e.line += "?" + q.Encode()
	}
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+s.resource.Plural) {
		e.kind = kindOf(r)
		e.from = kube.Revision(r.URL.Query().Get("resourceVersion"))
	}
	s.update(func() { s.entries = append(s.entries, e) })
	defer func() {
		var line string
		s.update(func() {
			e.ended = time.Now()
			line = e.format(s.start)
		})
		s.note(line)
	}()
	t := &tap{ResponseWriter: w, s: s, e: e}
	switch e.kind {
	case kindStream, kindInitial, kindResume:
		faults.EachEvent(func(w http.ResponseWriter, event []byte) {
			s.sent(e, event)
			w.Write(event)
		})(t, r)
	case kindList, kindPage:
		apitest.Continue(t, r)
		s.answered(e, t.body.Bytes())
	default:
		apitest.Continue(t, r)
	}
}

// tap records a response.
type tap struct {
	http.ResponseWriter
	s    *stage
	e    *entry
	body bytes.Buffer // of a list
}

func (t *tap) WriteHeader(code int) {
	if code >= http.StatusOK {
		t.s.update(func() { t.e.code = code })
	}
	t.ResponseWriter.WriteHeader(code)
}

func (t *tap) Write(b []byte) (int, error) {
	if t.e.code == 0 { // only this goroutine writes it
		t.WriteHeader(http.StatusOK)
	}
	if t.e.kind == kindList || t.e.kind == kindPage {
		t.body.Write(b)
	}
	return t.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (t *tap) Flush() {
	if f, ok := t.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// answered reads the response of a list, in JSON or protobuf. An incomplete list does
// not count.
func (s *stage) answered(e *entry, body []byte) {
	meta, err := listMeta(body)
	s.update(func() {
		if err == nil && e.code == http.StatusOK && meta.ResourceVersion != "" {
			e.complete, e.revision, e.more = true, kube.Revision(meta.ResourceVersion), meta.Continue != ""
		}
	})
}

// listMeta returns the metadata of a list.
func listMeta(body []byte) (m struct{ ResourceVersion, Continue string }, err error) {
	if !protojson.Is(body) {
		var list struct {
			Metadata struct{ ResourceVersion, Continue string }
			Items    []struct{}
		}
		err = json.Unmarshal(body, &list)
		return list.Metadata, err
	}
	// The metadata is field 1 of every list; in it, fields 2 and 3.
	e, err := protojson.Open(body)
	if err != nil {
		return m, err
	}
	meta, err := protojson.Part(e.Raw, 1)
	if err != nil {
		return m, err
	}
	revision, err := protojson.Part(meta, 2)
	if err != nil {
		return m, err
	}
	token, err := protojson.Part(meta, 3)
	m.ResourceVersion, m.Continue = string(revision), string(token)
	return m, err
}

// eventMeta is the metadata of an event's object.
type eventMeta struct {
	ResourceVersion string
	Annotations     map[string]string
}

// sent notes an event that is being sent. In a Table the object is in the row.
func (s *stage) sent(e *entry, event []byte) {
	var ev struct {
		Type   string
		Object struct {
			Metadata eventMeta
			Rows     []struct{ Object struct{ Metadata eventMeta } }
		}
	}
	err := json.Unmarshal(event, &ev)
	meta := ev.Object.Metadata
	if len(ev.Object.Rows) > 0 {
		meta = ev.Object.Rows[0].Object.Metadata
	}
	s.update(func() {
		e.events++
		if err != nil {
			return
		}
		rv := kube.Revision(meta.ResourceVersion)
		if e.revision == "" || rv.Newer(e.revision) {
			e.revision = rv
		}
		if ev.Type == "BOOKMARK" && meta.Annotations["k8s.io/initial-events-end"] == "true" {
			e.mark, e.marked = true, rv
		}
	})
}
