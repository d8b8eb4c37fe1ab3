package replay

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// formatName and formatVersion are in the header of every recording. A reader refuses a
// newer version, and skips unknown data within its own version.
const (
	formatName    = "lwrec"
	formatVersion = 1
)

// Header is the first line of a recording. NewWriter sets the fields that a caller may
// not choose.
type Header struct {
	Format    string    `json:"format"`
	Version   int       `json:"version"`
	Tool      string    `json:"tool,omitempty"`   // the recording program; default "listwatch"
	Origin    string    `json:"origin,omitempty"` // description for people; it must not contain secrets
	Created   time.Time `json:"created"`
	TimeBase  time.Time `json:"timeBase"` // origin of Entry.At
	Cluster   Cluster   `json:"cluster,omitzero"`
	Redaction Redaction `json:"redaction"`
}

// Cluster is the origin of the traffic. All fields are optional.
type Cluster struct {
	UID        string `json:"uid,omitempty"`    // UID of the namespace kube-system
	Server     string `json:"server,omitempty"` // base URL, without user and query
	GitVersion string `json:"gitVersion,omitempty"`
}

// Redaction states which values were replaced. Tokens are always replaced, and last-applied
// annotations if Secrets or Env is set. Headers with credentials are not recorded.
type Redaction struct {
	Secrets bool `json:"secrets"` // data of Secrets
	Env     bool `json:"env"`     // values of environment variables
}

// Kind is the kind of an entry.
type Kind string

// The kinds of entries. FORMAT.md lists the fields of each.
const (
	KindReq    Kind = "req"    // a request was sent
	KindResp   Kind = "resp"   // its response began
	KindChunk  Kind = "chunk"  // a piece of its body was read
	KindEnd    Kind = "end"    // the body, or the stream of events, ended
	KindStream Kind = "stream" // a loop over events began
	KindPage   Kind = "page"   // a page of a list was read
	KindEvent  Kind = "ev"     // an event was delivered
	KindNote   Kind = "note"   // something happened: a connection, an interruption
	KindMark   Kind = "mark"   // Writer.Mark was called
	KindFooter Kind = "footer" // the recording was closed
)

// kindHeader is the kind of the first line.
const kindHeader Kind = "header"

// Entry is one line of a recording after the header. Fields that its kind does not have
// are zero. Objects and bodies are shared with the recording and must not be changed.
type Entry struct {
	Kind Kind          `json:"t"`
	At   time.Duration `json:"at"`           // since Header.TimeBase, by the monotonic clock
	ID   int           `json:"id,omitempty"` // of the request or stream, from 1

	// req, resp
	Method string      `json:"method,omitempty"`
	URL    string      `json:"url,omitempty"` // path and query
	Code   int         `json:"code,omitempty"`
	Proto  string      `json:"proto,omitempty"`
	Header http.Header `json:"headers,omitempty"`

	// chunk: one of the two
	Text string `json:"text,omitempty"`
	B64  string `json:"b64,omitempty"`

	// end
	Cause Cause `json:"cause,omitempty"`
	Bytes int64 `json:"bytes,omitempty"` // of the body

	// stream
	Target *Target `json:"target,omitempty"`

	// page
	Pages     int    `json:"pages,omitempty"`
	Items     int    `json:"items,omitempty"`
	Remaining *int64 `json:"remaining,omitempty"`
	Done      bool   `json:"done,omitempty"`

	// ev; Revision also for a page
	Type      string          `json:"type,omitempty"`
	Revision  string          `json:"rv,omitempty"`
	Namespace string          `json:"namespace,omitempty"` // of an object that is left out
	Name      string          `json:"name,omitempty"`
	UID       string          `json:"uid,omitempty"`
	Object    json.RawMessage `json:"object,omitempty"`

	// note, mark; Failure also for an ev with an error, for a RESTART with a cause, and
	// for an end
	Note    string        `json:"note,omitempty"`
	Label   string        `json:"label,omitempty"`
	Gap     time.Duration `json:"gap,omitempty"`
	Failure *Failure      `json:"failure,omitempty"`

	// footer
	Counts map[Kind]int `json:"counts,omitempty"`
	SHA256 string       `json:"sha256,omitempty"` // of all lines before it, uncompressed, in hex
}

