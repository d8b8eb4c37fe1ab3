// Package health keeps which requests of an informer fail, and which objects could not be
// decoded.
package health

import (
	"errors"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Source holds the current errors of one source. It is not safe for concurrent use.
type Source struct {
	err      error  // of the last request that failed; nil = an event came since
	reported string // kind of the failure that was logged last; "" = none, or it is over

	bad     map[kube.Key]error // objects that could not be decoded, at most maxBad
	more    bool               // there were further ones, which are not kept
	listing map[kube.Key]error // those of the listing in progress; nil = none
}

// maxBad limits the objects of a source that could not be decoded which are kept and
// logged one by one.
const maxBad = 100

// Kind returns the kind of a failure; each kind is logged once. It returns "" for the
// first failures of requests: most are temporary.
func Kind(err error) string {
	switch {
	case errors.Is(err, kube.ErrUnauthorized):
		return "unauthorized"
	case errors.Is(err, kube.ErrForbidden):
		return "forbidden"
	case errors.Is(err, kube.ErrNotFound):
		return "not found"
	}
	if i := (*watch.Interruption)(nil); errors.As(err, &i) && i.Attempt < patience {
		return ""
	}
	return "failing"
}

// patience is the number of failed requests in a row after which the failure is logged,
// unless the server refused them: about 6 seconds.
const patience = 4

// Failed stores the error of a request, and reports whether it is to be logged.
func (h *Source) Failed(err error) bool {
	h.err = err
	kind := Kind(err)
	if kind == "" || kind == h.reported {
		return false
	}
	h.reported = kind
	return true
}

// Undecoded stores the error of an object that could not be decoded. It reports whether
// it is to be logged; last means that further ones are not kept.
func (h *Source) Undecoded(ev watch.Type, key kube.Key, err error) (report, last bool) {
	if ev == watch.Deleted { // the object no longer exists
		h.forget(key)
		return true, false
	}
	// The strings of the event may share memory with a large object.
	key = kube.Key{Namespace: strings.Clone(key.Namespace), Name: strings.Clone(key.Name)}
	if h.listing != nil && len(h.listing) < maxBad {
		h.listing[key] = err
	}
	_, known := h.bad[key]
	switch {
	case !known && len(h.bad) >= maxBad:
		last, h.more = !h.more, true
		return false, last
	case h.bad == nil:
		h.bad = map[kube.Key]error{}
	}
	h.bad[key] = err
	return !known, false
}

// Took notes an event that was applied, and reports whether a failure that was logged
// is over.
func (h *Source) Took(ev watch.Type, key kube.Key) (over bool) {
	over, h.err, h.reported = h.reported != "", nil, ""
	switch {
	case ev == watch.Restart:
		h.listing = map[kube.Key]error{}
	case ev == watch.Synced && h.listing != nil:
		h.bad, h.listing, h.more = h.listing, nil, len(h.listing) >= maxBad
	case len(h.bad) > 0:
		h.forget(key)
	}
	return over
}

func (h *Source) forget(key kube.Key) {
	delete(h.bad, key)
	delete(h.listing, key)
}

// Error joins the current errors.
func (h *Source) Error() error {
	var errs Joined
	if h.err != nil {
		errs = append(errs, h.err)
	}
	n := 0
	for _, err := range h.bad {
		if n++; n > 3 {
			errs = append(errs, fmt.Errorf("%d objects in all could not be decoded", len(h.bad)))
			break
		}
		errs = append(errs, err)
	}
	return errs.Err()
}

// Joined is errors.Join in one line.
type Joined []error

func (j Joined) Error() string {
	var texts []string
	for _, err := range j {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (j Joined) Unwrap() []error { return j }

// Err returns nil without errors, and a single error as it is.
func (j Joined) Err() error {
	switch len(j) {
	case 0:
		return nil
	case 1:
		return j[0]
	}
	return j
}
