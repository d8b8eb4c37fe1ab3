package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/watch"
)

// fleet runs the Runners of all types, and follows in which version the server serves them;
// with '*' also what it begins and ceases to serve.
type fleet struct {
	p       *program
	source  *source
	options sink.Options
	board   *board
	db      database
	end     context.CancelCauseFunc
	group   sync.WaitGroup

	stored  bool          // what the sink holds was looked through once; used by explore only
	refused sync.Once     // for the log: APIServices cannot be listed
	changed chan struct{} // a definition has changed, or a type is to be started again

	mu      sync.Mutex
	asked   time.Time          // when the server was last to be asked because of a 404
	running map[string]*tenant // by group and plural
	failed  map[string]failure // of types of '*', by group and plural
	dropped map[string]bool    // types whose rows this run has deleted and that it has not started again, by group and plural
	defined map[string]bool    // names of CustomResourceDefinitions that this run has seen
}

// tenant is a type that is being moved, or dropped.
type tenant struct {
	resource kube.Resource
	named    bool // by the user: its failure ends all
	leaving  bool // it is being dropped, or started again as what is served
	stop     context.CancelCauseFunc
	ended    chan struct{}
}

// failure is why a type is not moved, and when to try again.
type failure struct {
	text string
	next time.Time
}

// errGone is why the Runners of a type end that is not served any more as it is moved.
var errGone = errors.New("the type is not served any more")

const (
	maxTypes   = 5000             // that '*' moves at once, with those that are named
	retryTypes = 10 * time.Minute // after which a type is tried again that the server refuses
	pauseAsked = 10 * time.Second // between two times that a 404 has the server asked for its types
)

// run moves the named resources, and with every those of '*', until ctx ends or one of
// them cannot go on.
func (f *fleet) run(ctx context.Context, named []kube.Resource, every bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f.end, f.changed = cancel, make(chan struct{}, 1)
	f.running, f.failed = map[string]*tenant{}, map[string]failure{}
	f.dropped, f.defined = map[string]bool{}, map[string]bool{}
	for _, r := range named {
		f.start(ctx, r, true)
	}
	f.board.start(every)
	defer f.board.start(false)
	if every {
		f.group.Go(func() { f.definitions(ctx) })
	}
	f.group.Go(func() { f.explore(ctx, every) })
	if f.p.history > 0 {
		f.group.Go(func() { f.p.prune(ctx, f.db) })
	}
	f.group.Wait()
	return context.Cause(ctx)
}

// shards calls what with the options of each shard that this process moves.
func (f *fleet) shards(r kube.Resource, what func(sink.Options)) {
	for shard := range f.p.replicas.shards {
		if f.p.replicas.shard >= 0 && shard != f.p.replicas.shard {
			continue
		}
		o := f.options
		o.Scope.Resource, o.Scope.Shard = r, shard
		if !r.Namespaced {
			o.Scope.Namespace = ""
		}
		what(o)
	}
}

// start moves a type, unless that is being done or its time has not come.
func (f *fleet) start(ctx context.Context, r kube.Resource, named bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin(ctx, r, named)
}

// begin is start for a caller that holds f.mu.
func (f *fleet) begin(ctx context.Context, r kube.Resource, named bool) {
	id := r.GroupResource()
	if f.running[id] != nil || time.Now().Before(f.failed[id].next) {
		return
	}
	if len(f.running) >= f.p.maxTypes {
		f.fail(id, fmt.Errorf("%d types are moved, which is the limit", len(f.running)))
		return
	}
	all := ctx
	ctx, stop := context.WithCancelCause(all)
	t := &tenant{resource: r, named: named, stop: stop, ended: make(chan struct{})}
	f.running[id] = t
	delete(f.dropped, id)
	var shards sync.WaitGroup
	f.shards(r, func(o sink.Options) {
		o.Trace.Interrupted = func(i watch.Interruption) {
			switch {
			case errors.Is(i.Err, kube.ErrNotFound):
				f.missing()
			case !named && errors.Is(i.Err, kube.ErrForbidden) && i.Revision == "":
				stop(i.Err) // it was never permitted, as far as this run knows
			}
		}
		runner, err := f.board.runner(o)
		if err != nil {
			stop(err)
			return
		}
		shards.Go(func() { stop(runner.Run(ctx)) })
	})
	f.group.Go(func() {
		shards.Wait()
		defer close(t.ended)
		if all.Err() == nil {
			f.stopped(t, context.Cause(ctx))
		}
	})
}

