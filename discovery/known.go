package discovery

import "errors"

// Known is what a server has described before, in the aggregated form. The zero value is
// nothing. It is not for concurrent use; one that is not changed any more may be read and
// written to a file.
type Known struct {
	Core   Document // of /api
	Groups Document // of /apis
}

// Document is one response of a server. A document without an ETag is none.
type Document struct {
	ETag        string
	ContentType string
	Body        []byte // at most 16 MiB
}

// ErrNotKnown is the error of [Known.API] without both documents: the server has not been
// asked, or has no aggregated form with ETags.
var ErrNotKnown = errors.New("discover the API: there are no earlier responses in the aggregated form")

// API returns what k describes, without a request: it may be outdated. It fails with
// [ErrNotKnown], or where a document is damaged.
func (k *Known) API() (*API, error) {
	f := &fetcher{resources: maxResources}
	var pages []page
	for _, d := range []struct {
		path string
		Document
	}{{"/api", k.Core}, {"/apis", k.Groups}} {
		if d.ETag == "" || !isAggregated(d.ContentType) || len(d.Body) > maxRoot {
			return nil, ErrNotKnown
		}
		p, err := f.parse(d.path, d.Document)
		if err != nil {
			return nil, &FetchError{err}
		}
		pages = append(pages, p)
	}
	return newAPI(pages...), nil
}
