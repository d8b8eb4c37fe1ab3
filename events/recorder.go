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
	// Component is the name of the reporting controller, which kubectl describe shows
	// under From. Default: the name of the program.
	Component string
	// Host is the node or pod that the controller runs on. Default: empty.
	Host string

	// Logger receives a line when Events start to be refused or to fail, when they are
	// written again, and for each invalid call of Eventf; not for each retry. The refusals
	// of a namespace that is being deleted are at level Debug. Default: the Logger of the Manager
	// that runs the recorder.
	Logger *slog.Logger

	// Queue is the number of different Events that may wait for the server. Default 1000.
	Queue int
	// Grace is how long Run keeps writing queued Events after its context is done.
	// Default 5 s; negative = not at all.
	Grace time.Duration

	// Burst is the number of Events of one type about one object that are written at
	// once. Refill is the time until one more may be written. Defaults 25 and 5 min.
	Burst  int
	Refill time.Duration
	// Keys is the number of different Events, and of objects, that the recorder
	// remembers to recognise repetitions. Default 4096, which takes 8 MB when full.
	Keys int
}

// Recorder writes Events. Its methods are safe for concurrent use; the methods of a nil
// Recorder do nothing, Run until its context is done.
type Recorder struct {
	stored     client.Collection[event]
	answers    client.Collection[kube.Partial] // the same resource; responses to patches need no more
	component  string
	host       string
	queue      int
	grace      time.Duration
	ready      chan struct{} // of size 1
	overflowed int           // the part of Stats.Overflow that was logged
	reported   string        // kind of the last failure that was logged; "" = none, or it has ended

	mu         sync.Mutex
	log        *slog.Logger // nil = none
	correlator *correlator
	waiting    *list.List // of *series, the next to be written at the front
	stats      Stats
	running    bool
	ended      bool
}

// New returns a Recorder that queues Events, and writes them with c while Run runs. If
// Events should not use up the rate limit of c, pass a client of their own.
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

// Eventf records that something happened to an object. reason is one word in CamelCase,
// for programs; use few different ones. The message is for people; 1024 bytes of it are
// kept. An incomplete object, an unknown type or an empty reason is a caller bug: it is
// logged, counted as Stats.Invalid, and dropped.
//
// Eventf neither waits for the server nor fails, also before and after Run. If the queue
// is full, the oldest Event is dropped. Arguments are formatted before it returns.
func (r *Recorder) Eventf(about Reference, typ Type, reason, format string, args ...any) {
	if r == nil {
		return
	}
	message := shorten(fmt.Sprintf(format, args...), maxMessage)
	reason = shorten(reason, maxReason)
	if r.take(about.clone(), typ, strings.Clone(reason), message) {
		return
	}
	r.logger().Warn("invalid event dropped: it needs an object with kind and name, a type Normal or Warning, and a reason",
		"object", about.String(), "type", string(typ), "reason", reason)
}

// SetLogger sets the logger of a Recorder whose Options have none. A Manager calls it
// before Run.
func (r *Recorder) SetLogger(l *slog.Logger) {
	if r == nil {
		return
	}
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

// Stats counts calls of Eventf by outcome. Recorded is the sum of Written, Waiting,
// Filtered and Dropped.
type Stats struct {
	Recorded int // calls of Eventf
	Written  int // stored by the server; one request may write several
	Waiting  int // in the queue, or being written
	Filtered int // above Burst; the next write of the same Event includes it in its count

	Invalid  int // no Event: an incomplete object, an unknown type, no reason
	Overflow int // dropped from a full queue
	Refused  int // refused by the server
	GivenUp  int // not written after the last retry
	Late     int // recorded after the end, or not written within the grace period
}

// Dropped returns the number of lost Events, without the filtered ones.
func (s Stats) Dropped() int { return s.Invalid + s.Overflow + s.Refused + s.GivenUp + s.Late }

// Stats returns the current counts.
func (r *Recorder) Stats() Stats {
	if r == nil {
		return Stats{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}
