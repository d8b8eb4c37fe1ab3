package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// Options of a Runner. Client, Sink and Scope are required; the zero value of the others is
// the recommended setting.
type Options struct {
	Client *client.Client
	Sink   Sink
	Scope  Scope

	// A batch is committed when it has BatchRecords records (default 500) or BatchBytes
	// bytes (default 4 MiB), when its oldest record is FlushAfter old (default 500 ms),
	// when a list is complete, and when Run ends.
	BatchRecords int
	BatchBytes   int
	FlushAfter   time.Duration

	// BookmarkEvery is the shortest time between two commits without records, which only
	// advance the position.
	// Default 30 s.
	BookmarkEvery time.Duration

	// CommitTimeout limits each Open and Commit. Default 30 s. Once the context of Run ends,
	// a commit has 3 seconds.
	CommitTimeout time.Duration

	// Where, if set, selects objects on the client; Scope.Where must identify it. An
	// object for which it fails is not selected, and is reported to Trace.Skipped.
	Where func(codec.Raw) (bool, error)

	// Project, if set, returns the JSON that is stored for an object; Scope.Project must
	// identify it. An object for which it fails is quarantined.
	Project func(codec.Raw) ([]byte, error)

	// MaxObject is the size in bytes, after projection, of the largest object that is stored
	// as a whole. Of a larger one only the metadata is stored: see Record.Trimmed. Default:
	// that of the Sink, if it has a method MaxObject() int, otherwise no limit.
	MaxObject int

	// ShowSecrets stores the values of Secrets. By default they are redacted, with their
	// last-applied annotations.
	ShowSecrets bool

	// Leading, if set, is called before each Open, which takes over the scope in the sink. If
	// it returns false, Run ends with ErrFenced. An example is lease.Elector.IsLeader.
	Leading func() bool

	Trace  Trace
	Logger *slog.Logger // gets retries, gaps and quarantined objects; default: slog.Default
}

// Trace is a set of hooks, each of which may be nil. They are called in the goroutines of
// Run, one at a time for each hook, and should not block.
type Trace struct {
	Opened      func(Position)
	Committed   func(Committed)
	Retrying    func(err error, wait time.Duration)
	Skipped     func(kube.Key, error) // an object that is not written: Where failed, or it cannot be identified
	Listed      func(list.Progress)
	Interrupted func(watch.Interruption)
}

// Committed describes a commit that succeeded.
type Committed struct {
	Position Position
	Records  int
	Bytes    int
	Gaps     int
	Poisoned int // quarantined records
	Took     time.Duration
}

// Status is the state of a Runner.
type Status struct {
	Position Position      // last committed; zero before the first Open
	Seen     kube.Revision // latest that the server has sent
	Pending  time.Time     // arrival of the oldest record that is not committed; zero = none
	Contact  time.Time     // when the server last sent anything
	Err      error         // why nothing can be committed now; nil = no failure
}

// Live reports whether the table is complete and commits succeed.
func (s Status) Live() bool { return s.Position.Phase == Live && s.Err == nil }

// Lag returns how long the oldest pending record has waited at now.
func (s Status) Lag(now time.Time) time.Duration {
	if s.Pending.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.Pending))
}

// Runner writes one scope into a sink. One goroutine reads the watch and another commits.
// There is no queue between them, so a slow sink slows the watch.
type Runner struct {
	o     Options
	col   client.Collection[codec.Raw]
	shard kube.Shard

	unrecorded bool // a restore of the server, of which the sink has not accepted the record

	mu     sync.Mutex
	status Status
}

// shutdownGrace is how long a commit may continue after the context of Run has ended.
const shutdownGrace = 3 * time.Second

// NewRunner checks o and returns a Runner. It sends no request.
func NewRunner(o Options) (*Runner, error) {
	if o.Sink == nil {
		return nil, errors.New("sink: Options.Sink is missing")
	}
	return newRunner(o)
}

