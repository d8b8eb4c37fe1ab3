package events

import (
	"cmp"
	"container/list"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// Options of a Recorder. The zero value is what controllers use.
type Options struct {
	// Component says who tells it; kubectl describe shows it under From.
	// Default: the name of the program.
	Component string
	// Host says where it runs, such as a node or pod. Default: nothing is said.
	Host string

	// Logger gets a line when Events are refused or cannot be written, and when they
	// can be written again, not for each Event and each retry; and for calls that
	// make no Event. Default: that of the Manager that runs the recorder.
	Logger *slog.Logger

	// Queue is how many different Events may wait for the server. Default 1000.
	Queue int
	// Grace is how long Run goes on writing what waits when its context is done.
	// Default 5 s; negative = not at all.
	Grace time.Duration

	// Burst is how many Events of one type about one object are written at once,
	// and Refill the time after which it may be one more. Defaults 25 and 5 min.
	Burst  int
	Refill time.Duration
	// Keys is how many different Events, and objects, are remembered to tell what
	// is new from what happens again. Default 4096, which takes 8 MB when full.
	Keys int
}

// Recorder writes Events. Its methods are safe for concurrent use, and those of a
// nil Recorder do nothing.
type Recorder struct {
	stored     client.Collection[event]
	answers    client.Collection[kube.Partial] // the same; a patch needs no more back
	component  string
	host       string
	queue      int
	grace      time.Duration
	ready      chan struct{} // of size 1
	overflowed int           // of Stats.Overflow, what was logged
	reported   string        // the kind of failure that was logged last; "" = none, or it is over

	mu         sync.Mutex
	log        *slog.Logger // nil = none
	correlator *correlator
	waiting    *list.List // of *series, the first to be written in front
	stats      Stats
	running    bool
	ended      bool
}

// New returns a Recorder that queues, and writes by c once it runs. Where c has a
// rate limit that others should not share, give it a client of its own.
func New(c *client.Client, o Options) *Recorder {
	positive := func(n, otherwise int) int {
		if n > 0 {
			return n
		}
		return otherwise
	}
	if o.Refill <= 0 {
		o.Refill = defaultRefill
	}
	return &Recorder{
		stored:     client.Of[event](c, kube.Events),
		answers:    client.Of[kube.Partial](c, kube.Events),
		component:  cmp.Or(o.Component, filepath.Base(os.Args[0])),
		host:       o.Host,
		log:        o.Logger,
		queue:      positive(o.Queue, 1000),
		grace:      cmp.Or(o.Grace, 5*time.Second),
		ready:      make(chan struct{}, 1),
		correlator: newCorrelator(positive(o.Keys, defaultKeys), positive(o.Burst, defaultBurst), o.Refill),
		waiting:    list.New(),
	}
}

// Eventf says that something happened to an object. reason is one word in
// CamelCase, for programs, and few different ones; the message is for people, and
// at most 1024 bytes of it are kept. It takes about, a type or a reason that make
// no Event for a mistake of the caller, and logs it.
//
// It neither waits for the server nor fails, before Run and after it too. Where the
// queue is full, what waits longest is dropped: what happens now matters more.
// Arguments are formatted before it returns.
func (r *Recorder) Eventf(about Reference, typ Type, reason, format string, args ...any) {
	if r == nil {
		return
	}
	message := clip(fmt.Sprintf(format, args...), mostMessage)
	reason = clip(reason, mostReason)
	if r.take(about.clone(), typ, strings.Clone(reason), message) {
		return
	}
	r.logger().Warn("this is no event: it needs an object with a kind and name, a type Normal or Warning, and a reason",
		"object", about.String(), "type", string(typ), "reason", reason)
}

// SetLogger sets the logger of a Recorder that has none by its Options. It is for
// whoever runs recorders, as a Manager does, and is called before Run.
func (r *Recorder) SetLogger(l *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil {
		r.log = l
	}
}

func (r *Recorder) logger() *slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.log
}

// Stats says what became of the calls of Eventf, each of which is counted once
// besides in Recorded: that is the sum of Written, Waiting, Filtered and Dropped.
type Stats struct {
	Recorded int // calls of Eventf
	Written  int // the server knows; several may have been one request
	Waiting  int // in the queue, or being written
	Filtered int // one too many about its object; the next of the same Event that is written counts it

	Invalid  int // was no Event
	Overflow int // dropped from the full queue
	Refused  int // by the server
	GivenUp  int // the server did not answer, or had an error, for too many tries
	Late     int // after the end, or not written within the grace period
}

// Dropped returns how many were lost, other than by the filter.
func (s Stats) Dropped() int { return s.Invalid + s.Overflow + s.Refused + s.GivenUp + s.Late }

// Stats returns the counts of now.
func (r *Recorder) Stats() Stats {
	if r == nil {
		return Stats{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}
