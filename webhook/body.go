package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Limits in bytes. A review has the object and its former state, of 3 MiB each at most; a
// conversion the objects of a whole list.
const (
	maxAdmission  = 8 << 20
	maxConversion = 64 << 20
	maxTogether   = 256 << 20 // bodies of all requests that are being answered
	firstPiece    = 16 << 10  // of a body, before anything of it came
	maxDecoded    = 128 << 20 // weights of the requests that functions have
)

// weight estimates the memory that the values of a body take once it is decoded, several times for
// a Mutate. A single one leaves room for small ones.
func weight(body []byte) int64 {
	values := bytes.Count(body, []byte(",")) + bytes.Count(body, []byte("{")) + bytes.Count(body, []byte("["))
	return min(int64(len(body)+64*values), maxDecoded*3/4)
}

var errCrowded = errors.New("too many large requests at a time")

// budget limits the bytes of all bodies. A body counts as far as it came, twice that at
// most: whoever only says that a body is large takes nothing from others.
type budget struct {
	mu      sync.Mutex
	left    int64
	over    bool          // one request has more than was left
	changed chan struct{} // closed when there is more
}

func newBudget(n int64) *budget { return &budget{left: n, changed: make(chan struct{})} }

// share is what one request has of a budget.
type share struct {
	of   *budget
	n    int64
	over bool
}

// take waits until n bytes are left. It returns false if ctx ends first. Requests that
// have a part of their bodies may wait for each other: one of them gets what it needs.
func (s *share) take(ctx context.Context, n int64) bool {
	b := s.of
	for {
		b.mu.Lock()
		if n > b.left && s.n > 0 && !b.over {
			b.over, s.over = true, true
		}
		if n <= b.left || s.over {
			b.left -= n
			s.n += n
			b.mu.Unlock()
			return true
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// release gives all back.
func (s *share) release() {
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += s.n
	if s.over {
		b.over = false
	}
	s.n, s.over = 0, false
	close(b.changed)
	b.changed = make(chan struct{})
}

// read returns the body of r, in a buffer that grows as it comes.
func (s *share) read(ctx context.Context, r *http.Request, limit int) ([]byte, error) {
	most := int64(limit) + 1 // where the length is not known, one byte more tells that it is too long
	if r.ContentLength >= 0 {
		most = r.ContentLength // which is no more than limit
	}
	var body []byte
	for size := int64(firstPiece); ; size *= 2 {
		size = min(size, most)
		if !s.take(ctx, size-int64(len(body))) {
			return nil, errCrowded
		}
		grown := make([]byte, len(body), size)
		copy(grown, body)
		body = grown
		var err error
		for err == nil && len(body) < cap(body) {
			var n int
			n, err = r.Body.Read(body[len(body):cap(body)])
			body = body[:len(body)+n]
		}
		switch {
		case len(body) > limit:
			return nil, fmt.Errorf("the body is larger than %d bytes", limit)
		case int64(len(body)) == r.ContentLength, r.ContentLength < 0 && err == io.EOF:
			return body, nil
		case err != nil:
			return nil, errors.New("the body ends early")
		}
	}
}
