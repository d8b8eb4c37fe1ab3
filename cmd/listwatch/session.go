package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/debounce"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/refused"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// session is one run of watch: a goroutine for each target, one that prints,
// one that listens for silence.
type session struct {
	flags    *watchFlags
	output   output
	clusters map[string]connect.Cluster // by name; "" where there is one
	talk     *messages.Writer
	folder   *messages.Folder
	targets  []target.Target
	tap      func(record.Record) // sees each record; may be nil
	monitor  *monitor.Monitor    // may be nil
	kept     *keeper             // of --checkpoint; nil = none
	memory   memory

	// discover returns the targets that there are now; nil where they are those of the start.
	discover func(context.Context) ([]target.Target, error)
	changed  chan struct{} // there may be others
	refusals refused.Targets
	late     []lateCluster // those that were not reached at the start

	began time.Time // zero until the streams of the start are known

	mu        sync.Mutex
	followers []follower
	known     map[place]follower // the same
}

// place is what one follower follows: a collection, or an object of it by name.
type place struct {
	cluster         string
	resource        kube.Resource
	namespace, name string
}

// placeOf returns the place of t. Under '*' a type has one follower, whatever its version.
func placeOf(t target.Target) place {
	r := t.Resource
	if t.Typed == target.Everything {
		r.Version, r.Kind = "", ""
	}
	return place{t.Cluster, r, t.Namespace, t.Name}
}

// follower is a stream of either kind.
type follower interface {
	follow(context.Context) error
	listen(context.Context)
	Label() string
	Undecided() error
	absent() []string
	wake()
	retry(cluster string)
}

func (s *session) run(ctx context.Context, p *cli.Program) (err error) {
	defer s.folder.Flush()
	if s.kept, err = s.keep(); err != nil {
		return err
	}
	if s.kept != nil {
		defer func() { err = s.kept.close(err) }()
	}
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.output.ends(ctx)()
	defer context.AfterFunc(ctx, func() { s.output.hooks.over(context.Cause(ctx)) })()
	records := make(chan record.Record, record.RecordBuffer)
	s.changed = make(chan struct{}, 1)
	began := time.Now()
	for _, t := range s.targets {
		if _, _, err := s.add(ctx, t, records); err != nil {
			return err
		}
	}
	s.began = began
	if s.output.verdict != nil {
		if err := s.output.verdict.Expect(s.targets, len(s.followers)); err != nil {
			return err
		}
	}
	pr := &printer{output: s.output, w: s.monitor.Count(s.inTime(outer, ctx, s.lines(p.Stdout))), done: ctx.Done(), stop: cancel, errs: func(err error) { s.talk.EachNote(err.Error(), "not printed") }}
	if s.kept != nil {
		s.kept.states = nil // the streams have them
		pr.keeper = s.kept
		if s.kept.acks != nil {
			pr.seq = s.kept.acks.first - 1
		}
	}
	printed := make(chan error, 1)
	feed := s.debounced(records, pr)
	go func() { printed <- pr.run(feed) }()
	s.follow(ctx, cancel, p, records)
	close(records)
	err = <-printed
	s.output.hooks.drain()
	if s.kept != nil && s.kept.acks != nil && err == nil {
		s.kept.acks.drain(outer, p.Stdout) // an end that was asked for waits for the reader
	}
	if s.kept != nil && err == nil {
		pr.settle() // what hooks have done meanwhile
		err = pr.err
	}
	if err != nil {
		return s.overdue(whyEnded(ctx, err), pr.events)
	}
	if err := s.output.verdict.Decided(filter.Decided(context.Cause(ctx), s.followers)); err != nil || s.output.verdict == nil || !s.flags.waiting.Wants() {
		return s.overdue(cmp.Or(err, s.absent()), pr.events)
	}
	return exit.Failed(fmt.Errorf("--once: this does not hold: %s", s.output.verdict.Missing()))
}

