package lease_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

var orders = kube.Key{Namespace: "shop", Name: "orders"}

// stage is a server with replicas, of which no two may ever work at one time.
type stage struct {
	t   *testing.T
	srv *apitest.Server

	mu      sync.Mutex
	working string
	terms   []*term
}

type term struct {
	name       string
	token      lease.Token
	start, end time.Time
	cancelled  time.Time // when the context was
	cause      error
}

// play runs f in virtual time on a new stage.
func play(t *testing.T, f func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, newStage(t))
	})
}

func newStage(t *testing.T) *stage { return &stage{t: t, srv: apitest.NewInMemory(t)} }

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// put makes the Lease have this spec.
func (s *stage) put(spec string) {
	s.srv.Put(kube.Leases, `{"metadata":{"namespace":"shop","name":"orders"},"spec":`+spec+`}`)
}

// released is the spec of a Lease that anybody may take at once.
const released = `{"holderIdentity":"","leaseDurationSeconds":1,"leaseTransitions":4,
	"acquireTime":"2026-01-02T03:04:05.000006Z","renewTime":"2026-01-02T03:04:05.000006Z"}`

type view struct {
	kube.Meta `json:"metadata"`
	Spec      spec
}

type spec struct {
	Holder      string `json:"holderIdentity"`
	Seconds     int    `json:"leaseDurationSeconds"`
	Transitions int    `json:"leaseTransitions"`
	Acquired    string `json:"acquireTime"`
	Renewed     string `json:"renewTime"`
	Strategy    string `json:"strategy"`
	Preferred   string `json:"preferredHolder"`
}

// lease reads the Lease.
func (s *stage) lease() view {
	s.t.Helper()
	var got struct {
		Meta kube.Meta `json:"metadata"`
		Spec spec      `json:"spec"`
	}
	b := s.srv.Get(kube.Leases, orders)
	if b == nil {
		return view{}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		s.t.Fatal(err)
	}
	return view{got.Meta, got.Spec}
}

// replica takes part in the election.
type replica struct {
	*lease.Elector
	s      *stage
	name   string
	link   *link
	client *client.Client
	linger func() time.Duration // how long its work goes on after its context

	cancel context.CancelFunc
	killed chan struct{} // closed when the process has died
	done   chan struct{}
	err    error // after done
}

// replica returns one that does not run yet. Its pauses are as short as they get.
func (s *stage) replica(name string, o lease.Options) *replica {
	s.t.Helper()
	r := &replica{s: s, name: name, link: &link{dial: s.srv.Dial, delay: 7 * time.Second}, linger: func() time.Duration { return 0 }}
	r.connect(client.Config{})
	o.Identity = name
	r.elect(o)
	return r
}

func (r *replica) connect(cfg client.Config) {
	r.s.t.Helper()
	cfg.Server, cfg.Dial, cfg.UserAgent = r.s.srv.URL, r.link.Dial, "replica "+r.name
	c, err := client.New(cfg)
	if err != nil {
		r.s.t.Fatal(err)
	}
	r.s.t.Cleanup(c.CloseIdleConnections)
	r.client = c
}

func (r *replica) elect(o lease.Options) {
	r.s.t.Helper()
	e, err := lease.New(r.client, orders, o)
	if err != nil {
		r.s.t.Fatal(err)
	}
	e.SetDice(func() float64 { return 0 })
	r.Elector = e
}

// start lets it take part until stop.
func (r *replica) start() *replica {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done, r.killed = cancel, make(chan struct{}), make(chan struct{})
	r.s.t.Cleanup(func() { cancel(); <-r.done })
	go func() {
		defer close(r.done)
		r.err = r.Run(ctx, r.work)
	}()
	return r
}

// stop ends it, and returns what Run did.
func (r *replica) stop() error {
	r.cancel()
	<-r.done
	return r.err
}

// kill lets the process die: its work ends at once, and it sends nothing more.
func (r *replica) kill() {
	r.link.set(severed)
	close(r.killed)
	r.cancel()
	synctest.Wait()
}

// await waits for Run to return.
func (r *replica) await() {
	r.s.t.Helper()
	select {
	case <-r.done:
	case <-time.After(time.Hour):
		r.s.t.Fatalf("%s still runs after an hour", r.name)
	}
}

// ended reports whether Run has returned.
func (r *replica) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// work is what only one may do at a time.
func (r *replica) work(ctx context.Context, t lease.Token) error {
	s := r.s
	s.mu.Lock()
	if s.working != "" {
		s.t.Errorf("%s: %s works, and %s begins to", time.Now().Format(time.StampMilli), s.working, r.name)
	}
	s.working = r.name
	if n := len(s.terms); n > 0 {
		if last := s.terms[n-1].token; !t.Revision.Newer(last.Revision) || t.UID == last.UID && t.Transitions <= last.Transitions {
			s.t.Errorf("token %+v is not newer than the one before, %+v", t, last)
		}
	}
	now := &term{name: r.name, token: t, start: time.Now()}
	s.terms = append(s.terms, now)
	s.mu.Unlock()

	<-ctx.Done()
	cancelled := time.Now()
	select {
	case <-r.killed:
	case <-time.After(r.linger()):
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	now.end, now.cancelled, now.cause = time.Now(), cancelled, context.Cause(ctx)
	if s.working == r.name {
		s.working = ""
	}
	return ctx.Err()
}

// leader returns who works now.
func (s *stage) leader() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.working
}

// until waits for somebody to work, or for nobody, and returns how long it took.
func (s *stage) until(name string) time.Duration {
	s.t.Helper()
	began := time.Now()
	for s.leader() != name {
		if time.Since(began) > time.Hour {
			s.t.Fatalf("%q does not lead within an hour; %q does", name, s.leader())
		}
		pass(10 * time.Millisecond)
	}
	return time.Since(began)
}

// count returns how many terms there were.
func (s *stage) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.terms)
}

// last returns the last term.
func (s *stage) last() term {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.terms[len(s.terms)-1]
}

// lines are the requests of a replica since the last call, by verb and code.
func (s *stage) lines(name string) []string {
	var lines []string
	for _, q := range s.srv.Requests() {
		if q.Header.Get("User-Agent") == "replica "+name {
			lines = append(lines, fmt.Sprintf("%s %d", q.Verb, q.Code))
		}
	}
	s.srv.ForgetRequests()
	return lines
}