// newRunner is NewRunner without a sink, for callers that only read the collection.
func newRunner(o Options) (*Runner, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("sink: Options.Client is missing")
	case (o.Where == nil) != (o.Scope.Where == ""):
		return nil, errors.New("sink: Options.Where and Scope.Where must be set together")
	case (o.Project == nil) != (o.Scope.Project == ""):
		return nil, errors.New("sink: Options.Project and Scope.Project must be set together")
	}
	if err := o.Scope.check(); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	labels, err := kube.ParseSelector(o.Scope.Labels)
	if err != nil {
		return nil, fmt.Errorf("sink: labels: %w", err)
	}
	fields, err := kube.ParseFieldSelector(o.Scope.Fields)
	if err != nil {
		return nil, fmt.Errorf("sink: fields: %w", err)
	}
	o.Scope.Shards = o.Scope.Count()
	positive(&o.BatchRecords, 500)
	positive(&o.BatchBytes, 4<<20)
	positive(&o.FlushAfter, 500*time.Millisecond)
	positive(&o.BookmarkEvery, 30*time.Second)
	positive(&o.CommitTimeout, 30*time.Second)
	if limited, ok := o.Sink.(interface{ MaxObject() int }); ok {
		positive(&o.MaxObject, limited.MaxObject())
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	col := client.Of[codec.Raw](o.Client, o.Scope.Resource).In(o.Scope.Namespace)
	return &Runner{o: o, col: col.Where(labels, fields), shard: kube.EqualShard(o.Scope.Shard, o.Scope.Shards)}, nil
}

// positive sets *v to otherwise unless it is positive.
func positive[T int | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

// Status returns the state of the Runner.
func (r *Runner) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

func (r *Runner) note(f func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.status)
}

// Run opens the scope in the sink and writes the objects of the server and their changes
// until ctx ends. Then it commits once more and returns the cause of ctx.
//
// It ends earlier with ErrFenced if another process has opened the scope or Leading returns
// false, with ErrRefused if the sink does not accept the scope, and with an error of the watch
// that no retry can resolve, such as a selector that the server does not support. After any
// other failure it opens the scope again, with delays that grow up to 30 seconds. While the scope
// is paused it waits; see [Pause].
func (r *Runner) Run(ctx context.Context) error { return r.repeat(ctx, r.possess) }

// repeat calls f until it succeeds, or fails with an error that no retry can resolve.
func (r *Runner) repeat(ctx context.Context, f func(context.Context) (progress bool, err error)) error {
	for failures := 0; ; {
		if r.o.Leading != nil && !r.o.Leading() {
			return fmt.Errorf("%s: the leadership ended: %w", r.o.Scope, ErrFenced)
		}
		progress, err := f(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, ErrFenced) || errors.Is(err, errPaused) {
			again, ended := r.released(ctx)
			if ended != nil {
				return context.Cause(ctx)
			}
			if again {
				if err := wait.For(ctx, backoff(1)); err != nil {
					return err
				}
				continue
			}
			if errors.Is(err, errPaused) {
				err = fmt.Errorf("%s: resumed, and opened by another: %w", r.o.Scope, ErrFenced)
			}
		}
		if final := (*finalError)(nil); errors.Is(err, ErrFenced) || errors.Is(err, ErrRefused) || errors.As(err, &final) {
			return err
		}
		if failures++; progress {
			failures = 1
		}
		pause := backoff(failures)
		r.note(func(s *Status) { s.Err, s.Pending = err, time.Time{} })
		r.o.Logger.Warn("sink: retrying", "scope", r.o.Scope.String(), "wait", pause, "err", err)
		if f := r.o.Trace.Retrying; f != nil {
			f(err, pause)
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}

// finalError is an error of the watch that no retry can resolve.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// backoff returns the pause before the next attempt after so many failures in a row.
func backoff(failures int) time.Duration {
	d := min(200*time.Millisecond<<min(failures-1, 10), 30*time.Second)
	return d/2 + rand.N(d/2)
}

// open opens the scope in the sink.
func (r *Runner) open(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.CommitTimeout)
	defer cancel()
	pos, known, err := r.o.Sink.Open(ctx, r.o.Scope)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", r.o.Scope, err)
	}
	r.note(func(s *Status) { s.Position, s.Err = pos, nil })
	if f := r.o.Trace.Opened; f != nil {
		f(pos)
	}
	if pos.Scope = r.o.Scope; pos.Control == Paused {
		return nil, errPaused
	}
	return &session{Runner: r, known: known, pos: pos, next: pos, first: pos.Sequence, used: true}, nil
}

// possess opens the scope and follows the collection until a failure. It reports whether
// anything was committed.
func (r *Runner) possess(ctx context.Context) (progress bool, err error) {
	s, err := r.open(ctx)
	if err != nil {
		return false, err
	}
	if err := s.recall(ctx); err != nil {
		return false, err
	}
	if s.unrecorded {
		if err := s.restored(ctx); err != nil {
			return false, err
		}
	}
	for failures := 0; ; failures++ {
		if err = s.follow(ctx); !errors.Is(err, errListAgain) {
			return s.pos.Sequence > s.first, err
		}
		if err := wait.For(ctx, backoff(failures+1)); err != nil {
			return true, err
		}
	}
}
