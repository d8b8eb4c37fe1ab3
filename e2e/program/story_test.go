package program_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

// record is one line of -o ndjson.
type record struct {
	V         int    `json:"v"`
	Seq       int64  `json:"seq"`
	Type      string `json:"type"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	RV        string `json:"rv"`

	// Of ADDED, MODIFIED and DELETED.
	Initial   bool   `json:"initial"`
	Synthetic string `json:"synthetic"`
	Object    struct {
		Metadata setup.Metadata `json:"metadata"`
	} `json:"object"`

	// Of the others.
	Cause     string `json:"cause"`
	Added     int    `json:"added"`
	Modified  int    `json:"modified"`
	Deleted   int    `json:"deleted"`
	Unchanged int    `json:"unchanged"`
	Error     string `json:"error"`
}

func (r *record) ref() load.Ref {
	return load.Ref{Resource: r.Resource, Namespace: r.Namespace, Name: r.Name}
}

func (r *record) version() load.Version { return load.Version{UID: r.UID, RV: r.RV} }

func (r *record) isObject() bool {
	return r.Type == "ADDED" || r.Type == "MODIFIED" || r.Type == "DELETED"
}

// story is what a running program has printed so far.
type story struct {
	mu      sync.Mutex
	records []record
	state   map[load.Ref]load.Version // of all resources, folded
	counts  map[string]map[string]int // resource, then type
	open    map[string]bool           // resources whose watch is open
	err     error                     // set when the output ended; io.EOF in good order
	changed chan struct{}             // closed and replaced at each change
}

func newStory() *story {
	return &story{
		state: make(map[load.Ref]load.Version), counts: make(map[string]map[string]int),
		open: make(map[string]bool), changed: make(chan struct{}),
	}
}

// read takes the output in until it ends.
func (s *story) read(output io.Reader) {
	lines := bufio.NewReaderSize(output, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if len(line) > 0 {
				err = fmt.Errorf("the output ends inside a line: %.100q", line)
			}
			s.take(nil, err)
			return
		}
		r := new(record)
		if err := json.Unmarshal(line, r); err != nil {
			s.take(nil, fmt.Errorf("line %.200q: %w", line, err))
			io.Copy(io.Discard, output) // it fails when the program is killed; err has the reason
			return
		}
		s.take(r, nil)
	}
}

func (s *story) take(r *record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if r != nil {
		s.records = append(s.records, *r)
		s.fold(r)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *story) fold(r *record) {
	if s.counts[r.Resource] == nil {
		s.counts[r.Resource] = make(map[string]int)
	}
	s.counts[r.Resource][r.Type]++
	switch r.Type {
	case "ADDED", "MODIFIED":
		s.state[r.ref()] = r.version()
	case "DELETED":
		delete(s.state, r.ref())
	case "SYNCED", "RECONNECTED", "RELISTED":
		s.open[r.Resource] = true
	case "DISCONNECTED":
		s.open[r.Resource] = false
	}
}

var errEnded = errors.New("the program ended")

// until waits for lines until cond holds, which is called under the lock.
func (s *story) until(ctx context.Context, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, setup.Patience, fmt.Errorf("not within %s", setup.Patience))
	defer cancel()
	for {
		s.mu.Lock()
		held, ended, changed := cond(), s.err, s.changed
		s.mu.Unlock()
		if held {
			return nil
		}
		if ended != nil {
			return fmt.Errorf("wait for %s: %w: %w", what, errEnded, ended)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		}
	}
}

// count returns how many records of a type each resource has.
func (s *story) count(recordType string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int)
	for _, resource := range load.Resources() {
		counts[resource] = s.counts[resource][recordType]
	}
	return counts
}

// over reports, under the lock, whether each resource has more records of a
// type than before, and an open watch.
func (s *story) over(recordType string, before map[string]int) bool {
	for resource, n := range before {
		if s.counts[resource][recordType] <= n || !s.open[resource] {
			return false
		}
	}
	return true
}
