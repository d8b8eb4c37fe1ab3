package ui

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/ui/internal/gaps"
	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/rates"
	"github.com/listwatch/listwatch/ui/internal/row"
	"github.com/listwatch/listwatch/watch"
)

// States of a type, as PROTOCOL.md has them.
const (
	stateIdle      = "idle"
	stateLoading   = "loading"
	stateLive      = "live"
	stateStale     = "stale"
	stateForbidden = "forbidden"
	stateError     = "error"
	stateBudget    = "budget"
	stateGone      = "gone"
)

type column = archive.Column

// kind is one type: what is known of it, and the watch that follows it.
type kind struct {
	u       *UI
	id      string
	section string

	compressor compressed.Compressor

	mu      sync.Mutex // guards all that follows
	res     discovery.Resource
	store   *cache.RWStore[*item]
	columns []column
	lives   map[kube.Key]*life // of each name, the newest
	views   map[*view]bool
	watcher *watch.Watcher[codec.RawFull]

	state, reason string
	since         int64 // watched since
	heard         int64
	lost          int64                   // the connection is, since the last contact then; 0 = it is not
	complete      int64                   // until when all changes were seen
	broken        bool                    // the stream ended, and no event came since
	idleSince     int64                   // nobody looks since; 0 = somebody does
	stop          context.CancelCauseFunc // of the watch that runs; nil = none does
	starting      bool
	always        bool
	yields        bool // half of the memory to others, unless somebody looks
	loading       progress
	count         int64 // of an idle type; -1 = unknown
	counted       int64

	byNamespace map[string]int
	relists     int64
	undecodable int64
	gaps        gaps.List
	missed      *gaps.Gap // of the listing that is running
	rates       rates.Rates
	bytes       int64 // of the newest states
	failing     bool  // no retry mends why its watch has ended
	version     int64 // counts changes of what wireType returns, but for rates

	kept     bool  // its states are being written to the disk
	marked   int64 // that was written last, of the last contact
	replayed int64 // the time of the entry that is restored; 0 = none is
	restored bool  // since is of an earlier run
	before   error // why the time before the next list is not known
}

type progress struct {
	Done int64 `json:"done"`
	Of   int64 `json:"of"`
}

// forget drops the objects, as if the type was never listed.
func (k *kind) forget() {
	k.unkept()
	k.store = cache.NewStore[*item]()
	k.lives, k.byNamespace, k.watcher = map[kube.Key]*life{}, map[string]int{}, nil
	k.u.memory.Add(-k.bytes)
	k.bytes = 0
	if k.views == nil {
		k.views = map[*view]bool{}
	}
}

func (k *kind) secret() bool { return k.id == "secrets" }

// errUnrecorded is why an object of a recording is not known.
var errUnrecorded = errors.New("the recording has no object")

// errBudget ends the watch of a type whose objects do not fit.
var errBudget = errors.New("the memory budget is used")