// stopped decides what the end of a type means for the others.
func (f *fleet) stopped(t *tenant, err error) {
	id := t.resource.GroupResource()
	f.board.remove(id)
	if errors.Is(err, errGone) {
		return // it stays among those that run until it is dropped or started again
	}
	if t.named || errors.Is(err, sink.ErrFenced) || errors.Is(err, sink.ErrRefused) {
		f.end(err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, id)
	f.fail(id, err)
}

// fail notes that a type of '*' is not moved, and logs it once. The caller holds f.mu.
func (f *fleet) fail(id string, err error) {
	if f.failed[id].text != err.Error() {
		f.p.log.Warn("a type of '*' is not moved", "type", id, "again", retryTypes, "err", err)
	}
	f.failed[id] = failure{err.Error(), time.Now().Add(retryTypes)}
}

// explore asks what the server serves, soon after a definition has changed or a request got
// 404, and with every then at growing intervals, and starts and drops types.
func (f *fleet) explore(ctx context.Context, every bool) {
	const soon, most = 250 * time.Millisecond, time.Minute
	const never = time.Duration(math.MaxInt64)
	pause, last := never, ""
	if every {
		pause = 0
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
			pause = soon
			continue
		case <-time.After(pause):
		}
		pause = min(max(2*pause, soon), most)
		api, err := discovery.Fetch(ctx, f.source.client)
		if err == nil {
			err = f.follow(ctx, api, every)
		}
		if err != nil {
			if text := err.Error(); text != last && ctx.Err() == nil {
				f.p.log.Warn("cannot ask which types are served", "err", err)
				last = text
			}
			continue
		}
		if last = ""; !every {
			pause = never
		}
	}
}

// follow starts types again, and with every starts and drops types, by what the server serves.
func (f *fleet) follow(ctx context.Context, api *discovery.API, everyType bool) error {
	f.renew(ctx, api)
	if !everyType {
		return nil
	}
	served := servedBy(api)
	if err := f.forgotten(ctx, served); err != nil && !f.stored {
		return err
	}
	f.stored = true
	for _, r := range every(api) {
		f.start(ctx, r, false)
	}
	f.board.start(false)
	f.ended(ctx, served)
	return nil
}

// tenants returns the types that are moved, and stay.
func (f *fleet) tenants() (all []*tenant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.running {
		if !t.leaving {
			all = append(all, t)
		}
	}
	return all
}

// leave has the Runners of a type end, and calls then meanwhile.
func (f *fleet) leave(t *tenant, then func()) {
	f.mu.Lock()
	t.leaving = true
	f.mu.Unlock()
	t.stop(errGone)
	f.group.Go(then)
}

// renew starts the types again of which the server serves another version or scope instead of
// the one that runs. They continue from their positions.
func (f *fleet) renew(ctx context.Context, api *discovery.API) {
	for _, t := range f.tenants() {
		now := current(api, t.resource)
		if now.Version == t.resource.Version && now.Namespaced == t.resource.Namespaced {
			continue
		}
		f.p.log.Info("the type is served in another version or scope now: it is started again", "type", now.GroupResource(), "version", now.Version, "before", t.resource.Version, "namespaced", now.Namespaced)
		f.leave(t, func() {
			<-t.ended
			f.mu.Lock()
			defer f.mu.Unlock()
			if ctx.Err() == nil {
				delete(f.running, now.GroupResource())
				f.begin(ctx, now, t.named)
			}
		})
	}
}

// ended stops and drops the types that are not served any more.
func (f *fleet) ended(ctx context.Context, served offer) {
	for _, t := range f.tenants() {
		if !t.named && context.Cause(ctx) == nil && f.gone(ctx, served, t.resource) {
			f.p.log.Info("the type is not served any more: its rows are deleted", "type", t.resource.GroupResource())
			f.leave(t, func() { f.drop(ctx, t) })
		}
	}
}

// drop deletes the rows of a type once its Runners have ended.
func (f *fleet) drop(ctx context.Context, t *tenant) {
	<-t.ended
	f.shards(t.resource, func(o sink.Options) {
		runner, err := sink.NewRunner(o)
		if err == nil {
			err = runner.Drop(ctx)
		}
		if err != nil {
			f.end(err)
		}
	})
	id := t.resource.GroupResource()
	f.mu.Lock()
	delete(f.running, id)
	f.dropped[id] = true
	f.mu.Unlock()
	f.poke()
}

// forgotten drops what the sink holds of types that ceased to be served while nobody moved them. It
// is called again and again, because whether a type is gone may not be known at once. A type
// whose position says that it was dropped is dropped again, once: that may have been interrupted.
func (f *fleet) forgotten(ctx context.Context, served offer) error {
	positions, err := f.db.Positions(ctx)
	if err != nil {
		return err
	}
	for _, pos := range positions {
		id := pos.Scope.Resource.GroupResource()
		other := pos.Scope.Cluster != f.source.id || pos.Scope.Count() != f.p.replicas.shards ||
			f.p.replicas.shard >= 0 && pos.Scope.Shard != f.p.replicas.shard
		f.mu.Lock()
		known := f.running[id] != nil || f.dropped[id]
		f.mu.Unlock()
		if other || known || !f.gone(ctx, served, pos.Scope.Resource) {
			continue
		}
		if pos.Cause != sink.CauseNotServed {
			f.p.log.Info("the type is not served any more: its rows are deleted", "type", id)
		}
		t := &tenant{resource: pos.Scope.Resource, leaving: true, ended: make(chan struct{})}
		t.resource.Namespaced = pos.Scope.Namespace != "" // as the selection is stored
		close(t.ended)
		f.mu.Lock()
		f.running[id] = t // only the caller starts what does not run
		f.mu.Unlock()
		f.group.Go(func() { f.drop(ctx, t) })
	}
	return nil
}

// missing has the server asked after a 404, but not for each of many.
func (f *fleet) missing() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.asked) >= pauseAsked {
		f.asked = now
		f.poke()
	}
}

// poke has the server asked soon.
func (f *fleet) poke() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}
