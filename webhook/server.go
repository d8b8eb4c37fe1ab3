package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// Options set where a Server listens and which certificates it uses. Required are either
// Secret, or CertFile and KeyFile with a Name and with Service or URL.
type Options struct {
	// Secret holds the certificates, which all replicas share. Run creates it. Required
	// without CertFile and KeyFile.
	Secret kube.Key

	// CertFile and KeyFile replace Secret, for instance those of cert-manager. They are
	// read again every minute. Another program must write the CA into the configurations.
	CertFile, KeyFile string

	// Name is the name of the webhook configurations. Default: that of Secret.
	// Required without Secret.
	Name string

	// Service is the Service by which API servers reach the replicas. Default: the
	// namespace and name of Secret. Required without Secret and URL. Default of ServicePort: 443.
	//
	// If the program's own informers list resources that it converts, the Service must set
	// publishNotReadyAddresses: /readyz of a Manager waits for the informers, these for the
	// conversion, and API servers reach it in no pod that is not ready otherwise.
	Service     kube.Key
	ServicePort int

	// URL replaces Service where the API server does not reach services, such as
	// "https://10.0.0.1:9443". Paths are added to it.
	URL string

	// Listen is the address to listen on. Default ":9443".
	Listen string

	// Install makes Run apply the webhook configurations. Without it they must be applied
	// otherwise, see [Server.Manifests], and Run only writes the CA into them. With Install Run
	// also removes webhooks that this program does not have, such as those of an earlier version,
	// if they were installed by the same Name or lead to the same Service or URL: because of them
	// API servers would refuse requests.
	Install bool

	// Lifetime is how long a certificate is valid. It is renewed after two thirds of this
	// time. Default 90 days.
	Lifetime time.Duration

	// Settle is how long a new CA must be in every configuration before this replica
	// serves its certificate, because API servers notice a change with a delay. Default 5
	// minutes. A replica without the Secret also waits, and is not ready, while configurations or
	// definitions hold a CA of a lost one, for instance after the namespace of the program was
	// deleted. Meanwhile API servers refuse requests if no other replica runs; to avoid that,
	// remove caBundle from them before the replica starts.
	Settle time.Duration

	// Check is the longest time between two reads of the Secret, the configurations and
	// files. Default 1 minute.
	Check time.Duration

	// Drain is how long a Server continues to serve when it is stopped, because API servers notice
	// that with a delay. Default 15 s, which fits into the 30 s of a Manager and of a pod.
	Drain time.Duration

	Trace  Trace
	Logger *slog.Logger // changes of state, and failures. Default: the Logger of the Manager
}

// Trace is a set of hooks; each may be nil. They must not block, and may be called
// concurrently.
type Trace struct {
	Reviewed func(Review)
	// Serving is called when another certificate is served, with the time at which it
	// expires.
	Serving func(until time.Time)
	// Failed is called when the Secret, a configuration or a file could not be read or
	// written.
	Failed func(error)
}

// Review is a request that was answered: an AdmissionReview or a ConversionReview.
type Review struct {
	Webhook  string // name of the webhook; for a conversion the resource
	Code     int    // of HTTP
	Allowed  bool   // false also for a request that is not a review, and for a failed conversion
	Err      error  // why it was not allowed
	Duration time.Duration
}

// Stats are the state of a Server.
type Stats struct {
	InFlight int       // requests that are being answered
	Panics   int       // of the program's functions
	Until    time.Time // when the served certificate expires; zero = none yet
	Pending  bool      // a newer certificate is not served yet
}

// Server answers admission and conversion requests. Its methods are safe for concurrent
// use.
type Server struct {
	client  *client.Client
	options Options
	clock   func() time.Time // to issue certificates
	listen  func() (net.Listener, error)

	inFlight, panics atomic.Int64
	draining         atomic.Bool
	budget, decoded  *budget

	mu         sync.Mutex
	running    bool
	hooks      []*hook
	converters map[string]*converter // by path
	traces     []Trace
	log        *slog.Logger
	address    string
	serving    *pair // nil = none yet
	pending    bool
	ready      error // nil = ready
}

