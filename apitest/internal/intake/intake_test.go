package intake_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/intake"
)

const limit = 3 << 20

// client is a body that comes from another goroutine; a deadline ends its reads.
type client struct {
	http.ResponseWriter
	*io.PipeReader
	to *io.PipeWriter
}

func newClient() *client {
	r, w := io.Pipe()
	return &client{httptest.NewRecorder(), r, w}
}

func (c *client) SetReadDeadline(at time.Time) error {
	if left := time.Until(at); left > 0 {
		time.AfterFunc(left, func() { c.CloseWithError(io.ErrNoProgress) })
		return nil
	}
	return c.CloseWithError(io.ErrNoProgress)
}

// receive reads the body of a client, and returns its length and the code of its Status.
func receive(t *testing.T, b *intake.Budget, c *client, says int64, from io.Reader) (n, code int) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", from)
	r.ContentLength = says
	var s intake.Share
	defer s.Release()
	body, st := s.Read(b, c, r, limit)
	if st != nil {
		return 0, st.Code
	}
	return len(body), 0
}

// TestBodiesWithoutEndGiveWay: many of them take no more than the budget. Others do
// not wait for them for long, and small ones not at all.
func TestBodiesWithoutEndGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, attackers = 8 << 20, 40
		b := intake.New(most)
		var gone atomic.Int64
		var clients []*client
		var all sync.WaitGroup
		for range attackers {
			c := newClient()
			clients = append(clients, c)
			all.Go(func() {
				defer c.CloseWithError(io.ErrUnexpectedEOF)
				_, code := receive(t, b, c, limit, c)
				if code == http.StatusTooManyRequests && c.Header().Get("Connection") == "close" {
					gone.Add(1)
				}
			})
			go c.to.Write(make([]byte, limit-1000))
		}
		synctest.Wait()
		began := time.Now()
		small := newClient()
		go func() { small.to.Write(make([]byte, intake.Free)); small.to.Close() }()
		if n, code := receive(t, b, small, intake.Free, small); n != intake.Free || time.Since(began) > 0 {
			t.Errorf("a small body waits %v: %d bytes, HTTP %d", time.Since(began), n, code)
		}
		for _, says := range []int64{limit, -1} {
			c := newClient()
			go func() { c.to.Write(make([]byte, limit)); c.to.Close() }()
			if n, code := receive(t, b, c, says, c); n != limit {
				t.Errorf("a whole body: %d bytes, HTTP %d", n, code)
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("whole bodies wait %v", took)
		}
		if left := b.Least(); left < 0 || left > limit {
			t.Errorf("of the budget %d bytes were always left", left)
		}
		if gone.Load() < attackers/2 {
			t.Errorf("%d of %d bodies without an end gave way", gone.Load(), attackers)
		}
		for _, c := range clients {
			c.CloseWithError(io.ErrUnexpectedEOF)
		}
		all.Wait()
	})
}

// TestBodiesThatAreUsedCount: those that have come do not give way. Whoever waits for them
// too long, or leaves, gets nothing; a release makes room at once.
func TestBodiesThatAreUsedCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := intake.New(limit + 1000)
		use := make(chan bool)
		var all sync.WaitGroup
		all.Go(func() {
			var s intake.Share
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(make([]byte, limit)))
			if body, st := s.Read(b, httptest.NewRecorder(), r, limit); st != nil || len(body) != limit {
				t.Errorf("%d bytes, %v", len(body), st)
			}
			<-use
			s.Release()
		})
		synctest.Wait()
		began := time.Now()
		c := newClient()
		go c.to.Write(make([]byte, intake.Free+1))
		if n, code := receive(t, b, c, limit, c); code != http.StatusTooManyRequests || time.Since(began) != intake.Patience+intake.Prompt {
			t.Errorf("after %v: %d bytes, HTTP %d", time.Since(began), n, code)
		}
		c.CloseWithError(io.ErrUnexpectedEOF)
		use <- true
		all.Wait()
		began = time.Now()
		c = newClient()
		go func() { c.to.Write(make([]byte, limit)); c.to.Close() }()
		if n, code := receive(t, b, c, limit, c); n != limit || time.Since(began) > 0 {
			t.Errorf("after %v: %d bytes, HTTP %d", time.Since(began), n, code)
		}
	})
}

