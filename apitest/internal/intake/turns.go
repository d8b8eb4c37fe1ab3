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
	// Light is up to how many bytes of JSON a request takes its turn among the light ones.
	Light = 64 << 10

	// Tiny is up to how many bytes a request needs no turn.
	Tiny = 1 << 10

	mostLight = 2 << 20 // bytes of the light ones together
	converted = 4       // bytes that one byte of YAML, of an apply or of protobuf counts as
)

// Turns limits the JSON that is decoded at a time: decoded, it takes a hundred times its
// bytes. Requests with up to Light bytes have turns of their own: neither they nor others
// wait for each other. NewTurns returns one.
type Turns struct {
	light   *Turns // nil = these are
	mu      sync.Mutex
	most    int64
	left    int64
	least   int64   // that was left
	waiting []*Turn // in the order in which they came
}

// NewTurns returns Turns of that many bytes together, besides those of light requests. A
// request with more has all of them.
func NewTurns(n int64) *Turns {
	return &Turns{most: n, left: n, least: n, light: &Turns{most: mostLight, left: mostLight, least: mostLight}}
}

// Light returns the turns of light requests.
func (t *Turns) Light() *Turns { return t.light }

// Least returns the least that was ever left.
func (t *Turns) Least() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.least
}

// Turn is that of one request. The zero value has nothing.
type Turn struct {
	of     *Turns
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

// Swell notes that the body may stand for more than most light ones do.
func (t *Turn) Swell() { t.weight = max(t.weight, Light) }

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
	n := t.body + int64(stored)
	switch {
	case max(n, t.weight) <= Tiny || n <= Light && t.n > 0 && t.of == of:
		return nil
	case n <= Light:
		of, n = of.light, t.weight+int64(stored)
	case t.n > 0 && t.of == of.light:
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
func (t *Turns) grant(to *Turn, n int64) bool {
	if n > t.left {
		return false
	}
	t.left -= n
	t.least = min(t.least, t.left)
	to.of = t
	to.n += n
	return true
}

// serve gives those who wait their turns. The caller holds mu.
func (t *Turns) serve() {
	for len(t.waiting) > 0 && t.grant(t.waiting[0], t.waiting[0].want) {
		close(t.waiting[0].ready)
		t.waiting = slices.Delete(t.waiting, 0, 1)
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