// kind is what a webhook does.
type kind string

const (
	validate kind = "validate"
	mutate   kind = "mutate"
	convert  kind = "convert"
)

// hook is one path.
type hook struct {
	kind     kind
	name     string
	path     string
	resource kube.Resource
	rule     Rule
	limit    int // of the body in bytes
	handle   func(ctx context.Context, body []byte) (response any, o outcome, err error)
}

// outcome is what a handler decided.
type outcome struct {
	allowed bool
	err     error
}

// Limits of the API.
const (
	defaultTimeout  = 10 * time.Second
	longestTimeout  = 30 * time.Second
	defaultLifetime = 90 * 24 * time.Hour
)

// New returns a server without webhooks: add them by [Validate], [Mutate] and [Convert].
// It sends no request. c may be nil if CertFile is set and Install is not.
func New(c *client.Client, o Options) (*Server, error) {
	fail := func(format string, args ...any) (*Server, error) {
		return nil, fmt.Errorf("webhook server: "+format, args...)
	}
	if o.Name == "" {
		o.Name = o.Secret.Name
	}
	if o.Service == (kube.Key{}) {
		o.Service = o.Secret
	}
	for _, d := range []struct {
		set      *time.Duration
		fallback time.Duration
	}{{&o.Lifetime, defaultLifetime}, {&o.Settle, 5 * time.Minute}, {&o.Check, time.Minute}, {&o.Drain, 15 * time.Second}} {
		if *d.set == 0 {
			*d.set = d.fallback
		}
		if *d.set < 0 {
			return fail("a duration of the Options is %v: it must be more than 0", *d.set)
		}
	}
	if o.ServicePort == 0 {
		o.ServicePort = 443
	}
	if o.Listen == "" {
		o.Listen = ":9443"
	}
	switch {
	case (o.CertFile == "") != (o.KeyFile == ""):
		return fail("CertFile and KeyFile must both be set")
	case o.CertFile != "" && o.Install && c == nil || o.CertFile == "" && c == nil:
		return fail("the client is nil")
	case o.CertFile == "" && (o.Secret.Namespace == "" || o.Secret.Name == ""):
		return fail("Options.Secret must have a namespace and a name")
	case o.URL == "" && (o.Service.Namespace == "" || o.Service.Name == ""):
		return fail("Options.Service must have a namespace and a name, or Options.URL must be set")
	case o.Name == "":
		return fail("Options.Name is empty")
	case o.Lifetime < 3*(o.Settle+o.Check) && o.CertFile == "":
		return fail("Lifetime is %v: a third of it must be longer than Settle and Check, so that a new certificate is served in time", o.Lifetime)
	}
	if o.URL != "" {
		u, err := url.Parse(o.URL)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return fail("Options.URL must have the form https://host[:port][/path]")
		}
		o.URL = strings.TrimSuffix(o.URL, "/")
	}
	s := &Server{client: c, options: o, clock: time.Now, converters: make(map[string]*converter), budget: newBudget(maxTogether).shared(maxSmall), decoded: newBudget(maxDecoded),
		traces: []Trace{o.Trace}, log: o.Logger, ready: errStarting}
	s.listen = func() (net.Listener, error) { return net.Listen("tcp", o.Listen) }
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

var errStarting = errors.New("it has no certificate yet")

// add adds a hook.
func (s *Server) add(h *hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		panic("webhook: add " + h.name + " before the server runs")
	}
	for _, other := range s.hooks {
		if other.path == h.path {
			panic("webhook: there are two webhooks of the name " + h.name + ": set Rule.Name")
		}
	}
	s.hooks = append(s.hooks, h)
}

