package intake

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

const (
	// Tiny and Light are up to how many bytes of JSON a request takes its turn among tiny and
	// light ones. Defaults and conversions may make more of it, so there are never more than
	// AtATime.
	Tiny    = 1 << 10
	Light   = 64 << 10
	AtATime = 32

	converted = 4 // bytes that one byte of YAML, of an apply or of protobuf counts as
)

// Turns limits the JSON that is decoded at a time: decoded, it takes a hundred times its
// bytes. Tiny, light and heavy requests do not wait for each other, nor do the large answers
// of webhooks. NewTurns returns one.
type Turns struct{ tiny, light, heavy, answers class }

// class is that of the requests that wait for each other.
type class struct {
	rank    int // of smaller requests it is lower
	mu      sync.Mutex
	most    int64
	left    int64
	least   int64   // that was left
	waiting []*Turn // in the order in which they came
}

// NewTurns returns Turns of that many bytes together for heavy requests, as many for the
// answers of webhooks, and AtATime tiny and light ones. A request with more has all of them.
func NewTurns(n int64) *Turns {
	of := func(rank int, n int64) class { return class{rank: rank, most: n, left: n, least: n} }
	return &Turns{of(0, AtATime), of(1, AtATime*Light), of(2, n), of(3, n)}
}

// Least returns the least that was ever left of tiny, light and heavy requests.
func (t *Turns) Least() (tiny, light, heavy int64) {
	return t.tiny.lowest(), t.light.lowest(), t.heavy.lowest()
}

func (c *class) lowest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.least
}

// Turn is that of one request, or of an answer. The zero value has nothing.
type Turn struct {
	of     *class
	body   int64 // of the request
	weight int64 // of the body of a light request
	n      int64 // bytes that it has
	want   int64 // that it waits for
	ready  chan struct{}
}

// Weigh notes the body of the request, which has that media type. A short one may stand for
// much JSON.
func (t *Turn) Weigh(typ string, body []byte) {
	t.body = int64(len(body))
	times := int64(1)
	switch typ {
	case protojson.MediaType:
		times = converted
		j, _, _, err := protojson.Decode(body[:min(len(body), Light+1)], Light)
		if t.body = max(t.body, int64(len(j))); errors.Is(err, protojson.ErrLimit) || t.body > Light {
			t.body = wire.BodyLimit
		}
	case wire.TypeJSONPatch:
		if copies(body) {
			t.body = wire.BodyLimit
		}
	case wire.TypeYAML, wire.TypeApply:
		times = converted
		if b := bytes.TrimSpace(body); len(b) > 0 && b[0] != '{' && bytes.ContainsRune(b, '&') && bytes.ContainsRune(b, '*') {
			t.body = wire.BodyLimit // it may have aliases
		}
	}
	t.weight = t.body * times
}

// copies reports whether a JSON patch may have a copy, which copies what was copied.
func copies(patch []byte) bool {
	return bytes.Contains(patch, []byte("copy")) || bytes.Contains(patch, []byte(`\u`))
}

// TakePatch is Take for the JSON patch of an object with that many bytes.
func (t *Turn) TakePatch(of *Turns, ctx context.Context, stored int, patch []byte) *kube.Status {
	if stored += len(patch); copies(patch) {
		stored = wire.BodyLimit
	}
	return t.Take(of, ctx, stored)
}

// Take waits for the turn of a request that decodes its body and that many bytes of stored
// objects. Whoever has a turn that is too small waits for no larger one. The Status of one
// that waited too long has a Retry-After.
func (t *Turn) Take(of *Turns, ctx context.Context, stored int) *kube.Status {
	switch n := t.body + int64(stored); {
	case n == 0:
		return nil
	case n <= Tiny:
		return t.from(&of.tiny, ctx, 1)
	case n <= Light:
		return t.from(&of.light, ctx, max(t.weight+int64(stored), Light))
	default:
		return t.from(&of.heavy, ctx, n)
	}
}

// TakeAnswer waits for the turn of the large answer of a webhook.
func (t *Turn) TakeAnswer(of *Turns, ctx context.Context) *kube.Status {
	return t.from(&of.answers, ctx, wire.BodyLimit)
}

// from waits for n bytes of a class.
func (t *Turn) from(of *class, ctx context.Context, n int64) *kube.Status {
	if t.n > 0 && t.of.rank > of.rank {
		return nil
	}
	if t.n > 0 && t.of != of {
		t.Yield()
	}
	of.mu.Lock()
	n = min(n, of.most) - t.n
	switch {
	case n <= 0:
		of.mu.Unlock()
		return nil
	case len(of.waiting) == 0 && of.grant(t, n):
		of.mu.Unlock()
		return nil
	case t.n > 0:
		of.mu.Unlock()
		return wire.Throttled(1)
	}
	t.of, t.want, t.ready = of, n, make(chan struct{})
	of.waiting = append(of.waiting, t)
	of.mu.Unlock()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-t.ready:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	if t.n > 0 { // just now
		return nil
	}
	of.waiting = slices.DeleteFunc(of.waiting, func(w *Turn) bool { return w == t })
	of.serve() // it may have been the first
	return wire.Throttled(1)
}

// grant gives t n bytes if they are left. The caller holds mu.
func (c *class) grant(to *Turn, n int64) bool {
	if n > c.left {
		return false
	}
	c.left -= n
	c.least = min(c.least, c.left)
	to.of = c
	to.n += n
	return true
}

// serve gives those who wait their turns. The caller holds mu.
func (c *class) serve() {
	for len(c.waiting) > 0 && c.grant(c.waiting[0], c.waiting[0].want) {
		close(c.waiting[0].ready)
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
}

// Release ends the turn: what was decoded is not used any more.
func (t *Turn) Release() {
	t.Yield()
	t.body, t.weight = 0, 0
}

// Yield lets others have the turn while the request waits for something else. The next Take
// takes a new one.
func (t *Turn) Yield() {
	if t.n == 0 {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.left += t.n
	t.n = 0
	t.of.serve()
}
