// Package hook runs a command for each event: as many at once as allowed, one
// after another for one object, the latest state where events come faster than
// runs end, again after a failure. It is the part of the program that oc observe
// and entr are, without what they got wrong: an object goes through standard input
// and not through the environment, one slow object does not hold up the others, and
// every kind of failure is tried again.
//
//	pool := hook.New(hook.Options{Command: []string{"./sync.sh"}})
//	go feed(pool)           // pool.Add(event) for each, then pool.Close()
//	summary, err := pool.Run(ctx, hard)
//
// What an exit code means: 0 is done, anything else is a failure, which is tried
// again. A run is over when its process has ended; what it leaves in the background
// goes on, unless the run was killed, which kills its process group.
package hook

import (
	"errors"
	"time"

	"golang.org/x/time/rate"
)

// Event is one thing to run a command for.
type Event struct {
	Seq  int64 // its number: each larger than the one before
	Type string
	// Object: it is about the object that is named; other events are about a
	// resource, and only replace waiting ones of their own type.
	Object     bool
	Cluster    string // a context; empty = there is one cluster
	Resource   string // pods, deployments.apps
	Namespace  string
	Name       string
	Kind       string
	APIVersion string
	UID        string
	RV         string
	Initial    bool
	Synthetic  string
	Label      string // names the object to people: pod/a
	Size       int    // bytes that it keeps in memory

	// Record returns the line for the command, with its newline. It is asked for
	// when the command is run, with the event as it is then.
	Record func(Event) ([]byte, error)
}

// Input says how the command gets the record.
type Input string

// The ways.
const (
	Stdin Input = "stdin"
	File  Input = "file" // a temporary file that only the user can read, named in LISTWATCH_FILE
	Args  Input = "args" // the last argument
	None  Input = "none"
)

// Options of a Pool. The zero value of each is the recommended setting.
type Options struct {
	Command []string // nil = none: then only for DELETED
	Delete  []string // instead of it for DELETED; nil = the same
	Input   Input    // empty = Stdin
	Webhook *Webhook // instead of a command; nil = a command

	Concurrency int  // runs at once; 0 = 4
	Every       bool // each event is run, in order; default the latest state
	Backlog     int  // events waiting before Add does; 0 = 1024; see Pool.Add
	Held        int  // bytes of past states waiting before Add does; 0 = 32 MiB

	Batch  int           // records in a run; 0 = one, with its name in the environment
	Window time.Duration // how long the first record waits for others

	Timeout    time.Duration // of a run; 0 = none
	Retries    int           // after a failure; 0 = none
	Backoff    time.Duration // before the first retry, twice that before the next; 0 = 1 s
	BackoffMax time.Duration // 0 = 5 min
	Rate       rate.Limit    // runs a second; 0 = any number
	Burst      int           // at once, before Rate counts; 0 = 1
	Errors     int           // failures for good, in all, that end Run; 0 = any number

	Grace time.Duration // how long a run may go on after a stop

	// Output is given each line that a command prints, without its end; Failed
	// each failure, with when it is tried again, 0 = never. Output may be called by
	// several goroutines at once, the others by the one of Run. Nil = nobody listens.
	Output func(label, line string)
	Failed func(e Event, err error, runs int, again time.Duration)
	// Stopping gets how many events a stop has dropped, and for how many runs it
	// waits.
	Stopping func(dropped, running int)
}

// ErrFailures is why Run ends after Options.Errors failures.
var ErrFailures = errors.New("too many hooks have failed")

// Summary says what has become of the events.
type Summary struct {
	Runs    int // that ended well
	Failed  int // given up
	Dropped int // events that were not run, because of a stop
	Killed  int // runs, because of a stop
}

func (o Options) withDefaults() Options {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	set(&o.Concurrency, 4)
	set(&o.Backlog, 1024)
	set(&o.Held, 32<<20)
	set(&o.Burst, 1)
	if o.Rate == 0 {
		o.Rate = rate.Inf
	}
	if o.Input == "" {
		o.Input = Stdin
	}
	if o.Backoff == 0 {
		o.Backoff = time.Second
	}
	if o.BackoffMax == 0 {
		o.BackoffMax = 5 * time.Minute
	}
	if o.Batch > 0 {
		o.Concurrency = 1
	}
	if o.Output == nil {
		o.Output = func(string, string) {}
	}
	if o.Failed == nil {
		o.Failed = func(Event, error, int, time.Duration) {}
	}
	if o.Stopping == nil {
		o.Stopping = func(int, int) {}
	}
	return o
}
