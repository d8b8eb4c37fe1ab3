// Package recording is the command record: it records events, or the traffic of another
// client, in a file.
package recording

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/auth"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/refused"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// fileFlags are the flags that record and record proxy share.
type fileFlags struct {
	connection     connect.Flags
	file           string
	force          bool
	includeSecrets bool
	includeEnv     bool
	maxBytes       int64
	exitAfter      time.Duration
	quiet          bool
	logFormat      string
}

func (o *fileFlags) registerFile(f *pflag.FlagSet) {
	f.StringVar(&o.file, "file", "", "write the recording to this file, named *.lwrec.ndjson, or *.lwrec.ndjson.gz to compress it")
	f.BoolVar(&o.force, "force", false, "replace the file if it exists, once something is recorded")
	f.BoolVar(&o.includeSecrets, "include-secrets", false, "keep the values of Secrets: anyone who has the file can read them")
	f.BoolVar(&o.includeEnv, "include-env", false, "keep the values of environment variables, which may be passwords")
	f.Int64Var(&o.maxBytes, "max-bytes", 1<<30, "end when the recording has this many bytes, uncompressed (-1 = no limit)")
	f.DurationVar(&o.exitAfter, "exit-after", 0, "end after this time, with exit code 0")
}

func (o *fileFlags) registerRest(f *pflag.FlagSet) {
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing on stderr but why the program ended")
	f.StringVar(&o.logFormat, "log-format", "text", "write messages to stderr as text or json")
	o.connection.Register(f)
}

// check refuses flags that make no sense.
func (o *fileFlags) check(cmd *cobra.Command) error {
	if err := cli.Positive(cmd, "exit-after"); err != nil {
		return err
	}
	switch {
	case o.logFormat != "text" && o.logFormat != "json":
		return exit.Usage("--log-format %q: want one of text, json", printable.Clip(o.logFormat))
	case o.maxBytes == 0 || o.maxBytes < -1:
		return exit.Usage("--max-bytes %d: want more than 0, or -1 for no limit", o.maxBytes)
	case o.file == "":
		return exit.Usage("say where to record to, such as --file pods.lwrec.ndjson.gz")
	case o.force:
		return nil
	}
	if _, err := os.Stat(o.file); err == nil {
		return exit.Usage("%s exists: give another name, or --force to replace it", o.file)
	}
	return nil
}

// end returns a context that --exit-after ends.
func (o *fileFlags) end(ctx context.Context) (context.Context, func()) {
	if o.exitAfter == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, o.exitAfter, exit.ErrAskedFor)
}

// eventFlags are the flags of record.
type eventFlags struct {
	recording fileFlags
	selection target.Selection
	list      string
	idle      time.Duration
	maxEvents int
}

const recordLong = `Record what is listed and watched in a file, until stopped. "listwatch replay"
plays it again: as events, or as a server. "listwatch record proxy" records the
traffic of another client.

Secrets, and the values of environment variables, are replaced while they are
recorded, by as many bytes. Credentials are not in the file, unless a server repeats
one of less than 12 bytes, or encodes one. A recording that was cut, even by kill -9,
plays as far as it goes. It has the columns of custom resources if their definitions
may be read.

The file that --force replaces is put back if nothing is recorded. Until something is,
it stands beside the new one, as .NAME.listwatch-DIGITS; kill -9 leaves it there.`

