package ui

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/mount"
	"github.com/listwatch/listwatch/watch"
)

//go:embed static
var static embed.FS

// Options of a UI. Client or Recording is required.
type Options struct {
	// Client reads from the cluster that is shown.
	Client *client.Client

	// Recording, if set, is shown instead of a cluster: events in the order of their time.
	Recording iter.Seq2[Recorded, error]

	// Name is the name of the cluster that the page shows. Default: the address of its server.
	Name string

	// Keep names further types that are always watched, such as "certificates.cert-manager.io",
	// as pods, workloads, nodes and events are. Services, ConfigMaps, claims, Ingresses, policies,
	// quotas, limits, Roles, RoleBindings and autoscalers are too, while half of Limits.Objects
	// is free. Others are watched while a page shows them, and five minutes longer.
	Keep []string

	// History, if set, is a folder that stores the states of the types that are always watched,
	// for the next run and for listwatch list --history. The values of Secrets are not stored.
	// A folder is for one process and one cluster.
	History string

	// HistoryFailed, if set, is called by Run with the error when states cannot be written to
	// History, and with nil when they are written again.
	HistoryFailed func(error)

	// Limits limits the memory and the files in History.
	Limits Limits

	// Hosts are the host names, without a port, that requests may have, besides those of the
	// loopback. "*" accepts any, for a page behind a proxy that checks the host. If Bound, the
	// address of the listener, is no loopback address, any IP address is accepted too.
	Hosts []string
	Bound string

	// BasePath is the path under which browsers reach the page, such as /live. Default: /.
	// A proxy or http.StripPrefix may remove it from the paths of requests.
	BasePath string

	// Filter compiles an expression of the page's jq filter to a function that selects objects;
	// nil = the page has no such filter. Filter may be called concurrently, the function may
	// not. It should limit the memory of an evaluation. listwatch ui has none under --auth
	// token-review, where several people use the page.
	Filter func(expression string) (func(object map[string]any) (bool, error), error)

	// TokenReview accepts every token that the cluster accepts, and shows each person the
	// objects that SubjectAccessReview allows. Links with [UI.Token] do not work then. It is
	// for a page in a cluster, behind TLS. The Client needs the right to create both reviews.
	// A token must have one of Audiences; default: those of the API server.
	TokenReview bool
	Audiences   []string

	// OpenMoment, if set, starts a fake server with the objects of a time, and returns its
	// address. Of a type that is not among them it must not say that there are none: they are not
	// known. Set OpenMoment only for a page that nobody but its own user can reach.
	OpenMoment func(ctx context.Context, at time.Time, objects []Object) (Moment, error)
}

// Recorded is an event of a recording.
type Recorded struct {
	At       time.Time
	Resource kube.Resource
	Event    watch.Event[codec.RawFull]
}

// Object is one object of a Moment.
type Object struct {
	Resource kube.Resource
	JSON     []byte // nil = the type, whose objects are known
}

// Limits limit the memory of a UI and the files in Options.History. Sizes are in bytes; 0 =
// the default.
type Limits struct {
	Objects int64         // the newest states of all objects, with their rows; default 256 MiB
	History int64         // earlier states and deleted objects; default 64 MiB
	Disk    int64         // files in Options.History, of which the oldest are removed; default 1 GiB
	Age     time.Duration // of the states in these files; default 7 days
}

// Moment is the address of a fake server that has the objects of a time.
type Moment struct {
	Server     string   `json:"server"`
	Kubeconfig string   `json:"kubeconfig,omitempty"`
	File       string   `json:"file,omitempty"`
	Commands   []string `json:"commands,omitempty"`
	Unknown    []string `json:"unknown,omitempty"` // types that the server refuses
	LeftOut    []string `json:"leftOut,omitempty"` // objects that it lacks, and why
}

