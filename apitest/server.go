package apitest

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/backlog"
	"github.com/listwatch/listwatch/apitest/internal/certs"
	"github.com/listwatch/listwatch/apitest/internal/discovery"
	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/network"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/kube"
)

// Version is the Kubernetes version that the server says it has.
const Version = discovery.Version

// Options choose how a server runs. The zero value is plain HTTP on a free
// loopback port, open to everybody.
type Options struct {
	InMemory bool   // no sockets: clients come through Client or Dial
	Address  string // host:port to listen on; default "127.0.0.1:0"

	// Hosts are names that requests may have in their Host header, besides localhost,
	// loopback addresses, and IP addresses where Address is none of the loopback; "*" is
	// any. Requests for other hosts are refused, and so are those that web pages make:
	// a browser on this machine reaches the loopback too. In memory any host is taken.
	Hosts []string

	TLS         bool   // HTTPS with an own CA, and HTTP/2
	Token       string // if set, requests need this bearer token or a client certificate of ours
	ClientCerts bool   // ask for client certificates, and require one where Token is empty; implies TLS

	Resources        []ResourceInfo // besides those of package kube
	History          int            // events kept of each resource; default 10,000
	WatchBuffer      int            // events a watch may lag before it is closed without a word; default as History
	BookmarkInterval time.Duration  // between bookmarks; default 60 s, negative = only at deadline-2s and on demand
	Gone             Gone           // how Expire and too old watches look
	CompressWatch    bool           // gzip watches too, for clients that accept it
	Namespaces       bool           // namespaces must exist; deleting one deletes what is in it
	CollectGarbage   bool           // objects whose owners are gone are deleted after each deletion
	NoValidation     bool           // take built-in objects that a real server refuses, as those of tests often are
	NoManagedFields  bool           // do not keep track of who set which field, unless by an apply: writes are faster

	// ShardedListAndWatch is the feature gate of kube-apiserver, which is off by default
	// too: shardSelector selects objects by the hash of their UID or namespace, and is
	// ignored otherwise (KEP-5866).
	ShardedListAndWatch bool

	Seed uint64 // of UIDs, generated names and chosen timeouts; 0 is a seed like any other

	// State is what [Server.Save] has written: the server starts with these objects,
	// under the UIDs and revisions that they had. No UID and no revision is given out
	// that an earlier server of that state has given out, even if that was killed:
	// save the state in Prepare to make sure of it. A state that cannot be used is a
	// *StateError.
	State []byte

	// Prepare, if set, is called once before the first connection is served, such as
	// to Put objects. Its error ends the start, which returns it. It must not use Client.
	Prepare func(*Server) error
}

// Fixture is an object that a server starts with. Object is what [Server.Put]
// takes.
type Fixture struct {
	Resource kube.Resource
	Object   any
}

// TB is what the server uses of testing.TB.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Server is a running fake API server. All methods may be called from any
// goroutine.
type Server struct {
	URL string // base URL, without a slash at the end; where all addresses are listened on, that of the loopback

	options Options
	tb      TB // nil outside tests
	store   *store.Store
	door    *network.Listener
	http    *http.Server
	ids     *certs.Set // nil without TLS
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup // handlers and the accept loop
	client  *http.Client
	unread  *backlog.Backlog // of lists

	mu       sync.Mutex
	closed   bool // no handler may start
	ended    bool // none runs any more
	token    string
	gone     Gone
	faults   []*Fault
	hooks    []*hook   // replaced, never changed
	denials  []*denial // replaced, never changed
	journal  []*Request
	watching int           // watches that have been answered and have not ended
	changed  chan struct{} // closed and replaced when watching or the journal changes
}

// mostUnread is how many bytes the objects have in the lists that are being sent. A list
// for which there is no room waits.
const mostUnread = 64 << 20

// Start starts a server. The caller must Close it.
func Start(o Options) (*Server, error) { return start(nil, o) }

