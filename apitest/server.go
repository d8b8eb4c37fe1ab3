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
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/backlog"
	"github.com/listwatch/listwatch/apitest/internal/certs"
	"github.com/listwatch/listwatch/apitest/internal/discovery"
	"github.com/listwatch/listwatch/apitest/internal/intake"
	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/kubelet"
	"github.com/listwatch/listwatch/apitest/internal/network"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/kube"
)

// Version is the Kubernetes version that the server reports.
const Version = discovery.Version

// Options of a server. The zero value is plain HTTP on a free loopback port, without
// authentication.
type Options struct {
	InMemory bool   // no sockets: clients connect through Client or Dial
	Address  string // host:port to listen on; default "127.0.0.1:0"

	// Hosts are the names that requests may have in their Host header, besides
	// localhost, loopback addresses, and IP addresses if Address is not a loopback
	// address; "*" = any. Requests for other hosts are refused, and so are those of web
	// pages, because a browser on this machine reaches the loopback too. In memory any
	// host is accepted.
	Hosts []string

	TLS         bool   // HTTPS with an own CA, and HTTP/2
	Token       string // if set, requests need this bearer token or a client certificate of the server's CA
	ClientCerts bool   // request client certificates, and require one if Token is empty; implies TLS

	Resources        []ResourceInfo // besides those of package kube
	History          int            // events kept of each resource; default 10,000
	HistoryBytes     int            // bytes of past states kept, of all resources; default 32 MiB; the oldest are forgotten first: 410 below them
	WatchBuffer      int            // events that a watch may lag before it is closed; default as History
	BookmarkInterval time.Duration  // interval of bookmarks; default 60 s, negative = only 2 s before the deadline and on demand
	Gone             Gone           // how Expire and too old revisions are reported
	CompressWatch    bool           // gzip watches too, if the client accepts it
	Namespaces       bool           // namespaces must exist; deleting one deletes its objects
	CollectGarbage   bool           // objects without existing owners are deleted: see Server.CollectGarbage
	NoValidation     bool           // accept built-in objects that a real server refuses, such as abbreviated ones in tests
	AgesAt           time.Time      // the moment to which the ages in Tables count; default that of the response
	NoManagedFields  bool           // do not track who set which field, except for an apply: writes are faster

	// ShardedListAndWatch is the feature gate of kube-apiserver, which is off by
	// default too: if it is on, shardSelector selects objects by the hash of their UID or
	// namespace; if off, it is ignored (KEP-5866).
	ShardedListAndWatch bool

	Revision uint64 // to begin with; default 100

	Seed uint64 // of UIDs, generated names and chosen timeouts; 0 is a valid seed

	// State is the output of [Server.Save]: the server starts with these objects, with
	// their UIDs and revisions. It assigns no UID or revision that an earlier server with that
	// state has assigned, even one that was killed, provided that each saves its state in Prepare.
	// A state that cannot be used is a *StateError.
	State []byte

	// Prepare, if set, is called once before the first connection is served, for
	// instance to Put objects. If it fails, the start fails with its error. It must not
	// use Client.
	Prepare func(*Server) error
}

// Fixture is an object that a server starts with. Object is as for [Server.Put].
type Fixture struct {
	Resource kube.Resource
	Object   any
}

// TB is the part of testing.TB that the server uses.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Server is a running fake API server. It is safe for concurrent use.
type Server struct {
	URL string // base URL, without a final slash; a loopback address if the server listens on all addresses

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
	unread  *backlog.Backlog // of responses
	serving atomic.Int64     // requests that are no watches
	bodies  *intake.Budget   // that are being read, or used
	turns   *intake.Turns    // of requests that decode much
	frames  view.Frames      // of watches
	logs    kubelet.Logs

	documents discovery.Documents

	mu       sync.Mutex
	closed   bool // no handler may start
	ended    bool // all handlers have ended
	token    string
	gone     Gone
	faults   []*Fault
	hooks    []*hook   // replaced, never changed
	denials  []*denial // replaced, never changed
	journal  []*noted
	noted    int           // bytes of the journal
	watching int           // open watches
	changed  chan struct{} // closed and replaced when watching or the journal changes
}

// Limits in bytes: of responses that are being sent, of bodies, and of JSON that is decoded;
// further ones wait. And of requests that are no watches; further ones are refused.
const mostUnread, mostBodies, mostDecoded, mostServed = 40 << 20, 64 << 20, 4 << 20, 6000

// Start starts a server. The caller must Close it.
func Start(o Options) (*Server, error) { return start(nil, o) }

func start(t TB, o Options) (*Server, error) {
	o.Address = cmp.Or(o.Address, "127.0.0.1:0")
	o.TLS = o.TLS || o.ClientCerts
	o.Revision = cmp.Or(o.Revision, 100) // a real server does not start at 1 either
	o.History = cmp.Or(o.History, 10_000)
	o.HistoryBytes = cmp.Or(o.HistoryBytes, 32<<20)
	o.WatchBuffer = cmp.Or(o.WatchBuffer, o.History)
	o.BookmarkInterval = cmp.Or(o.BookmarkInterval, time.Minute)
	d, err := network.Listen(o.InMemory, o.Address)
	if err != nil {
		return nil, fmt.Errorf("start apitest server: %w", err)
	}
	s := &Server{options: o, tb: t, store: store.New(store.Options{Revision: o.Revision, History: o.History, HistoryBytes: o.HistoryBytes, WatchBuffer: o.WatchBuffer, Seed: o.Seed, Namespaces: o.Namespaces, CollectGarbage: o.CollectGarbage}), door: d, token: o.Token, gone: o.Gone, unread: backlog.New(mostUnread), bodies: intake.New(mostBodies), turns: intake.NewTurns(mostDecoded), changed: make(chan struct{})}
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
	s.http.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxConcurrentStreams: 100} // bodies that wait, as kube-apiserver
	if o.InMemory {
		s.http.IdleTimeout = 0 // connections are trusted, and hours pass at once
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

// New starts a server on the loopback for one test, which closes it at its end.
func New(t TB, fixtures ...Fixture) *Server {
	t.Helper()
	return NewWith(t, Options{}, fixtures...)
}

// NewInMemory is New without sockets, for a testing/synctest bubble.
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

// Close ends all connections and returns when every handler has ended.
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

// Client returns the shared client with access to the server; after RotateClient and
// RotateCA it is a new one. It has no timeout.
func (s *Server) Client() *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// Dial connects to the server, whatever the address: for the DialContext of a
// Transport. In memory it is the only way to connect.
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

// AddResource adds a resource to the server, with an empty history. A resource that is already
// served, in any version, must be removed first. A resource of package kube without other fields
// gets its built-in data.
func (s *Server) AddResource(r ResourceInfo) {
	if info := r.info(); !s.store.Add(kinds.Complete(info)) {
		s.fail("add %s: the server has such a resource", r)
	}
}

// RemoveResource deletes all objects of r, ends its watches and responds 404 from then
// on, as when a CustomResourceDefinition is deleted.
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
	if t := s.store.Keeper(r); t != nil {
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
