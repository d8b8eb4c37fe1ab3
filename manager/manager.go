package manager

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/lease"
)

// Runner is a part of a Manager: an informer, a group of them, a controller, a recorder
// of events. Run returns when ctx and all goroutines of the part have ended.
type Runner interface {
	Run(ctx context.Context) error
}

// Elector is usually a *lease.Elector. Run calls lead once, when this process is the leader, with
// a context that ends before another process can lead, and returns when lead has returned.
type Elector interface {
	Run(ctx context.Context, lead func(context.Context, lease.Token) error) error
	Check() error // nil = leading, or waiting for leadership
}

// Options are the settings of a Manager; the zero value suits a program with one replica and no
// listener.
type Options struct {
	// Elector, if set, restricts the parts of AddLed to the leader.
	Elector Elector

	// Listen is an address for /healthz, /readyz and /metrics. ":8080" can be reached
	// by the kubelet and by anyone who can reach the pod, "127.0.0.1:8080" from the
	// same host only. /healthz asks the Elector and each part that has a method
	// Check() error, such as a lease.Ring, and /readyz those with Ready() error.
	// Default: none.
	Listen string

	// Secure, if set, makes the listener serve TLS, and can restrict who may read /metrics.
	Secure *Secure

	// Metrics serves /metrics, see package metrics; nil = 404.
	Metrics http.Handler

	// Signals stops the Manager at the first SIGINT or SIGTERM; the second one ends the
	// process at once. The same signal within 250 ms does not count as a second one:
	// timeout(1) sends it to the program and to its process group. If the Manager already stops
	// for another reason, the first signal does not end the process either.
	Signals bool

	// StopTimeout limits the time in which all parts must stop. Default 30 s.
	StopTimeout time.Duration

	// DetectMutations reports changes that the program makes to the objects of its informers and
	// groups, which all readers share. The Manager logs each, with the informer, the key and the
	// path of the member, and Run returns a *MutationError when it ends. It costs a copy of each
	// object, and an encoding of it each second: it is for tests and debugging. Go's race detector
	// may report the same changes. Default: off.
	DetectMutations bool

	// Logger gets a line when the Manager stops, with the reason. It is also the logger
	// of all parts without their own: informers, groups, controllers, recorders, rings and
	// the elector then log changes of their state. Default: none.
	Logger *slog.Logger
}

// Manager runs the parts of a program, and stops them in order: first the controllers, then the
// lease, then the webhook servers, then the informers, finally the listener.
type Manager struct {
	o   Options
	log *slog.Logger

	program context.Context // that of Run, which a part may have too; set before parts begin

	mu       sync.Mutex
	running  bool
	leading  bool
	stopping bool
	always   stage
	asked    stage // of always, what stops first
	led      stage
	checks   []check
	busy     map[*busy]bool // parts that have not returned yet
	mutated  []cache.Mutation
	err      error // the first error
	address  string

	wanted  chan struct{} // closed when there is a part of AddLed
	serving sync.WaitGroup
	gate    *gate // nil = anyone may read the metrics; set by Run
}

// attacher is a controller with any type of keys.
type attacher interface {
	Attach()
	Name() string
}

type check struct {
	name string
	f    func() error
}

// New returns a manager without parts.
func New(o Options) *Manager {
	if o.StopTimeout <= 0 {
		o.StopTimeout = 30 * time.Second
	}
	for name, v := range map[string]any{"Elector": o.Elector, "Metrics": o.Metrics} {
		if v != nil && isNil(v) {
			panic(fmt.Sprintf("manager: Options.%s is a nil %T: leave it out where there is none", name, v))
		}
	}
	m := &Manager{o: o, log: o.Logger, busy: make(map[*busy]bool), wanted: make(chan struct{})}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m
}

// CheckReady adds a condition to /readyz: f returns nil if it holds.
func (m *Manager) CheckReady(name string, f func() error) {
	if f == nil {
		panic("manager: the readiness check " + name + " is nil")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checks = append(m.checks, check{name, f})
}

func (m *Manager) setLeading(yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leading = yes
}

// Leading reports whether the parts of AddLed run.
func (m *Manager) Leading() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leading
}

// nameOf returns the name of a runner for messages: "controller foo", "informer of pods
// in default", "shared informers".
func nameOf(r Runner) string {
	switch r := r.(type) {
	case interface {
		Name() string
		Status() cache.Status
	}:
		return "informer of " + r.Name()
	case interface{ Status() []cache.Status }:
		return "shared informers"
	case interface{ Name() string }:
		return "controller " + r.Name()
	}
	return strings.TrimLeft(fmt.Sprintf("%T", r), "*")
}