// UI is the live page of one cluster. It is an http.Handler for the path where it is
// mounted, which is Options.BasePath.
type UI struct {
	o        Options
	client   *client.Client
	limits   Limits
	always   map[string]bool
	recorded bool  // what is shown is a recording
	linked   []*UI // the pages of all clusters; nil = there is one
	salt     []byte
	handler  http.Handler

	log     *changelog
	history *history.Store
	dir     *archive.Dir
	keeper  *archive.Queue // nil = states are not kept on disk
	unkept  bool           // HistoryFailed was called with an error; of the goroutine of Run
	doors   doors
	logins  chan struct{} // has one for each TokenReview in progress

	number atomic.Int64 // of the last object
	memory atomic.Int64 // bytes of the newest states
	tight  atomic.Bool  // memory is
	played atomic.Int64 // how far a recording was read, in milliseconds since 1970
	asked  atomic.Int64 // when a page asked for something last

	starts  chan *kind    // types to watch
	changed chan struct{} // definitions did
	scans   chan *scan

	mu      sync.Mutex // guards all that follows
	kinds   map[string]*kind
	clients map[string]*viewer
	working map[string]int // requests of each person
	failure string         // why the types are not known
	damage  string         // which part of the history on disk is
}

// New returns a UI. It sends no request before Run is called. It locks Options.History until
// Run returns.
func New(o Options) (*UI, error) {
	if o.Client == nil && o.Recording == nil {
		return nil, errors.New("ui: Options.Client is missing")
	}
	if o.Recording != nil && o.History != "" {
		return nil, errors.New("ui: Options.History is for a cluster, and a recording has its own")
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		return nil, err
	}
	u := &UI{
		o: o, client: o.Client, recorded: o.Recording != nil, limits: o.Limits, always: map[string]bool{}, salt: []byte(rand.Text()), log: newLog(),
		doors:  doors{sessions: map[string]*session{}},
		logins: make(chan struct{}, maxLogins), working: map[string]int{},
		starts: make(chan *kind, maxTypes), changed: make(chan struct{}, 1), scans: make(chan *scan, maxClients),
		kinds: map[string]*kind{}, clients: map[string]*viewer{},
	}
	if u.limits.Objects == 0 {
		u.limits.Objects = 256 << 20
	}
	if u.limits.History == 0 {
		u.limits.History = 64 << 20
	}
	if u.limits.Disk == 0 {
		u.limits.Disk = 1 << 30
	}
	if u.limits.Age == 0 {
		u.limits.Age = 7 * 24 * time.Hour
	}
	u.history = history.New(u.limits.History)
	if o.History != "" {
		dir, err := archive.Open(o.History, o.Client.Server(), archive.Limits{Bytes: u.limits.Disk, Age: u.limits.Age})
		if err != nil {
			return nil, fmt.Errorf("ui: history: %w", err)
		}
		u.dir, u.keeper = dir, archive.NewQueue(dir, u.lost)
	}
	for _, id := range slices.Concat(usual, settings, o.Keep) {
		u.always[id] = true
	}
	guarded := guard.Handler(secured(u.routes(files)), guard.Options{Bound: o.Bound, Hosts: o.Hosts, Forms: []string{"/plain"}})
	if u.handler, err = mount.Below(o.BasePath, guarded); err != nil {
		return nil, fmt.Errorf("ui: Options.BasePath: %w", err)
	}
	return u, nil
}

// Token returns a token that opens the page in one browser, once: append #token=TOKEN to its URL.
func (u *UI) Token() string { return u.doors.token() }

// Run reads the cluster or the recording and evaluates filters until ctx ends. It returns its
// cause.
func (u *UI) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if u.keeper != nil {
		u.restore(ctx)
		kctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // until all changes are in its queue
		var keeping sync.WaitGroup
		keeping.Go(func() { u.keeper.Run(kctx) })
		defer u.reportKeeping()
		defer keeping.Wait()
		defer stop()
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	work := []func(context.Context){u.discover, u.definitions, u.count, u.stand}
	if u.recorded {
		work = []func(context.Context){u.play}
	}
	for _, f := range work {
		wg.Go(func() { f(ctx) })
	}
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case k := <-u.starts:
			kctx, stop := context.WithCancelCause(ctx)
			k.mu.Lock()
			k.starting, k.stop = false, stop
			k.mu.Unlock()
			wg.Go(func() {
				defer stop(nil)
				k.follow(kctx)
			})
		case s := <-u.scans:
			wg.Go(func() { s.run(ctx) })
		case <-tick.C:
			if !u.recorded {
				u.maintain()
			}
			if u.keeper != nil {
				u.reportKeeping()
			}
			u.reap()
		}
	}
}

// ServeHTTP serves the page and its requests.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) { u.handler.ServeHTTP(w, r) }

func (u *UI) setFailure(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failure = text
}
