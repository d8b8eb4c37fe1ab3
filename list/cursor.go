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

// Options select what is listed and how. The zero value lists everything, in
// pages of 500, as it is now.
type Options struct {
	Labels kube.Selector
	Fields kube.FieldSelector

	// Shard, if it is not everything, is the part of the collection that is listed. It is
	// sent as shardSelector (KEP-5866, feature gate ShardedListAndWatch), and without that
	// where the server refuses it. Other servers ignore it and send all objects, of which
	// a Lister leaves out the others before it decodes them.
	Shard kube.Shard

	// Limit is the most objects in a page; 0 = 500, negative = all in one.
	Limit int

	// Revision and Match ask for another state than the most recent one. See
	// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list.
	Revision kube.Revision
	Match    Match

	// MaxItem is the largest object taken, in bytes; 0 = codec.DefaultMaxFrame.
	MaxItem int

	// Progress, if set, is called after each page.
	Progress func(Progress)
}

// Match says how Options.Revision is meant.
type Match string

// Values of Match.
const (
	NotOlderThan Match = "NotOlderThan" // at least that revision, from the server's cache
	Exact        Match = "Exact"        // exactly that revision, if it is still kept
)

const defaultLimit = 500

// Progress tells how far a list has come.
type Progress struct {
	Pages     int
	Items     int   // objects so far, quarantined ones included
	Remaining int64 // objects still to come; -1 where the server does not say
	Revision  kube.Revision
	Done      bool
	Sharded   bool // the server says that it sent objects of Options.Shard only; of custom resources, metadata and Tables it never does

	// Inconsistent is Cursor.Inconsistent: objects of later pages are newer than
	// Revision, and what was deleted after Revision may be missing among them.
	Inconsistent bool
}

// Cursor is a list in progress, without I/O: it makes the next query and learns
// from its answer. It is a value; the zero Cursor is at the beginning of a list
// of everything, in pages of 500.
//
//	for more := true; more && err == nil; {
//		page := get(path + "?" + cur.Query(opts).Encode())
//		more, err = cur.Page(page.Meta, len(page.Items))
//	}
type Cursor struct {
	// Unpaged is set once the server's history proved too short for paging: the
	// next list is one request.
	Unpaged bool

	// Inconsistent is set when the snapshot expired in mid-list and the server
	// went on with a newer one. Revision stays that of the first snapshot: a
	// watch from there brings every object up to date.
	Inconsistent bool

	token    string
	revision kube.Revision
	pages    int
	earlier  string // the token of an earlier page, to find those that come round again
	empty    int    // pages in a row without an object
	resumed  bool   // token is from the answer that expired, and no page was read since
}

// ErrEndless is the error of a list whose pages do not come to an end: the server
// sends continue tokens again that it sent before, maxEmpty pages without an object in a
// row, or more than maxPages pages.
var ErrEndless = errors.New("the pages of the list do not end")

const (
	maxEmpty = 1000    // what half a million objects make that a server filters after paging
	maxPages = 1 << 20 // with 500 objects in each, more than etcd can hold
)

// Query returns the parameters of the next request.
func (c *Cursor) Query(o Options) url.Values {
	q := o.Query()
	limit := o.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	// With a revision and no match, limit would turn "at least" into
	// "exactly": a legacy of the API that nobody wants.
	legacyExact := o.Revision != "" && o.Revision != "0" && o.Match == ""
	if limit > 0 && !c.Unpaged && !legacyExact {
		q.Set("limit", strconv.Itoa(limit))
	}
	if c.token != "" {
		q.Set("continue", c.token) // which carries the revision
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

// MayRefuseShard reports whether err, of a request with a shardSelector, can be the
// server's answer to that parameter: 400, or 500, as kube-apiserver answers one that it
// cannot parse. The same request without it shows whether it is.
func MayRefuseShard(err error) bool {
	var st *kube.Status
	return errors.As(err, &st) && (st.Code == http.StatusInternalServerError || errors.Is(err, kube.ErrInvalid))
}

// Query returns the selectors as parameters.
func (o Options) Query() url.Values {
	q := url.Values{}
	if !o.Labels.Empty() {
		q.Set("labelSelector", o.Labels.String())
	}
	if !o.Fields.Empty() {
		q.Set("fieldSelector", o.Fields.String())
	}
	if !o.Shard.All() {
		q.Set("shardSelector", o.Shard.String())
	}
	return q
}

// Page takes the metadata of a page of items objects that was read to its end, and
// reports whether there are more. The error is ErrEndless: such a list can only
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
	if c.pages&(c.pages-1) == 0 { // page 1, 2, 4, 8: one of them is in every circle, and is kept for a turn of it
		c.earlier = m.Continue
	}
	c.token = m.Continue
	return c.token != "" && err == nil, err
}

// First reports whether the next request is the first of the list.
func (c *Cursor) First() bool { return c.token == "" }

// Revision returns the revision to watch from once the list is complete: that
// of the first page.
func (c *Cursor) Revision() kube.Revision { return c.revision }

// Expired takes the error of a request and reports whether it is the expiry of
// the list's snapshot, which the cursor then handles: it continues where it is,
// with the token that the server sent along, or else from the beginning, in one
// page. A token that expires before it brought a page is not replaced by another
// one, and a list that was asked for in one page does not begin again. See KEP-365.
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
