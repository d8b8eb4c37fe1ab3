package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/connect"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

var (
	secretKey = kube.Key{Namespace: "shop", Name: "hooks"}
	widgets   = kube.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget"}
)

const host = "hooks.shop.svc"

// stage is a cluster in virtual time, with replicas and with API servers that learn of
// configurations late.
type stage struct {
	t        *testing.T
	srv      *apitest.Server
	client   *client.Client
	options  Options
	replicas []*replica
	log      *strings.Builder

	mu     sync.Mutex
	states map[string][]state // of each configuration, from the first on
}

// state is a bundle of a configuration, since when.
type state struct {
	since time.Time
	bundle
}

type replica struct {
	*Server
	stop context.CancelFunc
	done chan error
}

// play runs f in virtual time. All that it starts ends with it.
func play(t *testing.T, o Options, f func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Secret, o.Drain = secretKey, time.Second
		log := &strings.Builder{}
		if o.Logger == nil {
			o.Logger = slog.New(slog.NewTextHandler(log, nil)) // one for all replicas: it locks the text
		}
		s := &stage{t: t, srv: apitest.NewInMemory(t), options: o, log: log, states: make(map[string][]state)}
		c, err := client.New(connect.Config(s.srv))
		if err != nil {
			t.Fatal(err)
		}
		s.client = c
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		for _, r := range []kube.Resource{validatingConfigurations, mutatingConfigurations, kube.CustomResourceDefinitions} {
			watching.Go(func() { s.observe(ctx, r) })
		}
		defer func() {
			if t.Failed() {
				text := s.log.String()
				t.Log(text[max(0, len(text)-4<<10):])
			}
			for len(s.replicas) > 0 {
				s.kill(0)
			}
			cancel()
			watching.Wait()
			c.CloseIdleConnections()
		}()
		f(s)
	})
}

// observe notes the bundles of configurations.
func (s *stage) observe(ctx context.Context, r kube.Resource) {
	for ev, err := range watch.New(client.Of[codec.Raw](s.client, r), watch.Options{}).Events(ctx) {
		if err != nil || ev.Object.IsZero() || ev.Type != watch.Added && ev.Type != watch.Modified {
			continue
		}
		t := &target{resource: r, key: ev.Key, has: make(map[string]bundle)}
		if r == kube.CustomResourceDefinitions {
			err = t.readDefinition(ev.Object)
		} else {
			var o struct {
				Webhooks []struct {
					ClientConfig clientConfig `json:"clientConfig"`
				} `json:"webhooks"`
			}
			if err = ev.Object.Decode(&o); err == nil {
				for i, w := range o.Webhooks {
					t.has[fmt.Sprint(i)] = parseBundle(w.ClientConfig.CABundle)
				}
			}
		}
		if err != nil {
			s.t.Error(err)
		}
		s.mu.Lock()
		for part, b := range t.has {
			name := t.String() + " " + part
			s.states[name] = append(s.states[name], state{time.Now(), b})
		}
		s.mu.Unlock()
	}
}

// start starts a replica whose clock is wrong.
func (s *stage) start(wrong time.Duration) *replica {
	s.t.Helper()
	return s.startWith(wrong, func(server *Server) {
		Validate(server, widgets, Rule{}, accept)
		Validate(server, kube.ConfigMaps, Rule{}, accept)
		Mutate(server, widgets, Rule{}, accept)
	})
}

func accept(context.Context, *Request[kube.Partial]) error { return nil }

// startWith starts a replica whose clock is wrong, and to which add adds webhooks.
func (s *stage) startWith(wrong time.Duration, add func(*Server)) *replica {
	s.t.Helper()
	c, err := client.New(connect.Config(s.srv))
	if err != nil {
		s.t.Fatal(err)
	}
	server, err := New(c, s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	server.clock = func() time.Time { return time.Now().Add(wrong) }
	server.listen = func() (net.Listener, error) { return newSilent(), nil }
	add(server)
	ctx, cancel := context.WithCancel(s.t.Context())
	r := &replica{server, cancel, make(chan error, 1)}
	go func() {
		r.done <- server.Run(ctx)
		c.CloseIdleConnections()
	}()
	s.replicas = append(s.replicas, r)
	return r
}

// kill ends replica i.
func (s *stage) kill(i int) {
	r := s.replicas[i]
	s.replicas = append(s.replicas[:i:i], s.replicas[i+1:]...)
	r.stop()
	if err := <-r.done; err != nil {
		s.t.Error(err)
	}
}

// pass lets time pass.
func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// check fails the test if an API server that knows a configuration as it was at any
// moment of the last lag refuses a replica that is ready.
func (s *stage) check(lag time.Duration) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if len(s.states) == 0 {
		s.t.Fatal("no configuration was seen")
	}
	for i, r := range s.replicas {
		if r.Ready() != nil {
			continue
		}
		p := r.current()
		for name, states := range s.states {
			for n, st := range states {
				if n+1 < len(states) && states[n+1].since.Before(now.Add(-lag)) || !alive(st.bundle, now.Add(time.Hour)) {
					continue // nobody knows it any more, or it trusts nothing
				}
				if err := trusts(st.bundle, p, host, now); err != nil {
					s.t.Fatalf("%v: %s, as of %v ago, refuses replica %d: %v", now, name, now.Sub(st.since), i, err)
				}
			}
		}
	}
}

// ready waits until all replicas are ready, at most for d.
func (s *stage) ready(d time.Duration) {
	s.t.Helper()
	end := time.Now().Add(d)
	for {
		s.pass(time.Second)
		var errs []error
		for _, r := range s.replicas {
			errs = append(errs, r.Ready())
		}
		if errors.Join(errs...) == nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("not ready after %v: %v", d, errors.Join(errs...))
		}
	}
}

// secret returns the data of the Secret.
func (s *stage) secret() map[string][]byte {
	o, _ := apitest.Object[struct{ Data map[string][]byte }](s.srv, kube.Secrets, secretKey)
	return o.Data
}

// silent is a listener that nobody calls.
type silent struct {
	done chan struct{}
	once sync.Once
}

func newSilent() *silent { return &silent{done: make(chan struct{})} }

func (l *silent) Accept() (net.Conn, error) {
	<-l.done
	return nil, net.ErrClosed
}

func (l *silent) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *silent) Addr() net.Addr { return &net.TCPAddr{} }

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }
