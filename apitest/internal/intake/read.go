package intake

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// Read returns the body of r, of which s is the share from then on, until Release. The
// Status of one that gives way to others has a Retry-After.
func (s *Share) Read(of *Budget, w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *kube.Status) {
	if s.of == nil { // otherwise a handler reads again
		control := http.NewResponseController(w)
		of.mu.Lock()
		of.came++
		s.of, s.number = of, of.came
		of.mu.Unlock()
		s.cut = func() { _ = control.SetReadDeadline(time.Unix(1, 0)) } // fails for a writer without a connection only
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	var b []byte
	var err error
	if r.ContentLength > limit {
		_, err = io.Copy(io.Discard, body) // whoever sends all first is told so
	} else {
		came := of.await(s)
		b, err = s.pieces(body, r, limit)
		came()
	}
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(err, &tooLarge):
		return nil, wire.EntityTooLarge(limit)
	case err == ErrCrowded:
		s.drain(w, body)
		w.Header().Set("Connection", "close")
		return nil, wire.Throttled(1)
	case err != nil:
		return nil, wire.BadRequest("read the body: %v", err)
	}
	return b, nil
}

// drain reads what is left of a body that waited too long: a client that is sending does not see
// an answer. A client that gave way, because it sends slowly, is not waited for.
func (s *Share) drain(w http.ResponseWriter, body io.Reader) {
	s.of.mu.Lock()
	gone := s.gone
	s.of.mu.Unlock()
	if !gone && http.NewResponseController(w).SetReadDeadline(time.Now().Add(Prompt)) == nil {
		_, _ = io.Copy(io.Discard, body) // its answer is the same if that fails
	}
}

// pieces reads body into a buffer that grows as it comes.
func (s *Share) pieces(body io.Reader, r *http.Request, limit int64) (b []byte, err error) {
	most, size := limit+1, int64(512) // one byte more has the end
	if r.ContentLength > 0 {
		most = r.ContentLength + 1
	}
	for size = min(size, most); err == nil; size = min(size*grows, most) {
		if size > Free+1 && s.n == 0 {
			if err := s.take(most, r.Context().Done()); err != nil {
				return nil, err
			}
		}
		b = append(make([]byte, 0, size), b...)
		for err == nil && int64(len(b)) < size {
			if !s.reads() {
				return nil, ErrCrowded
			}
			var n int
			n, err = body.Read(b[len(b):size])
			b = b[:len(b)+n]
			s.read(n)
		}
		if size == most && err == nil {
			_, err = io.Copy(io.Discard, body) // a body that is longer than it says
			break
		}
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	switch {
	case s.gone && err != io.EOF:
		return nil, ErrCrowded
	case err == io.EOF:
		err = nil
	}
	return b, err
}