// addConversion adds a conversion to the hook of its resource.
func (s *Server) addConversion(hub kube.Resource, version string, c conversion) {
	path := conversionPath(hub)
	s.mu.Lock()
	known := s.converters[path]
	s.mu.Unlock()
	if known == nil {
		known = &converter{hub: hub, spokes: make(map[string]conversion)}
		s.add(&hook{kind: convert, name: hub.GroupResource(), path: path, resource: hub, limit: maxConversion, handle: known.handle})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.running:
		panic("webhook: add conversions of " + hub.GroupResource() + " before the server runs")
	case known.hub != hub:
		panic("webhook: the conversions of " + hub.GroupResource() + " have different hubs")
	case version == hub.Version || known.spokes[version].up != nil:
		panic("webhook: there are two conversions of " + hub.GroupResource() + " for " + version)
	}
	known.spokes[version] = c
	s.converters[path] = known
}

// SetLogger sets the logger of a server whose Options have none. A Manager calls it;
// while the server runs it does nothing.
func (s *Server) SetLogger(l *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.Logger == nil && !s.running {
		s.log = l
	}
}

// Observe adds a trace to Options.Trace. It must be called before Run.
func (s *Server) Observe(t Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		panic("webhook: observe the server before Run")
	}
	s.traces = append(s.traces, t)
}

// Webhook is a webhook or a conversion that a Server serves at one path.
type Webhook struct {
	Name     string // of the webhook; for a conversion the resource, such as "greetings.example.com"
	Path     string
	Mutates  bool // it may change objects
	Converts bool // it converts objects; there is no Rule
	Resource kube.Resource
	Rule     Rule // with its defaults
}

// Webhooks returns the webhooks and conversions of s, in the order in which they were added.
func (s *Server) Webhooks() []Webhook {
	var all []Webhook
	for _, h := range s.list(validate, mutate, convert) {
		all = append(all, Webhook{Name: h.name, Path: h.path, Mutates: h.kind == mutate, Converts: h.kind == convert, Resource: h.resource, Rule: h.rule})
	}
	return all
}

// Address returns the address of the listener, with its port; empty before Run listens.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Ready is for a readiness probe. It fails until API servers trust the served
// certificate, as far as this replica can see, and while the certificate is not valid.
func (s *Server) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ready != nil:
		return fmt.Errorf("webhook server: %w", s.ready)
	case s.serving == nil || !s.serving.valid(s.clock()):
		return errors.New("webhook server: its certificate has expired, or is not valid yet")
	}
	return nil
}

// Stats returns the current state.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{InFlight: int(s.inFlight.Load()), Panics: int(s.panics.Load()), Pending: s.pending}
	if s.serving != nil {
		st.Until = s.serving.leaf.NotAfter
	}
	return st
}

// Name returns the name of the webhook configurations.
func (s *Server) Name() string { return s.options.Name }

// hosts returns the names and addresses of the certificate.
func (o *Options) hosts() []string {
	if u, err := url.Parse(o.URL); o.URL != "" && err == nil {
		return []string{u.Hostname()}
	}
	return []string{o.Service.Name + "." + o.Service.Namespace + ".svc"}
}

// clientConfig is how an API server reaches a path.
func (o *Options) clientConfig(path string) map[string]any {
	if o.URL != "" {
		return map[string]any{"url": o.URL + path}
	}
	return map[string]any{"service": map[string]any{"namespace": o.Service.Namespace, "name": o.Service.Name, "port": o.ServicePort, "path": path}}
}

// list returns the hooks of some kinds, never nil.
func (s *Server) list(kinds ...kind) []*hook {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(append([]*hook{}, s.hooks...), func(h *hook) bool { return !slices.Contains(kinds, h.kind) })
}

// eachTrace calls f for each trace.
func (s *Server) eachTrace(f func(Trace)) {
	s.mu.Lock()
	traces := s.traces
	s.mu.Unlock()
	for _, t := range traces {
		f(t)
	}
}
