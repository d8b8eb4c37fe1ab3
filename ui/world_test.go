package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/rates"
)

// world is a fake apiserver with a UI of it, in virtual time.
type world struct {
	*testing.T
	srv    *apitest.Server
	ui     *UI
	ctx    context.Context // of what runs
	cancel context.CancelFunc
	wg     sync.WaitGroup
	client *client.Client
}

// inWorld runs a test in a bubble of virtual time.
func inWorld(t *testing.T, o Options, act func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, srv: apitest.NewWith(t, apitest.Options{InMemory: true, NoValidation: true})}
		var err error
		if w.client, err = client.New(client.Config{Server: w.srv.URL, Dial: w.srv.Dial}); err != nil {
			t.Fatal(err)
		}
		w.start(o)
		act(w)
		w.cancel()
		w.wg.Wait()
		w.client.CloseIdleConnections()
	})
}

// start runs a UI.
func (w *world) start(o Options) {
	w.Helper()
	o.Client = w.client
	var err error
	if w.ui, err = New(o); err != nil {
		w.Fatal(err)
	}
	w.ctx, w.cancel = context.WithCancel(w.Context())
	u := w.ui
	w.wg.Go(func() { _ = u.Run(w.ctx) }) // the end of the test is its error
	w.pass(time.Second)
}

// pass lets virtual time go by, and settles.
func (w *world) pass(d time.Duration) {
	w.Helper()
	<-time.After(d)
	synctest.Wait()
}

func (w *world) pod(name, phase string) {
	w.srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"labels":{"app":"web"}},"spec":{"containers":[{"name":"app","image":"web:1"}]},"status":{"phase":%q}}`, name, phase))
}

func (w *world) delete(name string) {
	w.srv.Delete(kube.Pods, kube.Key{Namespace: "shop", Name: name})
}

// page is a browser that was let in.
type page struct {
	*world
	cookie *http.Cookie
	key    string
}

func (w *world) open() *page {
	w.Helper()
	p := &page{world: w}
	rec := p.do("POST", "api/session", `{"token":"`+w.ui.Token()+`"}`)
	var out struct{ Key string }
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil || out.Key == "" {
		w.Fatalf("%d %s", rec.Code, rec.Body)
	}
	p.key, p.cookie = out.Key, rec.Result().Cookies()[0]
	return p
}

func (p *page) request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080/"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set(header, p.key)
	if p.cookie != nil {
		r.AddCookie(p.cookie)
	}
	return r
}

func (p *page) do(method, path, body string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	p.ui.ServeHTTP(rec, p.request(method, path, body))
	return rec
}

// get decodes the answer of a GET.
func (p *page) get(path string, into any) {
	p.Helper()
	rec := p.do("GET", path, "")
	if rec.Code != 200 {
		p.Fatalf("GET %s: %d %s", path, rec.Code, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
		p.Fatalf("GET %s: %v", path, err)
	}
}

func (p *page) post(path, body string) {
	p.Helper()
	if rec := p.do("POST", path, body); rec.Code != 200 {
		p.Fatalf("POST %s: %d %s", path, rec.Code, rec.Body)
	}
}

// tap reads a stream.
type tap struct {
	p      *page
	out    *pipe
	cancel context.CancelFunc
	done   chan struct{}
	slow   int // bytes that are read in a tenth of a second; 0 = all

	lastID string
	count  map[string]rates.Counts
	rows   map[string]map[int64]wireRow // of each window
	orders map[string][]int64
	seen   []event
}

type event struct {
	name, id string
	data     json.RawMessage
}

// pipe is the connection of a stream; who does not read it blocks who writes.
type pipe struct {
	h http.Header
	r *io.PipeReader
	w *io.PipeWriter
}

func (c *pipe) Header() http.Header         { return c.h }
func (c *pipe) WriteHeader(int)             {}
func (c *pipe) Write(b []byte) (int, error) { return c.w.Write(b) }
func (c *pipe) Flush()                      {}

// stream opens one, which is not read yet.
func (p *page) stream(client, lastID string) *tap {
	r, w := io.Pipe()
	t := &tap{p: p, out: &pipe{http.Header{}, r, w}, done: make(chan struct{}), count: map[string]rates.Counts{}, rows: map[string]map[int64]wireRow{}, orders: map[string][]int64{}}
	ctx, cancel := context.WithCancel(p.ctx)
	t.cancel = cancel
	req := p.request("GET", "api/stream?client="+client, "").WithContext(ctx)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	go func() {
		defer close(t.done)
		p.ui.ServeHTTP(t.out, req)
		w.Close()
	}()
	return t
}

// read takes what comes within a time, and then breaks the connection.
func (t *tap) read(d time.Duration) {
	t.p.Helper()
	var buf bytes.Buffer
	finished := make(chan struct{})
	time.AfterFunc(d, func() { t.cancel(); t.out.w.CloseWithError(io.ErrNoProgress) })
	go func() {
		defer close(finished)
		for n, err, b := 0, error(nil), make([]byte, 64<<10); err == nil; buf.Write(b[:n]) {
			if t.slow > 0 {
				<-time.After(100 * time.Millisecond)
				b = b[:t.slow]
			}
			n, err = t.out.r.Read(b)
		}
	}()
	<-finished
	<-t.done
	t.take(buf.Bytes())
}

// take applies events as a page does. A part of one at the end is not there.
func (t *tap) take(b []byte) {
	t.p.Helper()
	for {
		one, rest, ok := bytes.Cut(b, []byte("\n\n"))
		if !ok {
			return
		}
		b = rest
		var e event
		for line := range strings.SplitSeq(string(one), "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data = json.RawMessage(value)
			}
		}
		t.apply(e)
	}
}

func (t *tap) apply(e event) {
	t.p.Helper()
	if e.id != "" {
		t.lastID = e.id
	}
	t.seen = append(t.seen, e)
	var d struct {
		ID     string
		Totals map[string]rates.Counts
		Types  json.RawMessage
		Order  []int64
		Rows   []wireRow
		Set    []wireRow
	}
	if err := json.Unmarshal(e.data, &d); err != nil {
		t.p.Fatalf("%s: %v", e.data, err)
	}
	switch e.name {
	case "hello", "reset":
		if d.Totals != nil {
			t.count = d.Totals
		}
	case "counts":
		var types map[string]rates.Counts
		if err := json.Unmarshal(d.Types, &types); err != nil {
			t.p.Fatal(err)
		}
		for id, c := range types {
			sum := t.count[id]
			for i, n := range c {
				sum[i] += n
			}
			t.count[id] = sum
		}
	case "window":
		t.rows[d.ID], t.orders[d.ID] = map[int64]wireRow{}, d.Order
		for _, r := range d.Rows {
			t.rows[d.ID][r.N] = r
		}
	case "rows":
		for _, r := range d.Set {
			t.rows[d.ID][r.N] = r
		}
		if d.Order != nil {
			t.orders[d.ID] = d.Order
		}
	}
}

// names are the rows of a window, with the cell of a column.
func (t *tap) names(window string, column int) []string {
	list := []string{}
	for _, n := range t.orders[window] {
		r, ok := t.rows[window][n]
		if !ok {
			t.p.Fatalf("row %d was never sent", n)
		}
		s := r.Name
		if column >= 0 {
			s += " " + r.Cells[column]
		}
		if r.Gone > 0 {
			s += " gone"
		}
		list = append(list, s)
	}
	return list
}