// add returns what follows t, whose records go to records, and whether it is new.
func (s *session) add(ctx context.Context, t target.Target, records chan<- record.Record) (_ follower, isNew bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := placeOf(t)
	if f := s.known[at]; f != nil {
		return f, false, nil
	}
	state, i := s.monitor.Add(t), len(s.followers)
	f, err := s.stream(ctx, i, t, func(r record.Record) {
		if r.Mark == record.NoMark {
			state.See(&r)
		}
		r.Stream = i
		record.Enqueue(records, r)
		if s.tap != nil {
			s.tap(r)
		}
		if definesTypes(&r) {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	})
	if err != nil {
		return nil, false, err
	}
	s.refusals.Follow()
	s.followers = append(s.followers, f)
	if s.known == nil {
		s.known = map[place]follower{}
	}
	s.known[at] = f
	return f, true, nil
}

// debounced returns records, or with --debounce what is left of them. Conditions see each
// state, not only those that are left for pr.
func (s *session) debounced(records chan record.Record, pr *printer) <-chan record.Record {
	if s.flags.debounce <= 0 {
		return records
	}
	feed, d := make(chan record.Record), &debounce.Debouncer{Wait: s.flags.debounce}
	if verdict := pr.output.verdict; verdict != nil {
		pr.output.verdict = nil
		d.See = func(r *record.Record) bool {
			end := verdict.See(r)
			if end != nil {
				pr.stop(end)
			}
			return end != nil
		}
	}
	go func() {
		d.Run(records, feed)
		close(feed)
	}()
	return feed
}

// follow runs the streams until all have ended, beside what looks whether the server and
// the reader of stdout are still there.
func (s *session) follow(ctx context.Context, cancel context.CancelCauseFunc, p *cli.Program, records chan<- record.Record) {
	var watches, silence sync.WaitGroup
	quiet, done := context.WithCancel(ctx)
	silence.Go(func() {
		if unread(quiet, p.Stdout) {
			cancel(exit.ErrPipe)
		}
	})
	s.monitor.Begin()
	silence.Go(func() {
		if err := s.monitor.Watchdog(quiet); err != nil {
			cancel(err)
		}
	})
	if s.kept != nil {
		silence.Go(func() { s.kept.tick(quiet, records) })
	}
	begin := func(f follower) {
		silence.Go(func() { f.listen(quiet) })
		watches.Go(func() {
			if err := f.follow(ctx); err != nil {
				cancel(err) // the first one counts
			}
		})
	}
	for _, f := range s.followers {
		begin(f)
	}
	for _, l := range s.late {
		watches.Go(func() {
			if err := s.join(ctx, l, records, begin); err != nil {
				cancel(err)
			}
		})
	}
	if s.discover != nil && !s.flags.once {
		watches.Go(func() {
			if err := s.explore(ctx, records, begin); err != nil {
				cancel(err)
			}
		})
	}
	watches.Wait()
	done()
	silence.Wait()
}

// absent is how a run with --once ends where names do not exist, as list does.
func (s *session) absent() error {
	if !s.flags.once || s.output.verdict != nil {
		return nil
	}
	if err := s.refusals.Missing(); err != nil && s.discover == nil {
		return err
	}
	var labels []string
	for _, f := range s.followers {
		labels = append(labels, f.absent()...)
	}
	if labels == nil {
		return nil
	}
	return exit.Failed(fmt.Errorf("not found%s: %s", target.WhereOnce(s.targets), strings.Join(labels, ", ")))
}

// retry has all streams of a cluster that wait before they try to reach it again try it soon:
// one of them has reached it.
func (s *session) retry(cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.followers {
		f.retry(cluster)
	}
}

// stream returns what follows t.
func (s *session) stream(ctx context.Context, i int, t target.Target, give func(record.Record)) (follower, error) {
	fields, err := t.FieldSelector(s.flags.selection.FieldsSel)
	if err != nil {
		return nil, exit.Usage("%q: %w", t.Name, err)
	}
	opts := watch.Options{Limit: s.flags.selection.Limit(), MaxItem: record.MaxItem, Idle: s.flags.idleTimeout, Timeout: s.flags.watchTimeout,
		Revision: kube.Revision(s.flags.sinceRV), Initial: map[string]watch.Initial{"paged": watch.Paged, "stream": watch.Stream}[s.flags.initialList],
		Backoff: s.flags.backoff}
	col := client.Of[codec.Raw](s.clusters[t.Cluster].Client, t.Resource).In(t.Namespace).Where(s.flags.selection.Selector, fields)
	if t.Listed {
		opts.Initial = watch.Paged
	}
	if s.kept != nil && !s.flags.once {
		opts.Revision = s.kept.states[i].Revision
		opts.Seen = opts.Revision // asked for: the server may have been restored meanwhile
	}
	if s.flags.watchOnly {
		if opts.Revision, err = now(ctx, col, t.Label()); err != nil {
			return nil, err
		}
	}
	if s.flags.sinceRV != "" {
		// A server that fails to say, or may not, leaves it to the watch to find out.
		if at, err := now(ctx, col, t.Label()); err == nil && opts.Revision.Newer(at) {
			return nil, exit.Failed(fmt.Errorf("--since-rv %s: the server is at %s for %s, which is before it: the revision is another cluster's, or the server was restored to an earlier state",
				s.flags.sinceRV, at, t.Label()))
		}
	}
	switch {
	case s.output.managed:
		return prepare(s, i, newStream(t, col, &s.output, opts, func(o codec.RawFull) codec.Raw { return o.Raw }), give), nil
	case s.output.expressManaged:
		f := newStream(t, col, &s.output, opts, record.WithoutManaged)
		f.complete = func(o codec.RawFull) codec.Raw { return o.Raw }
		return prepare(s, i, f, give), nil
	}
	return prepare(s, i, newStream(t, col, &s.output, opts, func(o codec.Raw) codec.Raw { return o }), give), nil
}

func prepare[T record.Raw](s *session, i int, f *stream[T], give func(record.Record)) *stream[T] {
	f.state = s.monitor.Stream(i)
	f.state.Bind(f.contact, func() int { return f.store.Len() })
	f.resolve = target.ServedAs(s.clusters[f.Cluster].Types.Fetch, target.ToWatch, f.Target)
	if s.output.verdict == nil {
		f.refusals = &s.refusals
	}
	f.memory, f.since = &s.memory, s.began
	f.reached = s.retry
	f.give, f.talk, f.folder, f.once, f.maxFailures = give, s.talk, s.folder.Join(), s.flags.once, s.flags.maxFailures
	f.decided = s.output.verdict != nil
	f.narrowed = !s.flags.selection.Selector.Empty() || !s.flags.selection.FieldsSel.Empty() || !s.output.where.Empty()
	if s.kept != nil {
		f.lose = func() { s.lose(i, give) }
		f.resume(s.kept.states[i], s.flags.checkpointing.file)
	}
	return f
}

// now requests the server's revision, with at most one object of col.
func now(ctx context.Context, col client.Collection[codec.Raw], label string) (kube.Revision, error) {
	var meta codec.ListMeta
	none := func([]byte) (struct{}, error) { return struct{}{}, nil }
	lo := list.Options{Limit: 1, MaxItem: record.MaxItem}
	for _, err := range list.Page(ctx, col, &list.Cursor{}, lo, none, &meta) {
		if err != nil {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			return "", exit.Failed(fmt.Errorf("list %s: %w", label, err))
		}
	}
	if meta.ResourceVersion == "" {
		return "", exit.Failed(errors.New("list " + label + ": the server gave no resourceVersion: it cannot be watched"))
	}
	return kube.Revision(meta.ResourceVersion), nil
}

// overdue is err, and where that is the end of --timeout also what has not come by
// then. events were printed.
func (s *session) overdue(err error, events int) error {
	if !errors.Is(err, exit.ErrTimedOut) || errors.Is(err, errUnread) {
		return err
	}
	var what []string
	switch {
	case s.output.verdict != nil && !s.output.verdict.Synced() && s.flags.waiting.Wants():
		what = append(what, "the first list has not come in whole")
	case s.output.verdict != nil && s.flags.waiting.Wants():
		what = append(what, "this does not hold: "+s.output.verdict.Missing())
	case s.flags.once:
		what = append(what, "the first list has not come in whole")
	}
	if s.output.maxEvents > 0 {
		what = append(what, fmt.Sprintf("%s of %s came", printable.Thousands(events), printable.Count(s.output.maxEvents, "event")))
	}
	if what == nil {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(what, "; "))
}
