package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// Options of a run. The zero value listens on a free port of the loopback.
type Options struct {
	// Server has the options of the server. TLS is set if the scenario needs it.
	Server apitest.Options

	// Resource is the resource that the client follows; default kube.ConfigMaps. The
	// server must have it. Its objects have metadata and, if large, data.
	Resource kube.Resource

	// Namespace holds the objects; default "default".
	Namespace string

	// Patience is how long the scenario waits for the first request of any kind;
	// default 1 minute.
	Patience time.Duration

	// Log, if set, gets one line for each step and each request.
	Log io.Writer
}

// Run is a scenario in progress. It is safe for concurrent use.
type Run struct {
	Scenario Scenario
	URL      string          // of the server, without a final slash
	Server   *apitest.Server // for its CA, its Kubeconfig, its Dial in memory

	stage  *stage
	cancel context.CancelFunc
	group  sync.WaitGroup
	done   chan struct{}
	result Verdict // valid after done is closed
}

// Serve starts a server and plays the scenario with that name, until ctx is done. The
// caller must Close the run.
func Serve(ctx context.Context, name string, o Options) (*Run, error) {
	sc, ok := find(name)
	if !ok {
		return nil, fmt.Errorf("there is no scenario %q", name)
	}
	o.Server.TLS = o.Server.TLS || sc.TLS
	o.Resource = cmp.Or(o.Resource, kube.ConfigMaps)
	o.Namespace = cmp.Or(o.Namespace, "default")
	o.Patience = cmp.Or(o.Patience, time.Minute)
	srv, err := apitest.Start(o.Server)
	if err != nil {
		return nil, fmt.Errorf("serve scenario %s: %w", name, err)
	}
	s := &stage{
		srv: srv, http2: sc.TLS, resource: o.Resource, namespace: o.Namespace, log: o.Log, start: time.Now(), changed: make(chan struct{}),
		info: apitest.ResourceInfo{Resource: o.Resource}, marks: make(map[string]kube.Revision), reported: make(map[string]string),
	}
	if i := slices.IndexFunc(o.Server.Resources, func(r apitest.ResourceInfo) bool { return r.Resource == o.Resource }); i >= 0 {
		s.info = o.Server.Resources[i]
	}
	for i := range cmp.Or(sc.objects, 3) {
		s.put(fmt.Sprintf("object-%04d", i), "0")
	}
	srv.On(apitest.Match{Path: reportPath}, s.takeReport)
	srv.On(apitest.Match{}, s.observe)
	for n := range armedEvents {
		srv.On(apitest.Match{Verb: "watch", AfterEvent: n + 1}, s.fire)
	}
	if err := s.playSteps(ctx, sc.before); err != nil {
		srv.Close()
		return nil, fmt.Errorf("serve scenario %s: %w", name, err)
	}
	run := &Run{Scenario: sc, URL: srv.URL, Server: srv, stage: s, done: make(chan struct{})}
	ctx, run.cancel = context.WithCancel(ctx)
	run.group.Go(func() {
		defer close(run.done)
		run.result = s.play(ctx, sc, o.Patience)
	})
	return run, nil
}

// Wait returns the verdict. If ctx ends first, the verdict is that the scenario was
// given up, but the run continues.
func (r *Run) Wait(ctx context.Context) Verdict {
	select {
	case <-r.done:
		return r.result
	case <-ctx.Done():
		return Verdict{Scenario: r.Scenario.Name, Outcome: NotExercised, Reason: "given up: " + context.Cause(ctx).Error()}
	}
}

// Close ends the run and its server, and returns when both have ended.
func (r *Run) Close() {
	r.cancel()
	r.group.Wait()
	r.Server.Close()
}

// stage is the state that steps use.
type stage struct {
	srv       *apitest.Server
	http2     bool // the scenario is about HTTP/2
	resource  kube.Resource
	info      apitest.ResourceInfo
	namespace string
	start     time.Time

	logging sync.Mutex // serializes lines
	log     io.Writer

	// Used by the playing goroutine only.
	faults   []*apitest.Fault
	marks    map[string]kube.Revision // of the objects that steps wrote
	since    int                      // earlier entries do not count
	struck   time.Time
	oldest   kube.Revision // a client may resume from here
	newest   kube.Revision // and up to here
	trailing bool          // or up to the last event of older watches
	current  *entry        // the last correct watch

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each update
	entries  []*entry
	armed    func(*entry) http.HandlerFunc // the fault after an event of a watch; nil = none
	reported map[string]string             // name to revision
	reports  int
}

// update changes fields that mu guards, and wakes waiting steps.
func (s *stage) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// note writes a line to the log.
func (s *stage) note(line string) {
	if s.log == nil {
		return
	}
	s.logging.Lock()
	defer s.logging.Unlock()
	fmt.Fprintln(s.log, line)
}

// say logs a step.
func (s *stage) say(format string, args ...any) {
	s.note(fmt.Sprintf("%+8.2fs  * %s", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...)))
}

// play waits for the client, plays the steps and returns the verdict.
func (s *stage) play(ctx context.Context, sc Scenario, patience time.Duration) Verdict {
	v := Verdict{Scenario: sc.Name, Outcome: Pass}
	err := s.playSteps(ctx, slices.Concat([]step{comes(patience)}, sc.steps, []step{truth}))
	if err == nil {
		return v
	}
	v.Outcome, v.Reason = NotExercised, "given up: "+err.Error()
	if j := (*judgement)(nil); errors.As(err, &j) {
		v.Outcome, v.Reason = j.outcome, j.reason
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v.Requests = s.evidence()
	return v
}

func (s *stage) playSteps(ctx context.Context, steps []step) error {
	for _, step := range steps {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// evidence returns the last requests: those since the fault, and the one before. The
// caller holds mu.
func (s *stage) evidence() []string {
	const enough = 15
	from := max(0, s.since-1)
	shown := s.entries[from:]
	var lines []string
	for i, e := range shown {
		if i == enough-3 && len(shown) > enough {
			lines = append(lines, fmt.Sprintf("... and %d more", len(shown)-enough))
		}
		if i >= enough-3 && i < len(shown)-3 && len(shown) > enough {
			continue
		}
		lines = append(lines, e.format(s.start))
	}
	return lines
}
