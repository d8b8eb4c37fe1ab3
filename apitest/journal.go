package apitest

import (
	"net/http"
	"net/url"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Request is a request in the journal.
type Request struct {
	Method      string
	Verb        string // list, watch, get, create, update, patch, delete, deletecollection; outside of resources the method in lower case
	Path        string
	Query       url.Values
	Resource    kube.Resource // zero outside of resources
	Key         kube.Key      // Name is empty for collections, Namespace too for all namespaces
	Subresource string
	Header      http.Header // Accept, Accept-Encoding, Content-Type and User-Agent only
	Authorised  bool        // an Authorization header was sent; its value is not kept
	Code        int         // status code of the response; 0 = none yet, or none at all
	Events      int         // events sent so far, bookmarks and ERROR included
	Start       time.Time
	End         time.Time // zero while it is in progress
}

// noted is a request with an estimate of its bytes.
type noted struct {
	Request
	size int
}

// Requests returns all requests since the start or the last ForgetRequests, in the order of
// arrival. The journal has 100,000 requests and 32 MiB at most, some 50,000 usual requests;
// then the older half is dropped. The caller owns the slice; Query and Header are shared
// and must not be modified.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.journal))
	for i, r := range s.journal {
		out[i] = r.Request
	}
	return out
}

// ForgetRequests empties the journal.
func (s *Server) ForgetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal, s.noted = nil, 0
}

// The limits of the journal, and what a request takes besides its texts.
const (
	mostRequests = 100_000
	mostJournal  = 32 << 20 // bytes
	bareRequest  = 500      // bytes
)

func (s *Server) record(x *Exchange) *noted {
	r := &noted{Request: Request{
		Method: x.r.Method, Verb: x.target.verb, Path: x.r.URL.Path, Query: x.r.URL.Query(),
		Resource: x.target.res, Key: x.target.key, Subresource: x.target.sub,
		Header: make(http.Header), Authorised: x.r.Header.Get("Authorization") != "", Start: time.Now(),
	}}
	r.size = bareRequest + len(x.r.URL.Path) + len(x.r.URL.RawQuery)
	for _, name := range []string{"Accept", "Accept-Encoding", "Content-Type", "User-Agent"} {
		if list := x.r.Header.Values(name); len(list) > 0 {
			r.Header[name] = list
			for _, v := range list {
				r.size += len(v)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = append(s.journal, r)
	s.noted += r.size
	if len(s.journal) > mostRequests || s.noted > mostJournal {
		n := 0
		for ; n < len(s.journal)-1 && (n < len(s.journal)/2 || s.noted > mostJournal/2); n++ {
			s.noted -= s.journal[n].size
		}
		s.journal = append([]*noted(nil), s.journal[n:]...)
	}
	return r
}

func (s *Server) recordCode(x *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.entry.Code = x.code
}

func (s *Server) recordFrames(x *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.entry.Events = x.frames
}

func (s *Server) recordEnd(x *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.entry.End = time.Now()
}