// Target is the collection of a stream of events.
type Target struct {
	Resource  kube.Resource
	Namespace string // empty = all
	Labels    string // the selectors, as in a query
	Fields    string

	// Columns are those of the definition of a custom resource when the stream began; nil = it
	// has none, or they are not known.
	Columns []apitest.Column
}

// targetLine is the JSON of a Target.
type targetLine struct {
	Group      string       `json:"group,omitempty"`
	Version    string       `json:"version"`
	Plural     string       `json:"plural"`
	Kind       string       `json:"kind,omitempty"`
	Namespaced bool         `json:"namespaced,omitempty"`
	Namespace  string       `json:"namespace,omitempty"`
	Labels     string       `json:"labels,omitempty"`
	Fields     string       `json:"fields,omitempty"`
	Columns    []columnLine `json:"columns,omitempty"`
}

// columnLine is an apitest.Column, with the names that a definition has.
type columnLine struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Path        string `json:"jsonPath"`
	Priority    int    `json:"priority,omitempty"`
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
}

// MarshalJSON encodes a Target without nesting.
func (t Target) MarshalJSON() ([]byte, error) {
	r := t.Resource
	l := targetLine{r.Group, r.Version, r.Plural, r.Kind, r.Namespaced, t.Namespace, t.Labels, t.Fields, nil}
	for _, c := range t.Columns {
		l.Columns = append(l.Columns, columnLine(c))
	}
	return codec.Encode(l)
}

// UnmarshalJSON decodes the JSON of MarshalJSON.
func (t *Target) UnmarshalJSON(b []byte) error {
	l, err := codec.Decode[targetLine](b)
	if err != nil {
		return err
	}
	*t = Target{kube.Resource{Group: l.Group, Version: l.Version, Plural: l.Plural, Kind: l.Kind, Namespaced: l.Namespaced}, l.Namespace, l.Labels, l.Fields, nil}
	for _, c := range l.Columns {
		t.Columns = append(t.Columns, apitest.Column(c))
	}
	return nil
}

// Cause is how a body or a stream ended.
type Cause string

// Values of Cause.
const (
	EndEOF     Cause = "eof"     // normally
	EndCut     Cause = "cut"     // the connection was closed before the end
	EndReset   Cause = "reset"   // the connection was reset
	EndTimeout Cause = "timeout" // the server was silent for too long
	EndClient  Cause = "client"  // the reader ended it
	EndError   Cause = "error"   // any other error
)

// Body returns the bytes of a chunk.
func (e *Entry) Body() ([]byte, error) {
	if e.B64 == "" {
		return []byte(e.Text), nil
	}
	return base64.StdEncoding.DecodeString(e.B64)
}

// setBody stores b as text if it is valid UTF-8.
func (e *Entry) setBody(b []byte) {
	if utf8.Valid(b) {
		e.Text = string(b)
		return
	}
	e.B64 = base64.StdEncoding.EncodeToString(b)
}

// check returns what is wrong with an entry that was read, "" if nothing is.
func (e *Entry) check() string {
	switch {
	case e.Kind == "":
		return "it has no type"
	case e.At < 0:
		return "its time is negative"
	case e.ID < 0:
		return "its id is negative"
	}
	switch e.Kind {
	case KindReq, KindResp, KindChunk, KindStream, KindPage, KindEvent, KindEnd:
		if e.ID == 0 {
			return "it has no id"
		}
	}
	switch e.Kind {
	case KindReq:
		if u, err := url.ParseRequestURI(e.URL); err != nil || u.Path == "" || u.Host != "" {
			return "its URL is not a path"
		}
	case KindResp:
		if e.Code < 200 || e.Code > 999 {
			return "its code is not a status code"
		}
	case KindChunk:
		if _, err := e.Body(); err != nil {
			return "its body is not base64"
		}
	case KindEvent:
		if e.Type == "" {
			return "the event has no type"
		}
		if len(e.Object) > 0 {
			if _, err := codec.ParseRawFull(e.Object); err != nil {
				return "its object is not an object"
			}
		}
	case KindStream:
		if e.Target == nil || e.Target.Resource.Plural == "" || e.Target.Resource.Version == "" {
			return "the stream has no resource"
		}
	}
	return ""
}
