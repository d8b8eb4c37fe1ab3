package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/hook"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/target"
)

// StaleAfter is the silence after which the state may be stale: a healthy server sends a
// bookmark about every minute.
const StaleAfter = 90 * time.Second

// Monitor keeps the state of a run: its streams, and how much was printed. A nil Monitor
// keeps nothing. It is safe for concurrent use.
type Monitor struct {
	limit time.Duration // silence beyond it is stale
	end   bool          // and ends the program

	Printed atomic.Int64              // records
	written atomic.Int64              // bytes
	pool    atomic.Pointer[hook.Pool] // nil = no hooks

	mu      sync.Mutex
	streams []*State
	started bool              // all streams are known
	absent  map[string]string // clusters whose types are not known, and why
}

// Add returns the state of a new stream.
func (m *Monitor) Add(t target.Target) *State {
	if m == nil {
		return nil
	}
	s := newStreamState(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams = append(m.streams, s)
	return s
}

// Stream returns the state of the i-th stream that was added.
func (m *Monitor) Stream(i int) *State {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.streams[i]
}

// Begin notes that all streams were added.
func (m *Monitor) Begin() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = true
}

// Absent notes why the types of a cluster are not known; with an empty reason, that they are.
func (m *Monitor) Absent(cluster, reason string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.absent, cluster); reason == "" {
		return
	}
	if m.absent == nil {
		m.absent = map[string]string{}
	}
	m.absent[cluster] = reason
}

// views returns the streams as they are now.
func (m *Monitor) views() []streamView {
	vs := []streamView{}
	for _, s := range m.states() {
		vs = append(vs, s.view(m.limit))
	}
	return vs
}

// NotReady returns the reasons why the run is not ready, a line each; none if it is.
func (m *Monitor) NotReady() []string {
	m.mu.Lock()
	started := m.started
	var why []string
	for _, cluster := range slices.Sorted(maps.Keys(m.absent)) {
		why = append(why, cluster+": its types are not known yet: "+m.absent[cluster])
	}
	m.mu.Unlock()
	if !started {
		return []string{"starting: the server's types are not known yet"}
	}
	for _, s := range m.states() {
		if v := s.view(m.limit); !v.Ready {
			why = append(why, s.Label()+s.Where()+": "+v.reason)
		}
	}
	return why
}

func (m *Monitor) states() []*State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.streams
}

// Ends reports whether Watchdog may end the run.
func (m *Monitor) Ends() bool { return m != nil && m.end }

// ErrStale is why Watchdog ends a run.
var ErrStale = errors.New("no contact")

// Watchdog returns an error when a stream was silent for too long, if the flags ask for
// that, and nil when ctx is done.
func (m *Monitor) Watchdog(ctx context.Context) error {
	if !m.Ends() {
		return nil
	}
	tick := time.NewTicker(min(max(m.limit/20, 10*time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, s := range m.states() {
			if v := s.view(m.limit); v.silence >= m.limit {
				err := fmt.Errorf("%s: %w for %s (--max-staleness %s)", s.Label(), ErrStale, printable.Rough(v.silence), m.limit)
				if v.LastError != "" {
					err = fmt.Errorf("%w; last error: %s", err, v.LastError)
				}
				return exit.Failed(err)
			}
		}
	}
}

// Runs sets the pool of hooks.
func (m *Monitor) Runs(p *hook.Pool) {
	if m != nil {
		m.pool.Store(p)
	}
}

// Count returns a writer to w that counts the bytes.
func (m *Monitor) Count(w io.Writer) io.Writer {
	if m == nil {
		return w
	}
	return countedWriter{w, &m.written}
}

type countedWriter struct {
	io.Writer
	n *atomic.Int64
}

func (c countedWriter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n.Add(int64(n))
	return n, err
}
