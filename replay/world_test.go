package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// network is a network in memory with one server on it.
type network struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (n *network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-n.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// serve serves h in memory until the test ends, and returns how to get there.
func serve(t *testing.T, h http.Handler) client.Config {
	t.Helper()
	n := &network{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(n)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-ended
	})
	return client.Config{Server: "http://memory.test", Dial: n.Dial, Timeout: 30 * time.Second}
}

func newClient(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// eventLog is what a loop over events received, in words and bytes.
type eventLog struct {
	timed bool // say when
	mu    sync.Mutex
	start time.Time
	lines []string
}

func newLog(timed bool) *eventLog { return &eventLog{timed: timed, start: time.Now()} }

// pause is the part of a text that a watcher chooses at random.
var pause = regexp.MustCompile(` in [0-9.]+m?s`)

func (l *eventLog) add(ev watch.Event[codec.RawFull], err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := ""
	if l.timed {
		line = time.Since(l.start).String() + " "
	}
	line += fmt.Sprintf("%s %s %s %s %s", ev.Type, ev.Key, ev.UID, ev.Revision, ev.Object.JSON())
	if ev.Cause != nil {
		line += " because " + ev.Cause.Error()
	}
	if err != nil {
		line += " error " + pause.ReplaceAllString(err.Error(), " later")
	}
	l.lines = append(l.lines, line)
}

func (l *eventLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

// watching runs a loop over events in the background; the result ends it.
func watching(ctx context.Context, l *eventLog, src interface {
	Events(context.Context) seq
}) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev, err := range src.Events(ctx) {
			if err == nil || ctx.Err() == nil {
				l.add(ev, err)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

type seq = iter.Seq2[watch.Event[codec.RawFull], error]

// pass lets virtual time go by, and settles.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// file is a recording in memory.
type file struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.b.Write(p)
}

func (f *file) bytes() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.Clone(f.b.Bytes())
}

func newWriter(t *testing.T, f io.Writer, o replay.Options) *replay.Writer {
	t.Helper()
	w, err := replay.NewWriter(f, replay.Header{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func load(t *testing.T, b []byte) *replay.Recording {
	t.Helper()
	rec, err := replay.Load(bytes.NewReader(b), 0)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func closed(t *testing.T, w *replay.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// proxied serves a recording proxy in front of srv.
func proxied(t *testing.T, w *replay.Writer, srv *apitest.Server) client.Config {
	t.Helper()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: srv.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return serve(t, w.Proxy(u, transport))
}

func configMap(name, value string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"d","name":%q,"managedFields":[{"manager":"m"}]},"data":{"v":%q,"<&":"ü\u2028"}}`, name, value)
}

func configMaps(c *client.Client) client.Collection[codec.RawFull] {
	return client.Of[codec.RawFull](c, kube.ConfigMaps)
}

// rerecord serves a recording proxy in front of the server that cfg leads to.
func rerecord(t *testing.T, w *replay.Writer, cfg client.Config) client.Config {
	t.Helper()
	u, err := url.Parse(cfg.Server)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: cfg.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return serve(t, w.Proxy(u, transport))
}