// TestBuffersGrowAsBytesCome: whoever only says that a body comes takes hardly any memory.
func TestBuffersGrowAsBytesCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := intake.New(8 << 20)
		var clients []*reads
		for _, says := range []int64{intake.Free, limit, -1} {
			c := &reads{client: newClient()}
			clients = append(clients, c)
			go receive(t, b, c.client, says, c)
		}
		synctest.Wait()
		for i, c := range clients {
			if c.most > 1<<10 {
				t.Errorf("%d: a buffer has %d bytes before one came", i, c.most)
			}
			c.to.Write(make([]byte, 600))
			synctest.Wait()
			if c.most > 4<<10 {
				t.Errorf("%d: a buffer has room for %d bytes after 600", i, c.most)
			}
			c.CloseWithError(io.ErrUnexpectedEOF)
		}
	})
}

// reads notes the largest read of a body.
type reads struct {
	*client
	most int
}

func (r *reads) Read(b []byte) (int, error) {
	r.most = max(r.most, len(b))
	return r.PipeReader.Read(b)
}

// TestManyAwaitedBodies: of those that do not come the oldest gives way, after a second, and one
// that comes at once is not hurt.
func TestManyAwaitedBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const more = 10
		b := intake.New(8 << 20)
		var mu sync.Mutex
		gone := make(map[int]time.Duration)
		var all sync.WaitGroup
		var clients []*client
		began := time.Now()
		for i := range intake.Awaited + more {
			if i == 5 {
				time.Sleep(time.Second / 2)
			}
			c := newClient()
			clients = append(clients, c)
			all.Go(func() {
				if _, code := receive(t, b, c, 100, c); code == http.StatusTooManyRequests {
					mu.Lock()
					gone[i] = time.Since(began)
					mu.Unlock()
				}
				c.CloseWithError(io.ErrUnexpectedEOF)
			})
			synctest.Wait()
		}
		quick := newClient()
		go func() { quick.to.Write(make([]byte, 100)); quick.to.Close() }()
		if n, code := receive(t, b, quick, 100, quick); n != 100 || time.Since(began) != time.Second/2 {
			t.Errorf("a body that comes at once: %d bytes, HTTP %d after %v", n, code, time.Since(began))
		}
		time.Sleep(time.Minute)
		want := make(map[int]time.Duration)
		for i := range more {
			want[i] = intake.Prompt
			if i >= 5 {
				want[i] += time.Second / 2
			}
		}
		mu.Lock()
		if diff := cmp.Diff(want, gone); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		mu.Unlock()
		for _, c := range clients {
			c.CloseWithError(io.ErrUnexpectedEOF)
		}
		all.Wait()
	})
}

// TestABodyThatWaitedTooLongIsRead, so that its client, which sends all first, sees the answer. A
// client that does not send on is not waited for.
func TestABodyThatWaitedTooLongIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := intake.New(limit + 100)
		holder := newClient()
		go func() { holder.to.Write(make([]byte, limit)); holder.to.Close() }()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", holder)
		r.ContentLength = limit
		var s intake.Share
		if _, st := s.Read(b, holder, r, limit); st != nil {
			t.Fatal(st)
		}
		for _, sends := range []int{limit, limit - 1000} {
			c, began, sent := newClient(), time.Now(), make(chan error, 1)
			go func() {
				_, err := c.to.Write(make([]byte, sends))
				if sent <- err; sends == limit {
					c.to.Close()
				}
			}()
			_, code := receive(t, b, c, limit, c)
			want := intake.Patience
			if sends < limit {
				want += intake.Prompt
			}
			if err := <-sent; code != http.StatusTooManyRequests || time.Since(began) != want || err != nil {
				t.Errorf("a client that sends %d of %d bytes: HTTP %d after %v, its error is %v", sends, limit, code, time.Since(began), err)
			}
		}
		s.Release()
	})
}

// TestBodiesAreRefused: a body that is too large, and one that breaks off.
func TestBodiesAreRefused(t *testing.T) {
	b := intake.New(8 << 20)
	for _, says := range []int64{limit + 1, -1} {
		c := newClient()
		go func() { c.to.Write(make([]byte, limit+1)); c.to.Close() }()
		if n, code := receive(t, b, c, says, c); code != http.StatusRequestEntityTooLarge {
			t.Errorf("a body above the limit: %d bytes, HTTP %d", n, code)
		}
	}
	c := newClient()
	go func() { c.to.Write(make([]byte, 100)); c.to.CloseWithError(io.ErrUnexpectedEOF) }()
	if n, code := receive(t, b, c, 1000, c); code != http.StatusBadRequest {
		t.Errorf("a body that breaks off: %d bytes, HTTP %d", n, code)
	}
}