func start(t TB, o Options) (*Server, error) {
	o.Address = cmp.Or(o.Address, "127.0.0.1:0")
	o.TLS = o.TLS || o.ClientCerts
	o.History = cmp.Or(o.History, 10_000)
	o.WatchBuffer = cmp.Or(o.WatchBuffer, o.History)
	o.BookmarkInterval = cmp.Or(o.BookmarkInterval, time.Minute)
	d, err := network.Listen(o.InMemory, o.Address)
	if err != nil {
		return nil, fmt.Errorf("start apitest server: %w", err)
	}
	s := &Server{options: o, tb: t, store: store.New(store.Options{History: o.History, WatchBuffer: o.WatchBuffer, Seed: o.Seed, Namespaces: o.Namespaces, CollectGarbage: o.CollectGarbage}), door: d, token: o.Token, gone: o.Gone, unread: backlog.New(mostUnread), changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, r := range kinds.All() {
		s.store.Add(kinds.Complete(r))
	}
	for _, r := range o.Resources {
		s.AddResource(r)
	}
	if o.State != nil {
		if err := s.store.Load(o.State); err != nil {
			if wrong := (*store.StateError)(nil); errors.As(err, &wrong) {
				err = (*StateError)(wrong)
			}
			s.cancel()
			d.Close()
			return nil, fmt.Errorf("start apitest server: %w", err)
		}
		s.options.State = nil
	}
	s.http = guard.Server(s.ctx, http.HandlerFunc(s.ServeHTTP))
	if o.InMemory {
		s.http.IdleTimeout = 0 // no stranger gets in, and hours pass at once
	} else {
		s.http.Handler = guard.Handler(s.http.Handler, guard.Options{Bound: d.Addr().String(), Hosts: o.Hosts, Refuse: s.serve})
	}
	s.http.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		ctx = guard.ConnContext(ctx, c)
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		return context.WithValue(ctx, connKey{}, c)
	}
	scheme, host := "http", d.Host()
	if o.TLS {
		scheme = "https"
		ips, names := d.Reached()
		if s.ids, err = certs.New(o.ClientCerts, ips, names); err != nil {
			d.Close()
			return nil, fmt.Errorf("start apitest server: %w", err)
		}
		s.http.TLSConfig = s.ids.ServerConfig()
	}
	s.URL = scheme + "://" + host
	if o.Namespaces {
		s.addNamespaces()
	}
	s.client = s.newClient()
	if o.Prepare != nil {
		if err := o.Prepare(s); err != nil {
			s.cancel()
			d.Close()
			return nil, err
		}
	}
	s.running.Go(func() {
		if o.TLS {
			s.http.ServeTLS(d, "", "")
		} else {
			s.http.Serve(d)
		}
	})
	return s, nil
}

// New starts a server on loopback for one test; it is closed with the test.
func New(t TB, fixtures ...Fixture) *Server {
	t.Helper()
	return NewWith(t, Options{}, fixtures...)
}

// NewInMemory is New without sockets, for use inside a testing/synctest bubble.
func NewInMemory(t TB, fixtures ...Fixture) *Server {
	t.Helper()
	return NewWith(t, Options{InMemory: true}, fixtures...)
}

// NewWith is New with options.
func NewWith(t TB, o Options, fixtures ...Fixture) *Server {
	t.Helper()
	s, err := start(t, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(s.Close)
	for _, f := range fixtures {
		s.Put(f.Resource, f.Object)
	}
	return s
}

// Close ends all connections and returns when every handler has.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.http.Close()
	s.door.Close()
	s.door.Cut()
	s.Client().CloseIdleConnections()
	s.running.Wait()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
}

// enter counts a handler in running, unless the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Add(1)
	}
	return !s.closed
}

// Client returns the client, one for all callers, that reaches the server and
// is authorised; after RotateClient and RotateCA it is another one. It has no
// timeout of its own.
func (s *Server) Client() *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// Dial connects to the server whatever the address: for the DialContext of a
// Transport. In memory it is the only way in.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.options.InMemory {
		return s.door.DialMemory(ctx)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.door.Addr().String())
}

func (s *Server) newClient() *http.Client {
	transport := &http.Transport{DialContext: s.Dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16}
	if s.ids != nil {
		transport.TLSClientConfig = s.ids.ClientConfig(s.options.ClientCerts)
	}
	return &http.Client{Transport: &authorised{s, transport}}
}

// AddResource makes the server serve r, from now on: its history is empty. It
// is what creating a CustomResourceDefinition does. A resource that is served
// already, in whatever version, must be removed first. One of package kube, given
// without more, returns as it was.
func (s *Server) AddResource(r ResourceInfo) {
	if info := r.info(); !s.store.Add(kinds.Complete(info)) {
		s.fail("add %s: the server has such a resource", r)
	}
}

// RemoveResource deletes all objects of r, ends its watches and answers 404 from
// then on, as when a CustomResourceDefinition is deleted.
func (s *Server) RemoveResource(r kube.Resource) {
	s.store.Lock()
	defer s.store.Unlock()
	s.store.Drop(r)
}

// fail reports misuse of the server by its test or program.
func (s *Server) fail(format string, args ...any) {
	if s.tb == nil {
		panic(fmt.Sprintf("apitest: "+format, args...))
	}
	s.tb.Helper()
	s.tb.Fatalf("apitest: "+format, args...)
}

// locked calls f with the table of r.
func (s *Server) locked(r kube.Resource, f func(*store.Store, *store.Table)) {
	s.store.Lock()
	t := s.store.Table(r)
	if t != nil && t.Info.Core.Plural != "" {
		t = s.store.Table(t.Info.Core)
	}
	if t != nil {
		defer s.store.Unlock()
		f(s.store, t)
		return
	}
	s.store.Unlock()
	s.fail("the server has no resource %s", r)
}

// objectBytes returns obj, which is JSON or encodes to it.
func objectBytes(obj any) ([]byte, error) {
	switch v := obj.(type) {
	case []byte:
		return v, nil
	case string:
		return []byte(v), nil
	}
	return json.Marshal(obj)
}
