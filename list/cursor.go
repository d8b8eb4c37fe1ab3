package list

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Options set how a collection is listed. The zero value lists the current state of all
// objects that the collection selects, in pages of 500.
type Options struct {
	// Shard, if set, is the part of the collection to list. It is sent as shardSelector (KEP-5866,
	// feature gate ShardedListAndWatch), unless the server refuses that. A server without the
	// feature sends all objects; a Lister drops those outside of Shard before it decodes them.
	Shard kube.Shard

	// Limit is the page size; 0 = 500, negative = one page. It is not sent if Revision is set
	// (other than "0") without Match: the list is one page, at least as new as Revision.
	Limit int

	// Revision and Match request a state other than the current one. See
	// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list.
	Revision kube.Revision
	Match    Match

	// MaxItem limits the size of an object, in bytes; 0 = codec.DefaultMaxFrame.
	MaxItem int

	// Progress, if set, is called after each page.
	Progress func(Progress)
}

// Match sets the meaning of Options.Revision.
type Match string

// Values of Match.
const (
	NotOlderThan Match = "NotOlderThan" // at least that revision, from the server's cache
	Exact        Match = "Exact"        // exactly that revision, if it is still kept
)

const defaultLimit = 500

// Progress reports how far a list is.
type Progress struct {
	Pages     int
	Items     int   // objects so far, including those that could not be decoded
	Remaining int64 // objects that follow; -1 if the server does not report it
	Revision  kube.Revision
	Done      bool
	Sharded   bool // the server reports that it sent objects of Options.Shard only; for custom resources, metadata and Tables it never does

	// Inconsistent is Cursor.Inconsistent: objects of later pages are newer than
	// Revision, and objects that were deleted after Revision may be missing.
	Inconsistent bool
}

// Cursor is the state of a list, without I/O: it computes the next query from the last
// response. It is a value; the zero Cursor is at the beginning of a list.
//
//	for more := true; more && err == nil; {
//		page := get(path + "?" + collection.Ask(cur.Query(opts)).Encode())
//		more, err = cur.Page(page.Meta, len(page.Items))
//	}
type Cursor struct {
	// Unpaged is set when the server's history was too short for paging: the next list
	// is one request.
	Unpaged bool

	// Inconsistent is set when the snapshot expired between pages and the server
	// continued with a newer one. Revision stays that of the first snapshot: a watch
	// from there updates every object.
	Inconsistent bool

	token    string
	revision kube.Revision
	pages    int
	earlier  string // the token of an earlier page, to detect tokens that repeat
	empty    int    // consecutive pages without an object
	resumed  bool   // token is from the 410 response, and no page was read since
}

// ErrEndless is the error of a list whose pages do not end: the server repeats continue
// tokens, or sends 1,000 consecutive pages without an object, or more than 1,048,576 pages.
var ErrEndless = errors.New("the pages of the list do not end")

const (
	maxEmpty = 1000    // a server that filters after paging sends that many for half a million objects
	maxPages = 1 << 20 // with 500 objects in each, more than etcd can hold
)

// Query returns the parameters of the next request, apart from those of the collection.
func (c *Cursor) Query(o Options) url.Values {
	q := url.Values{}
	if !o.Shard.All() {
		q.Set("shardSelector", o.Shard.String())
	}
	limit := o.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	// With a revision and no match, the API would read a limit as a request for exactly
	// that revision instead of at least that one.
	legacyExact := o.Revision != "" && o.Revision != "0" && o.Match == ""
	if limit > 0 && !c.Unpaged && !legacyExact {
		q.Set("limit", strconv.Itoa(limit))
	}
	if c.token != "" {
		q.Set("continue", c.token) // it contains the revision
		return q
	}
	if o.Revision != "" {
		q.Set("resourceVersion", string(o.Revision))
	}
	if o.Match != "" {
		q.Set("resourceVersionMatch", string(o.Match))
	}
	return q
}

// MayRefuseShard reports whether err can mean that the server refuses the shardSelector of a
// request: err is kube.ErrInvalid, or a 500, which kube-apiserver sends for a selector that it
// cannot parse. To find out, send the request without the selector.
func MayRefuseShard(err error) bool {
	var st *kube.Status
	return errors.As(err, &st) && (st.Code == http.StatusInternalServerError || errors.Is(err, kube.ErrInvalid))
}

// Page takes the metadata of a page that was read to its end, and the number of its objects, items.
// It reports whether more pages follow. It fails if the pages do not end (ErrEndless), or if this
// page may be of another list, because it has no resourceVersion, unlike the first. After an error
// begin again, with another Cursor.
func (c *Cursor) Page(m codec.ListMeta, items int) (more bool, err error) {
	if c.revision == "" {
		c.revision = kube.Revision(m.ResourceVersion)
	}
	c.pages++
	c.resumed = false
	if c.empty++; items > 0 {
		c.empty = 0
	}
	switch {
	case m.ResourceVersion == "" && c.revision != "":
		err = fmt.Errorf("page %d of the list has no resourceVersion, unlike the first", c.pages)
	case m.Continue == "":
	case m.Continue == c.token:
		err = fmt.Errorf("%w: page %d has the continue token of the page before", ErrEndless, c.pages)
	case m.Continue == c.earlier:
		err = fmt.Errorf("%w: page %d has the continue token of an earlier page", ErrEndless, c.pages)
	case c.empty >= maxEmpty:
		err = fmt.Errorf("%w: %d pages in a row have no object", ErrEndless, c.empty)
	case c.pages >= maxPages:
		err = fmt.Errorf("%w: there are more than %d", ErrEndless, c.pages)
	}
	if c.pages&(c.pages-1) == 0 { // pages 1, 2, 4, 8, ...: every cycle of tokens is found in its second round at the latest
		c.earlier = m.Continue
	}
	c.token = m.Continue
	return c.token != "" && err == nil, err
}

// First reports whether the next request is the first of the list.
func (c *Cursor) First() bool { return c.token == "" }

// Revision returns the revision to watch from when the list is complete: that of the
// first page.
func (c *Cursor) Revision() kube.Revision { return c.revision }

// Expired takes the error of a request. If the error means that the list's snapshot has expired,
// the cursor continues at its position with the token of the response (resumed), or, if the
// response has no new token, begins again, in one page (restarted). It does not resume twice
// without a page in between, nor restart a list that already is in one page. See KEP-365.
func (c *Cursor) Expired(err error) (resumed, restarted bool) {
	if !errors.Is(err, kube.ErrGone) || c.First() {
		return false, false
	}
	var st *kube.Status
	if errors.As(err, &st) && st.Metadata.Continue != "" && st.Metadata.Continue != c.token && !c.resumed {
		c.token, c.Inconsistent, c.resumed = st.Metadata.Continue, true, true
		return true, false
	}
	if c.Unpaged {
		return false, false
	}
	*c = Cursor{Unpaged: true}
	return false, true
}
