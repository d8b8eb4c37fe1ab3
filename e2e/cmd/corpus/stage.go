package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// stage is a cluster that is watched and recorded, through a proxy.
type stage struct {
	cluster *cluster.Cluster
	proxy   *cluster.Proxy
	writer  *replay.Writer
	watched *client.Client // recorded, through the proxy
	admin   *client.Client // neither
	ctx     context.Context
	stop    context.CancelFunc // ends what runs
	running sync.WaitGroup
	follows []*follow
}

// follow is one recorded informer.
type follow struct {
	target   replay.Target
	informer *cache.Informer[codec.Raw]
	broken   atomic.Int64 // requests that ended
	open     atomic.Bool  // a watch is

	mu    sync.Mutex
	lines []string
}

func newStage(ctx context.Context, c *cluster.Cluster, path, origin string) (*stage, error) {
	s := &stage{cluster: c}
	var err error
	if s.admin, err = client.New(client.Config{Server: c.URL(), TLS: client.TLS{CAData: c.CAPEM()}, Token: c.Token()}); err != nil {
		return nil, err
	}
	version, err := call[struct{ GitVersion string }](ctx, s.admin, client.Request{Path: "/version"})
	if err != nil {
		return nil, err
	}
	if s.proxy, err = cluster.NewProxy(c.Addr()); err != nil {
		return nil, err
	}
	header := replay.Header{Tool: "listwatch e2e/cmd/corpus", Origin: origin, Cluster: replay.Cluster{GitVersion: version.GitVersion}}
	if s.writer, err = replay.Create(path, header, replay.Options{}); err != nil {
		s.proxy.Close()
		return nil, err
	}
	s.watched, err = client.New(client.Config{
		Server: s.proxy.URL(), TLS: client.TLS{CAData: c.CAPEM()}, Token: c.Token(), Wrap: s.writer.Transport,
	})
	s.ctx, s.stop = context.WithCancel(ctx)
	return s, err
}

// close ends everything in good order, and returns what the informers delivered.
func (s *stage) close() (deltas string, err error) {
	s.stop()
	s.running.Wait()
	s.watched.CloseIdleConnections()
	s.admin.CloseIdleConnections()
	s.proxy.Close()
	err = s.writer.Close()
	var b strings.Builder
	for _, f := range s.follows {
		t := f.target
		fmt.Fprintf(&b, "# %s%s\n", t.Resource, map[bool]string{true: " in namespace " + t.Namespace}[t.Namespace != ""])
		for _, line := range f.lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String(), err
}

// follow begins to follow a collection, by an informer whose events are recorded.
func (s *stage) follow(r kube.Resource, namespace string, o watch.Options) *follow {
	f := &follow{target: replay.Target{Resource: r, Namespace: namespace}}
	stream := s.writer.Stream(f.target)
	o.Backoff, o.BackoffMax = 200*time.Millisecond, time.Second
	before := o.Trace.Interrupted
	o.Trace.Interrupted = func(i watch.Interruption) {
		if before != nil {
			before(i)
		}
		f.broken.Add(1)
		f.open.Store(false)
	}
	o.Trace.Connected = func(watch.Op, kube.Revision, time.Duration) { f.open.Store(true) }
	o.Trace = stream.Trace(o.Trace)
	w := watch.New(client.Of[codec.Raw](s.watched, r).In(namespace), o)
	f.informer = cache.From(cache.Options[codec.Raw]{}, source(func(ctx context.Context) events {
		return func(yield func(watch.Event[codec.Raw], error) bool) {
			for ev, err := range replay.Record(stream, w.Events(ctx)) {
				f.mark(ev)
				if !yield(ev, err) {
					return
				}
			}
		}
	}))
	f.informer.Handle(f.take)
	s.follows = append(s.follows, f)
	s.running.Go(func() { f.informer.Run(s.ctx) }) // it ends with the stage
	return f
}

type events = iter.Seq2[watch.Event[codec.Raw], error]

// source is a function as a cache.Source.
type source func(context.Context) events

func (f source) Events(ctx context.Context) events { return f(ctx) }

// mark and take write down what happens, in the form that replay's tests know.
func (f *follow) mark(ev watch.Event[codec.Raw]) {
	line := string(ev.Type)
	var status *kube.Status
	switch {
	case ev.Type == watch.Synced:
		line += " " + string(ev.Revision)
	case ev.Type != watch.Restart:
		return
	case errors.As(ev.Cause, &status):
		line += fmt.Sprintf(" because of %d %s", status.Code, status.Reason)
	case ev.Cause != nil:
		line += " because of an error"
	}
	f.add(line)
}

func (f *follow) take(d cache.Delta[codec.Raw]) {
	line := fmt.Sprintf("%s %s %s", d.Type, d.Key, d.Revision)
	if d.Initial {
		line += " initial"
	}
	if d.Inferred {
		line += " inferred"
	}
	f.add(line)
}

func (f *follow) add(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, line)
}

// until waits for something that comes about by itself.
func (s *stage) until(what string, is func() (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := is()
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return errors.Join(fmt.Errorf("wait until %s: %w", what, context.Cause(s.ctx)), err)
		}
	}
}

// caughtUp waits until every informer has what the server has, and watches.
func (s *stage) caughtUp() error {
	for _, f := range s.follows {
		if err := s.until(f.target.Resource.String()+" is watched, and as on the server", func() (bool, error) {
			want, err := versions(s.ctx, s.admin, f.target)
			if err != nil {
				return false, err
			}
			got := map[string]string{}
			for key, o := range f.informer.Store().All() {
				got[key.String()] = o.GetResourceVersion()
			}
			if !maps.Equal(want, got) {
				return false, fmt.Errorf("server %v, informer %v", want, got)
			}
			return f.informer.Store().Synced() && f.open.Load(), nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// breaks waits until n more requests of f have ended.
func (s *stage) breaks(f *follow, n int64) error {
	want := f.broken.Load() + n
	return s.until(fmt.Sprintf("%d requests for %s have failed", n, f.target.Resource), func() (bool, error) {
		return f.broken.Load() >= want, nil
	})
}

// do goes through steps until one fails.
func do(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) mark(label string) func() error {
	return func() error { return s.writer.Mark(label) }
}

// write makes a write that is not recorded.
func (s *stage) write(method, path, body string) func() error {
	return func() error {
		contentType := "application/json"
		if method == "PATCH" {
			contentType = "application/merge-patch+json"
		}
		_, err := call[struct{}](s.ctx, s.admin, client.Request{Method: method, Path: path, Body: []byte(body), ContentType: contentType})
		if err != nil {
			err = fmt.Errorf("%s %s: %w", method, path, err)
		}
		return err
	}
}

// versions returns the versions of the objects that there are.
func versions(ctx context.Context, c *client.Client, t replay.Target) (map[string]string, error) {
	answer, err := call[struct {
		Items []struct {
			Metadata kube.Meta `json:"metadata"`
		} `json:"items"`
	}](ctx, c, client.Request{Path: t.Resource.Path(t.Namespace)})
	found := map[string]string{}
	for _, o := range answer.Items {
		found[kube.Key{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}.String()] = o.Metadata.ResourceVersion
	}
	return found, err
}

// call makes one request and decodes the answer.
func call[T any](ctx context.Context, c *client.Client, r client.Request) (T, error) {
	var v T
	resp, err := c.Do(ctx, &r)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	return v, err
}
