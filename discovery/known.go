package discovery

import "errors"

// Known holds the latest responses of a server in the aggregated form. The zero value
// holds none. It is not safe for concurrent use while Fetch changes it. A program may
// store it in a file.
type Known struct {
	Core   Document // of /api
	Groups Document // of /apis
}

// Document is one response of a server. A Document without an ETag counts as missing.
type Document struct {
	ETag        string
	ContentType string
	Body        []byte // at most 16 MiB
}

// ErrNotKnown is the error of [Known.API] without both documents: the server has not been
// asked, or has no aggregated form with ETags.
var ErrNotKnown = errors.New("discover the API: there are no earlier responses in the aggregated form")

// API returns the resources in k, which may be outdated, without a request. It fails
// with [ErrNotKnown], or if a document is damaged.
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