// follow watches the type until ctx ends.
func (k *kind) follow(ctx context.Context) {
	const as = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	k.mu.Lock()
	col := client.Of[codec.RawFull](k.u.client, k.res.Resource)
	col.Accept, col.Query = client.Accept{Object: as, List: as}, url.Values{"includeObject": {"Object"}}
	o := watch.Options{MaxItem: maxObject, Trace: watch.Trace{Listed: k.listed, Connected: k.connected, Interrupted: k.ended}}
	if k.watcher != nil && k.store.Synced() {
		o.Revision = k.watcher.Revision() // of the time when somebody looked last
		if k.complete > 0 && k.state != stateStale {
			k.addGap(gaps.Gap{Type: k.id, From: k.complete, To: k.u.now(), Reason: errNotWatched.Error() + ": what changed then has the time at which it was watched again", Idle: true})
		}
	}
	w := watch.New(col, o)
	k.watcher = w
	if !k.restored && !k.store.Synced() {
		k.since = k.u.now()
	}
	k.restored = false
	if o.Revision == "" && !k.store.Synced() {
		k.change(stateLoading, "")
	}
	k.mu.Unlock()
	if k.columns == nil {
		cols := table.Fetch(ctx, col)
		k.mu.Lock()
		k.define(cols)
		k.mu.Unlock()
	}
	for ev, err := range w.Events(ctx) {
		if ctx.Err() != nil {
			break
		}
		if err := k.take(ev, err); err != nil {
			break
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stop = nil
	k.unkept()
	switch {
	case k.state == stateBudget || k.failing:
	case context.Cause(ctx) == errGone:
		k.change(stateGone, "the server does not serve it any more")
	default:
		k.change(stateIdle, "")
		k.count, k.counted = int64(k.store.Len()), k.u.now()
	}
}

// maxObject is how many bytes an object has that is shown.
const maxObject = 4 << 20

// take takes what a watch brings.
func (k *kind) take(ev watch.Event[codec.RawFull], err error) error {
	var stop *watch.Interruption
	var bad *codec.ItemError
	var p parsed
	switch {
	case errors.As(err, &stop):
		k.interrupted(stop)
		return nil
	case errors.As(err, &bad):
	case err != nil:
		return k.failed(err)
	case ev.Type == watch.Added || ev.Type == watch.Modified || ev.Type == watch.Deleted:
		if cols := table.Of(ev.Object.Raw); cols != nil && !k.u.recorded {
			k.mu.Lock()
			k.define(cols)
			k.mu.Unlock()
		}
		if p, err = k.parse(ev.Object); err != nil {
			bad = codec.Quarantine([]byte(ev.Object.JSON()), err)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.heard = k.u.now()
	if ev.Type != watch.Restart {
		k.complete, k.broken = k.heard, false
	}
	own := watch.Event[*item]{Type: ev.Type, Key: ev.Key, UID: ev.UID, Revision: ev.Revision, Cause: ev.Cause}
	if bad != nil {
		k.undecodable++
		k.version++
		if _, known := k.store.Get(own.Key); known { // of others the store would remember their names
			for _, d := range k.store.Quarantine(own) {
				k.record(d, parsed{item: d.New})
			}
		}
		return nil
	}
	if own.Object = p.item; p.item != nil {
		// The strings of the event would keep the whole object in memory.
		own.Key, own.UID, own.Revision = p.item.key, p.item.uid, kube.Revision(p.item.revision)
		if old, known := k.store.Get(own.Key); known && old.uid == own.UID {
			own.Key, own.UID = old.key, old.uid
		}
		if ev.Revision != own.Revision {
			own.Revision = kube.Revision(strings.Clone(string(ev.Revision)))
		}
	}
	if ev.Type == watch.Restart {
		k.restart(ev.Cause)
	}
	k.apply(own, p)
	if ev.Type == watch.Synced {
		k.synced()
	}
	if used, limit := k.u.memory.Load(), k.limit(); used > limit {
		return k.tooMuch(used, limit)
	}
	return nil
}

// failed: no retry mends err.
func (k *kind) failed(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failing = true
	k.change(stateError, printable.Line(err.Error()))
	return err
}

// tooMuch: what nobody looks at makes room, or the type is not watched any more.
func (k *kind) tooMuch(used, limit int64) error {
	k.u.tight.CompareAndSwap(false, used > k.u.limits.Objects)
	if used < limit+limit/8 {
		return nil // until that is done
	}
	k.forget()
	k.change(stateBudget, megabytes(limit)+" of the memory budget for objects, "+megabytes(k.u.limits.Objects)+", are used: open fewer types, or give more (--memory)")
	return errBudget
}

// define takes the columns of a Table, if there are any.
func (k *kind) define(cols *table.Columns) {
	if cols == nil {
		return
	}
	old := k.columns
	k.columns = nil
	for _, c := range (*cols)[:min(len(*cols), row.MaxCells)] {
		k.columns = append(k.columns, column{Name: printable.Cut(printable.Cell(c.Name), 100), Age: c.Name == "Age", Wide: c.Priority > 0})
	}
	if now := k.columns; !slices.Equal(old, k.columns) {
		k.write(func(s *archive.Segment) error { return s.Columns(now) })
	}
	k.touchAll()
}

// change sets the state. Holds k.mu.
func (k *kind) change(state, reason string) {
	k.state, k.reason = state, printable.Cut(reason, 500)
	k.version++
}

func (k *kind) restart(cause error) {
	if k.store.Synced() {
		k.relists++
		if cause == nil {
			cause = cmp.Or(k.before, errNotWatched)
		}
		k.before = nil
		if k.missed == nil { // else a listing broke off, and the gap continues
			k.missed = &gaps.Gap{Type: k.id, From: k.complete, Reason: printable.Line(cause.Error())}
		}
		k.change(stateStale, "listing again: "+k.missed.Reason)
		return
	}
	k.loading = progress{}
	k.change(stateLoading, "")
}

// errNotWatched is the reason of a gap in which nobody looked.
var errNotWatched = errors.New("nobody looked at it")

func (k *kind) synced() {
	k.loading = progress{}
	if g := k.missed; g != nil {
		k.missed, g.To = nil, k.now()
		k.addGap(*g)
	}
	if k.touchAll(); k.replayed > 0 {
		k.change(stateStale, earlierRun)
		return
	}
	k.change(stateLive, "")
	k.keepAll()
}

// addGap notes a gap that has ended.
func (k *kind) addGap(g gaps.Gap) {
	k.gaps.Add(g)
	k.u.log.add(change{at: g.To, kind: k, op: history.Gap, by: unique.Make(""), what: g.Reason, gap: &g})
	kept := archive.Gap{From: g.From, To: g.To, Reason: g.Reason, Idle: g.Idle, Added: g.Added, Modified: g.Modified, Deleted: g.Deleted}
	k.write(func(s *archive.Segment) error { return s.Gap(kept) })
}

// known are the gaps of the type, and the one that lasts, if there is one: while the type is not
// watched, or there is no contact. Holds k.mu.
func (k *kind) known() gaps.List {
	list := k.gaps
	switch n := len(list); {
	case k.missed != nil:
		list.Add(*k.missed)
	case k.u.recorded || !k.store.Synced() || k.complete == 0 || k.state == stateLive || k.state == stateGone:
	case n == 0 || list[n-1].From < k.complete: // else it is watched again, and not connected yet
		list.Add(gaps.Gap{Type: k.id, From: k.complete, Reason: cmp.Or(k.reason, errNotWatched.Error()), Idle: k.state == stateIdle})
	}
	return list
}

// now is the time of what is taken: of an entry of the disk, that of the entry. Holds k.mu.
func (k *kind) now() int64 {
	if k.replayed > 0 {
		return k.replayed
	}
	return k.u.now()
}

func (k *kind) listed(p list.Progress) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loading = progress{Done: int64(p.Items)}
	if p.Remaining >= 0 {
		k.loading.Of = int64(p.Items) + p.Remaining
	}
	k.heard = k.u.now()
	k.version++
}

func (k *kind) connected(watch.Op, kube.Revision, time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.heard, k.lost = k.u.now(), 0
	if k.store.Synced() && k.missed == nil && k.state != stateLive {
		k.change(stateLive, "")
	}
}

// ended: a request has. A stream that ended in order, or without its last frame, was complete
// until then. One that was reset may have lost what came after the last event, and one
// without any event what came before it too.
func (k *kind) ended(i watch.Interruption) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.broken && (i.Err == nil || errors.Is(i.Err, io.ErrUnexpectedEOF)) {
		k.complete = k.u.now()
	}
	k.broken = true
}

// interrupted: the connection is lost, or the server refuses.
func (k *kind) interrupted(i *watch.Interruption) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i.Err == nil {
		return
	}
	reason := printable.Line(i.Err.Error())
	switch {
	case errors.Is(i.Err, kube.ErrForbidden) || errors.Is(i.Err, kube.ErrUnauthorized):
		k.change(stateForbidden, reason)
	case errors.Is(i.Err, kube.ErrNotFound):
		k.change(stateError, reason)
	case k.store.Synced():
		if k.lost == 0 {
			k.lost = max(k.heard, millis(k.watcher.LastContact()))
		}
		k.change(stateStale, "no contact since "+clock(k.lost)+": "+reason)
	default:
		k.change(stateError, reason)
	}
}

func clock(ms int64) string { return time.UnixMilli(ms).Format("15:04:05") }
