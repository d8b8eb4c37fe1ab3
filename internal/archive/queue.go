package archive

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Queue writes segments in a goroutine of its own: a slow disk delays nobody. It is safe
// for concurrent use.
type Queue struct {
	dir  *Dir
	lost func(id string)
	wake chan struct{}

	mu      sync.Mutex // guards the rest
	jobs    []job
	failure Failure
}

// job is to write something of a type.
type job struct {
	id    string
	begin func() (*Segment, error) // a segment with all objects
	add   func(*Segment) error     // to the segment of the type; nil without begin = it ends
}

const (
	// maxJobs is how much may wait for the disk. What is more is not kept: the segment
	// ends, and the next one has all objects again.
	maxJobs = 50_000

	// again is how long nothing is begun after an error.
	again = time.Minute
)

var errSlow = errors.New("the disk is too slow")

// NewQueue returns a queue of the folder. lost is called by Run when a type's segment was
// given up.
func NewQueue(d *Dir, lost func(id string)) *Queue {
	return &Queue{dir: d, lost: lost, wake: make(chan struct{}, 1)}
}

// Add has something written to the segment of a type. It reports false where too much
// waits: then the segment is to be ended.
func (q *Queue) Add(id string, add func(*Segment) error) bool { return q.put(job{id: id, add: add}) }

// End ends the segment of a type.
func (q *Queue) End(id string) { q.put(job{id: id}) }

// Begin begins the segment of a type, by a function that calls [Dir.Begin].
func (q *Queue) Begin(id string, begin func(d *Dir) (*Segment, error)) bool {
	return q.put(job{id: id, begin: func() (*Segment, error) { return begin(q.dir) }})
}

func (q *Queue) put(j job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	ends := j.begin == nil && j.add == nil
	if len(q.jobs) >= maxJobs && !ends {
		q.failure = Failure{errSlow, time.Now().Add(again)}
		q.jobs = append(q.jobs, job{id: j.id}) // what waits is written, and what follows is not
		return false
	}
	q.jobs = append(q.jobs, j)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// Failure is why something is not kept.
type Failure struct {
	Err   error // nil = there was none
	Until time.Time
}

// Failure returns the last one. No segment should begin until its time.
func (q *Queue) Failure() Failure {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failure
}

func (q *Queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failure = Failure{err, time.Now().Add(again)}
}

// Run writes until ctx ends, then what waits, and closes the folder.
func (q *Queue) Run(ctx context.Context) {
	segments := map[string]*Segment{}
	tick := time.NewTicker(time.Minute) // so that segments become old
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		case <-q.wake:
		}
		q.mu.Lock()
		jobs := q.jobs
		q.jobs = nil
		q.mu.Unlock()
		for _, j := range jobs {
			if err := j.write(segments); err != nil {
				q.giveUp(j.id, segments, err)
			}
		}
		for id, s := range segments {
			next, err := s.Flush(time.Now())
			if segments[id] = next; err != nil {
				delete(segments, id)
				q.giveUp(id, segments, err)
			}
		}
	}
	if err := q.dir.Close(); err != nil {
		q.fail(err)
	}
}

// write does what a job says, to the segment of its type.
func (j *job) write(segments map[string]*Segment) error {
	s := segments[j.id]
	if j.begin == nil && j.add != nil {
		if s == nil {
			return nil // it was given up, and all objects follow
		}
		return j.add(s)
	}
	delete(segments, j.id)
	if s != nil {
		if err := s.Close(); err != nil {
			return err
		}
	}
	if j.begin == nil {
		return nil
	}
	next, err := j.begin()
	if err == nil {
		segments[j.id] = next
	}
	return err
}

func (q *Queue) giveUp(id string, segments map[string]*Segment, err error) {
	if s := segments[id]; s != nil {
		err = errors.Join(err, s.Close())
		delete(segments, id)
	}
	q.fail(err)
	q.lost(id)
}
