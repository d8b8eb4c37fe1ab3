package replay

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// formatName and formatVersion stand in the header of every recording. A reader refuses a
// newer version; what it does not know within its own version it passes over.
const (
	formatName    = "lwrec"
	formatVersion = 1
)

// Header is the first line of a recording. NewWriter sets what a caller may not
// choose.
type Header struct {
	Format    string    `json:"format"`
	Version   int       `json:"version"`
	Tool      string    `json:"tool,omitempty"`   // what recorded; default "listwatch"
	Origin    string    `json:"origin,omitempty"` // what was done meanwhile, for people; it must hold no secret
	Created   time.Time `json:"created"`
	TimeBase  time.Time `json:"timeBase"` // what Entry.At counts from
	Cluster   Cluster   `json:"cluster,omitzero"`
	Redaction Redaction `json:"redaction"`
}

// Cluster says where the traffic comes from. All of it is optional.
type Cluster struct {
	UID        string `json:"uid,omitempty"`    // of the namespace kube-system
	Server     string `json:"server,omitempty"` // base URL; a user and a query in it are left out
	GitVersion string `json:"gitVersion,omitempty"`
}

// Redaction says what was replaced. Credentials in headers and tokens always are.
type Redaction struct {
	Secrets bool `json:"secrets"` // data of Secrets, and last-applied annotations
	Env     bool `json:"env"`     // values of environment variables
}

// Kind is what an entry is.
type Kind string

// The kinds of entries. Which fields each has is in FORMAT.md.
const (
	KindReq    Kind = "req"    // a request was sent
	KindResp   Kind = "resp"   // its answer began
	KindChunk  Kind = "chunk"  // a piece of its body was read
	KindEnd    Kind = "end"    // the body, or the stream of events, ended
	KindStream Kind = "stream" // a loop over events began
	KindPage   Kind = "page"   // a page of a list was read
	KindEvent  Kind = "ev"     // an event was delivered
	KindNote   Kind = "note"   // something happened: a connection, an interruption
	KindMark   Kind = "mark"   // somebody set a mark
	KindFooter Kind = "footer" // the recording was closed in good order
)

// kindHeader is the kind of the first line.
const kindHeader Kind = "header"

// Entry is one line of a recording after the header. Fields that its kind does
// not have are zero. Objects and bodies are shared with the recording: they must
// not be changed.
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

	// ev; the revision also of a page
	Type      string          `json:"type,omitempty"`
	Revision  string          `json:"rv,omitempty"`
	Namespace string          `json:"namespace,omitempty"` // of an object that is left out
	Name      string          `json:"name,omitempty"`
	UID       string          `json:"uid,omitempty"`
	Object    json.RawMessage `json:"object,omitempty"`

	// note, mark; Failure also of an ev that came with an error, of a RESTART
	// that has a cause, and of an end
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
}

// targetLine is a Target as it is written.
type targetLine struct {
	Group      string `json:"group,omitempty"`
	Version    string `json:"version"`
	Plural     string `json:"plural"`
	Kind       string `json:"kind,omitempty"`
	Namespaced bool   `json:"namespaced,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Labels     string `json:"labels,omitempty"`
	Fields     string `json:"fields,omitempty"`
}

// MarshalJSON writes a Target flat.
func (t Target) MarshalJSON() ([]byte, error) {
	r := t.Resource
	return codec.Encode(targetLine{r.Group, r.Version, r.Plural, r.Kind, r.Namespaced, t.Namespace, t.Labels, t.Fields})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Target) UnmarshalJSON(b []byte) error {
	l, err := codec.Decode[targetLine](b)
	if err != nil {
		return err
	}
	*t = Target{kube.Resource{Group: l.Group, Version: l.Version, Plural: l.Plural, Kind: l.Kind, Namespaced: l.Namespaced}, l.Namespace, l.Labels, l.Fields}
	return nil
}

// Cause is how a body or a stream ended.
type Cause string

// Values of Cause.
const (
	EndEOF     Cause = "eof"     // as it should
	EndCut     Cause = "cut"     // the connection was closed within it
	EndReset   Cause = "reset"   // the connection was reset
	EndTimeout Cause = "timeout" // the server was silent for too long
	EndClient  Cause = "client"  // who read it had enough
	EndError   Cause = "error"   // else
)

// Body returns the bytes of a chunk.
func (e *Entry) Body() ([]byte, error) {
	if e.B64 == "" {
		return []byte(e.Text), nil
	}
	return base64.StdEncoding.DecodeString(e.B64)
}

// setBody keeps b as text where it is any.
func (e *Entry) setBody(b []byte) {
	if utf8.Valid(b) {
		e.Text = string(b)
		return
	}
	e.B64 = base64.StdEncoding.EncodeToString(b)
}

// check says what is wrong with an entry that was read, "" if nothing is.
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
			return "its code is no status code"
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
				return "its object is not one"
			}
		}
	case KindStream:
		if e.Target == nil || e.Target.Resource.Plural == "" || e.Target.Resource.Version == "" {
			return "the stream has no resource"
		}
	}
	return ""
}
