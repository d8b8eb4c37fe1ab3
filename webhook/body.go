package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync"
)

// Limits in bytes. A review has the object and its former state, of 3 MiB each at most; a
// conversion the objects of a whole list.
const (
	maxAdmission  = 8 << 20
	maxConversion = 64 << 20
	maxTogether   = 256 << 20                   // bodies of all requests that are being answered
	firstPiece    = 16 << 10                    // of a body, before anything of it came
	maxSmall      = maxConnections * firstPiece // of maxTogether: bodies of one piece
	maxOver       = 2                           // addresses of which one body may exceed these limits
	maxDecoded    = 128 << 20                   // weights of the requests that functions have
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
	each    int64                   // what large bodies of one address may have
	kept    int64                   // of what is left: only for small bodies
	of      map[netip.Addr]int64    // what an address has
	over    map[netip.Addr]struct{} // addresses of which one request has more than it may, maxOver at most
	changed chan struct{}           // closed when there is more
}

func newBudget(n int64) *budget {
	return &budget{left: n, each: n, of: make(map[netip.Addr]int64), over: make(map[netip.Addr]struct{}), changed: make(chan struct{})}
}

// shared keeps bytes of b for small bodies, and gives one address at most half: like the
// connections of guard.Share, half of them are left to others, with a small body each.
func (b *budget) shared(kept int64) *budget {
	b.kept, b.each = kept, (b.left-kept)/2
	return b
}

// takes counts n bytes of an address, and reports whether there is room for them.
func (b *budget) takes(at netip.Addr, n int64, small bool) bool {
	left, most := b.left-b.kept, b.each
	if small {
		left, most = b.left, b.each+b.kept/2
	}
	if n > left || b.of[at]+n > most {
		return false
	}
	b.left -= n
	b.of[at] += n
	return true
}

// exceed reports whether a request of an address may have more than there is room for.
func (b *budget) exceed(at netip.Addr) bool {
	if _, other := b.over[at]; other || len(b.over) == maxOver {
		return false
	}
	b.over[at] = struct{}{}
	return true
}

// share is what one request has of a budget.
type share struct {
	of    *budget
	at    netip.Addr // of the client
	small bool       // the body, or what is read of it so far, is one piece
	n     int64
	over  bool // it has more than n, which the budget does not count
}

// take waits until there is room for n bytes. It returns false if ctx ends first. Requests that
// have a part of their bodies may wait for each other: one of them gets what it needs.
func (s *share) take(ctx context.Context, n int64) bool {
	b := s.of
	for {
		b.mu.Lock()
		fits := b.takes(s.at, n, s.small)
		if fits {
			s.n += n
		} else if s.n > 0 && !s.over {
			s.over = b.exceed(s.at)
		}
		changed := b.changed
		b.mu.Unlock()
		if fits || s.over {
			return true
		}
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
	if b.of[s.at] -= s.n; b.of[s.at] == 0 {
		delete(b.of, s.at)
	}
	if s.over {
		delete(b.over, s.at)
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
		s.small = size <= firstPiece && r.ContentLength <= firstPiece
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