// Command is record.
func Command(p *cli.Program) *cobra.Command {
	o := &eventFlags{}
	cmd := &cobra.Command{
		Use:   "record TYPE[,TYPE...] [NAME...] --file FILE | proxy ADDRESS --file FILE",
		Short: "Record events, or the traffic of another client",
		Long:  recordLong,
		Example: `  listwatch record pods,deployments -n shop --file shop.lwrec.ndjson.gz
  listwatch record nodes --file nodes.lwrec.ndjson --exit-after 10m
  listwatch record proxy 127.0.0.1:8001 --file kubectl.lwrec.ndjson`,
		RunE: func(cmd *cobra.Command, args []string) error { return runRecord(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.recording.registerFile(f)
	f.IntVar(&o.maxEvents, "max-events", 0, "end after this many events of objects, with exit code 0")
	o.selection.Register(f)
	f.StringVar(&o.list, "initial-list", "auto", "fetch the first state by: auto, paged or stream")
	f.DurationVar(&o.idle, "idle-timeout", 3*time.Minute, "open a watch again after this silence, bookmarks included")
	o.recording.registerRest(f)
	complete.Objects(p, cmd, &o.recording.connection)
	cmd.AddCommand(proxyCommand(p))
	return cmd
}

func runRecord(p *cli.Program, cmd *cobra.Command, args []string, o *eventFlags) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	w, err := target.ParseArgs(args)
	if err != nil {
		return err
	}
	t := p.Talk(o.recording.logFormat, o.recording.quiet)
	defer t.Summary()
	ctx, release := o.recording.end(cmd.Context())
	defer release()
	c, cfg, err := o.recording.connection.Load(p, t)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	namespace := cfg.Namespace
	if o.selection.All {
		namespace = ""
	}
	missing := messages.NewMissing(t)
	w.Broken = func(now map[string]error) { missing.Report("", now) }
	var targets []target.Target
	err = o.recording.connection.Types(p, c, cfg).Now(ctx, func(api *discovery.API) (err error) {
		targets, err = w.In(api, c.Server(), namespace, target.ToWatch)
		return err
	})
	if err != nil {
		return err
	}
	r, err := o.recording.recorder(ctx, c, t)
	if err != nil {
		return err
	}
	return r.close(r.events(ctx, o, targets))
}

// check refuses flags that make no sense.
func (o *eventFlags) check(cmd *cobra.Command) error {
	if err := cli.Positive(cmd, "max-events"); err != nil {
		return err
	}
	if err := o.recording.check(cmd); err != nil {
		return err
	}
	switch {
	case o.list != "auto" && o.list != "paged" && o.list != "stream":
		return exit.Usage("--initial-list %q: want one of auto, paged, stream", printable.Clip(o.list))
	case o.idle <= 0:
		return exit.Usage("--idle-timeout %v: want more than 0", o.idle)
	}
	return o.selection.Parse()
}

// events records targets until ctx is done or one of them fails.
func (r *recorder) events(ctx context.Context, o *eventFlags, targets []target.Target) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.talk.Info("record", "recording to "+r.flags.file+" until it is stopped, as by Ctrl-C", "recording", "file", r.flags.file)
	var watches sync.WaitGroup
	r.folder = messages.NewFolder(r.talk)
	defer r.folder.Flush()
	r.waiting.Store(int64(len(targets)))
	for range targets {
		r.skipped.Follow()
		r.folder.Join()
	}
	for _, t := range targets {
		watches.Go(func() {
			if err := r.follow(ctx, o, t); err != nil {
				cancel(err) // the first one counts
			}
		})
	}
	watched, tick := make(chan struct{}), time.NewTicker(time.Second)
	defer tick.Stop()
	go func() {
		defer close(watched)
		watches.Wait()
	}()
	total := -1
	if o.maxEvents > 0 {
		total = o.maxEvents
	}
	for bar := r.talk.Task("record", "events"); ; {
		select {
		case <-tick.C:
			bar.At(int(r.count.Load()), total)
			if err := r.tick(); err != nil {
				cancel(err)
			}
		case <-watched:
			r.talk.Done()
			return context.Cause(ctx)
		}
	}
}

func (r *recorder) follow(ctx context.Context, o *eventFlags, t target.Target) error {
	fields, err := t.FieldSelector(o.selection.FieldsSel)
	if err != nil {
		r.denied.Store(true)
		return exit.Usage("%q: %w", t.Name, err)
	}
	columns, err := columnsOf(ctx, r.client, t.Resource)
	if err != nil && ctx.Err() == nil {
		r.talk.Warn(t.Label(), "cannot get its definition, the recording has no columns of it: "+auth.Brief(err), "no columns", "err", printable.Line(err.Error()))
	}
	stream := r.out.Stream(replay.Target{Resource: t.Resource, Namespace: t.Namespace, Labels: o.selection.Selector.String(), Fields: fields.String(), Columns: columns})
	initial := map[string]watch.Initial{"paged": watch.Paged, "stream": watch.Stream}[o.list]
	synced, failures := false, 0
	// As watch: a request that is refused before the first sync ends the run.
	ends := func(i *watch.Interruption) bool {
		refused := errors.Is(i.Err, kube.ErrUnauthorized) || errors.Is(i.Err, kube.ErrForbidden) || errors.Is(i.Err, kube.ErrNotFound)
		return i.Next == watch.OpNone || refused && !synced
	}
	w := watch.New(client.Of[codec.RawFull](r.client, t.Resource).In(t.Namespace).Where(o.selection.Selector, fields), watch.Options{
		Limit: o.selection.Limit(), MaxItem: record.MaxItem, Idle: o.idle, Initial: initial, Trace: stream.Trace(watch.Trace{Interrupted: func(i watch.Interruption) {
			if i.Err != nil && !ends(&i) {
				r.folder.Say(messages.Shared{Level: slog.LevelWarn, Subject: t.Label(),
					Text: fmt.Sprintf("cannot %s: %s; again in %s", messages.Verb(i.Op), auth.Brief(i.Err), printable.Rough(i.Wait)),
					Kind: fmt.Sprintf("cannot %s: %s; retrying", messages.Verb(i.Op), auth.Cause(i.Err))}, "failed", "err", printable.Line(i.Err.Error()))
			}
		}})})
	for ev, err := range replay.Record(stream, only(t, w.Events(ctx))) {
		var item *codec.ItemError
		var stop *watch.Interruption
		if err := r.out.Err(); err != nil {
			return r.broken(err)
		}
		switch {
		case err == nil && ev.Type == watch.Synced:
			if !synced {
				synced = true
				r.answered()
			}
		case err == nil && ev.Object.GetName() != "":
			r.begin()
			if n := r.count.Add(1); o.maxEvents > 0 && n >= int64(o.maxEvents) {
				return exit.ErrAskedFor
			}
		case err == nil:
		case errors.As(err, &item):
			r.talk.Each(t.Label(), "an object cannot be read, and is recorded without its contents: "+item.Error(), "quarantined", "err", item.Error())
		case errors.As(err, &stop):
			if failures++; ends(stop) {
				err := exit.Failed(fmt.Errorf("%s %s: %w", messages.Verb(stop.Op), t.Label(), stop.Err))
				if refused.Skippable(stop.Err, t) && !synced {
					if err = r.skipped.Refuse(t.Label(), err); err == nil {
						r.answered()
						r.folder.Say(refused.Message(t, stop.Err, ""), "skipped", "err", messages.Reason(stop.Err))
						return nil
					}
				}
				if failures == 1 && !synced {
					r.denied.Store(true)
				}
				return err
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			return exit.Failed(err)
		}
	}
	return errors.New("the watcher ended without a reason") // it never does
}

// only leaves out objects whose names are not wanted.
func only(t target.Target, events iter.Seq2[watch.Event[codec.RawFull], error]) iter.Seq2[watch.Event[codec.RawFull], error] {
	if t.Names == nil {
		return events
	}
	return func(yield func(watch.Event[codec.RawFull], error) bool) {
		for ev, err := range events {
			name := ev.Key.Name
			if name != "" && !t.Includes(name) {
				continue
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
