package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/hooking"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/live"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/objects"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/served"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/until"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

// watchFlags are the flags of watch.
type watchFlags struct {
	connection    connect.Flags
	selection     target.Selection
	reporting     reporting
	files         objects.Flags
	events        eventFlags
	waiting       until.Flags
	hooking       hooking.Flags
	operating     monitor.Flags
	checkpointing checkpointing

	initialList  string
	watchOnly    bool
	sinceRV      string
	once         bool
	exitAfter    time.Duration
	timeout      time.Duration
	idleTimeout  time.Duration
	watchTimeout time.Duration
	debounce     time.Duration
	maxFailures  int
	memory       int64 // MiB
	live         bool
	watching     bool
	backoff      time.Duration // not a flag: the demo is in a hurry
}

const watchLong = `Watch objects until stopped.

After a broken connection the watch resumes where it broke. If the server no longer has
the history since then (410), the program lists all objects again, compares them with
those that it knows, and prints the differences, deletions included.

After such a list an event may be printed again, and intermediate states may be missing.
While the program runs, deletions are never missing. If the server stops serving a type,
the program compares its objects when the type is served again.` + until.Help + hooking.Help

func watchCommand(p *cli.Program) *cobra.Command {
	o := &watchFlags{}
	cmd := &cobra.Command{
		Use:   "watch TYPE[.VERSION[.GROUP]][,TYPE...] [NAME...] | TYPE/NAME...",
		Short: "Watch objects until stopped",
		Long:  watchLong,
		Example: `  listwatch watch pods
  listwatch watch deployments,pods -n shop -l app=web -o wide
  listwatch watch node/a node/b -o ndjson
  listwatch watch '*' -n shop
  listwatch watch crontabs.v1.stable.example.com -A --exit-after 10m`,
		RunE: func(cmd *cobra.Command, args []string) error { return runWatch(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.selection.Register(f)
	o.files.Register(f)
	o.events.register(f)
	f.StringVar(&o.initialList, "initial-list", "auto", "fetch the first state by: auto, paged or stream")
	f.BoolVar(&o.watchOnly, "watch-only", false, "print only later events, without a first list")
	f.StringVar(&o.sinceRV, "since-rv", "", "print only the events after this resourceVersion")
	f.BoolVar(&o.once, "once", false, "end after the first list")
	f.DurationVar(&o.exitAfter, "exit-after", 0, "end after this time, with exit code 0")
	f.DurationVar(&o.timeout, "timeout", 0, "fail with exit code 4 if the run has not reached its end (--until, --max-events, --once) after this time")
	f.DurationVar(&o.idleTimeout, "idle-timeout", 3*time.Minute, "open a watch again after this silence, bookmarks included")
	f.DurationVar(&o.watchTimeout, "watch-timeout", 5*time.Minute, "ask the server to end each watch after this time, or up to twice that, at random")
	f.IntVar(&o.maxFailures, "max-failures", -1, "give up after this many failures in a row (-1 = never)")
	f.Int64Var(&o.memory, "memory", defaultMemory, "fail when the watched objects take more MiB than this")
	o.reporting.registerWhich(f)
	f.DurationVar(&o.debounce, "debounce", 0, "wait this long for further changes of an object, and print only the last one; if more than 64 MiB wait, print the oldest at once")
	o.waiting.Register(f)
	o.hooking.Register(f)
	o.operating.Register(f)
	o.checkpointing.register(f)
	f.BoolVar(&o.live, "live", false, "show a table and update it in place, instead of a line for each event")
	f.BoolVarP(&o.watching, "watch", "w", true, "accept this flag of kubectl, which has no effect here")
	o.reporting.registerHow(f)
	o.reporting.columns.RegisterServer(f)
	f.String("sort-by", "", "")
	cobra.CheckErr(f.MarkHidden("sort-by")) // for those who type it
	o.connection.Register(f)
	o.connection.Namespaces.Allow(f)
	o.connection.AllowClusters(f)
	complete.Objects(p, cmd, &o.connection)
	return cmd
}

func runWatch(p *cli.Program, cmd *cobra.Command, args []string, o *watchFlags) error {
	out, err := o.check(cmd, p)
	if err != nil {
		return err
	}
	args, command := o.hooking.Split(cmd, args)
	asked, err := o.hooking.Compile(cmd, command, out.types)
	if err != nil {
		return err
	}
	if asked != nil {
		out.hooks = &hooks{asked: *asked}
	}
	if err := o.reporting.columns.Mistaken(args); err != nil {
		return err
	}
	w, err := o.files.Read(cmd.Context(), args, cmd.InOrStdin())
	if err != nil {
		return err
	}
	switch {
	case w.Wish.Everything() && o.checkpointing.file != "":
		return exit.Usage("--checkpoint needs the same types in each run, and '*' may select others the next time: name them")
	case w.Wish.Everything() && out.verdict != nil:
		return exit.Usage("--until and --fail-on need all objects, and '*' may include types that cannot be read: name the types")
	}
	t := p.Messages(o.reporting.printing.logFormat, o.reporting.printing.quiet)
	defer t.Summary()
	ctx, release := o.ends(cmd.Context())
	defer release()
	mon, closed, err := o.operating.Start(ctx, cmd, t)
	if err != nil {
		return err
	}
	defer closed()
	clusters, err := o.connection.LoadAll(p, t)
	if err != nil {
		return err
	}
	out.format.Clusters = len(clusters) > 1
	s, err := o.session(ctx, t, w, clusters, out, mon)
	if err != nil {
		return err
	}
	defer s.closeIdleConnections()
	if o.live {
		var stop context.CancelCauseFunc
		ctx, stop = context.WithCancelCause(ctx)
		defer stop(nil)
		l, err := live.TakeTerminal(p, ctx, cmd.InOrStdin(), s.output.format, live.Source{Clusters: clusters, Monitor: mon}, t, stop)
		if err != nil {
			return err
		}
		defer l.Close()
		s.output.format.Custom = func(*print.Format) print.Encoder { return l }
	}
	return s.runHooked(cmd.Context(), ctx, p)
}

// session returns the run of what w asks for, in all clusters that are there.
func (o *watchFlags) session(ctx context.Context, t *messages.Writer, w objects.Choice, clusters []connect.Cluster, out output, mon *monitor.Monitor) (*session, error) {
	can := target.ToWatch
	if o.once {
		can = target.ToList
	}
	w.Missing = messages.NewMissing(t)
	discover := func(ctx context.Context, c *connect.Cluster) ([]target.Target, error) {
		w := w
		if o.goesOn() {
			w.Wish.Before = func() []kube.Resource { return checkpoint.Resources(o.checkpointing.file, c.Name) }
		}
		ts, err := w.Targets(ctx, *c, &o.connection.Namespaces, o.selection.All, (*served.Types).Now, can) // a first request that fails ends the run
		if err == nil && o.checkpointing.file != "" {
			err = identify(ctx, c)
		}
		return ts, err
	}
	whole := o.once || out.verdict != nil // needs all clusters from the beginning
	var found *reached
	err := o.reach(ctx, t, "", func() (err error) {
		if found, err = reach(ctx, clusters, !whole, discover); err != nil {
			found.close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(found.late) > 0 && whole {
		found.close()
		return nil, inCluster(found.late[0].Name, found.late[0].err)
	}
	targets := found.targets
	if len(targets) > 0 {
		if err := o.events.apply(ctx, found.clusters[targets[0].Cluster], &o.selection, targets); err != nil {
			found.close()
			return nil, err
		}
	}
	out.filter.Kept = &mon.Printed
	out.noteRedaction(t, targets)
	out.format.Kinds = target.SeveralTypes(targets) || o.reporting.columns.ShowKind
	out.format.Namespaces = o.selection.All || target.SeveralNamespaces(targets)
	for i := range found.late {
		found.late[i].discover = discover
	}
	s := &session{flags: o, clusters: found.clusters, late: found.late, talk: t, folder: messages.NewFolder(t), output: out, targets: targets, monitor: mon}
	s.memory.limit = o.memory << 20
	if w.Wish.Everything() {
		s.discover = func(ctx context.Context) (all []target.Target, err error) {
			for i := range clusters {
				ts, e := discover(ctx, &clusters[i])
				all, err = append(all, ts...), cmp.Or(err, e)
			}
			return all, err
		}
	}
	return s, nil
}

// check refuses flags that make no sense.
func (o *watchFlags) check(cmd *cobra.Command, p *cli.Program) (output, error) {
	out, err := o.reporting.check(cmd, p, o.hooking.Given(cmd))
	if err != nil {
		return out, err
	}
	if err := o.selection.Parse(); err != nil {
		return out, err
	}
	if err := cli.Positive(cmd, "exit-after", "timeout", "debounce"); err != nil {
		return out, err
	}
	if out.verdict, err = o.waiting.Compile(); err != nil {
		return out, err
	}
	if err := o.checkpointing.check(cmd.Flags().Changed("checkpoint"), o.hooking.Given(cmd)); err != nil {
		return out, err
	}
	if o.checkpointing.ack != "" && out.format.Name != "ndjson" {
		return out, exit.Usage("--ack takes the seq of lines, which only -o ndjson has: give both")
	}
	out.keeps, out.whole = o.checkpointing.file != "", o.live // of which a filter and differences are made
	switch {
	case cmd.Flags().Changed("sort-by"):
		return out, exit.Usage("--sort-by is for a list; a watch prints what happens when it happens")
	case cmd.Flags().Changed("watch") && !o.watching:
		return out, exit.Usage("--watch=false: to end after the first list give --once, or use listwatch list")
	case o.maxFailures < -1:
		return out, exit.Usage("--max-failures %d: want -1, for any number, or more", o.maxFailures)
	case o.initialList != "auto" && o.initialList != "paged" && o.initialList != "stream":
		return out, exit.Usage("--initial-list %q: want one of auto, paged, stream", printable.Clip(o.initialList))
	case o.once && (o.watchOnly || o.sinceRV != ""):
		return out, exit.Usage("--once prints the first list, which --watch-only and --since-rv leave out: give one")
	case o.once && o.hooking.Given(cmd) && !o.hooking.Initial && !o.hooking.Chosen() && o.checkpointing.file == "":
		return out, exit.Usage("--once prints the first list, for whose objects hooks are run with --exec-initial only: give both")
	case o.reporting.skipInitial && o.hooking.Initial:
		return out, exit.Usage("--skip-initial skips the objects of the first list, --exec-initial runs hooks for them: give one")
	case out.where.Asks() && o.watchOnly:
		return out, exit.Usage("--where asks which objects matched before, which --watch-only leaves out: give --skip-initial instead")
	case out.where.Asks() && o.sinceRV != "":
		return out, exit.Usage("--where asks which objects matched before, which --since-rv leaves out: give --checkpoint instead")
	case o.waiting.Wants() && (o.watchOnly || o.sinceRV != ""):
		return out, exit.Usage("--until asks about all objects, which --watch-only and --since-rv leave out: give one")
	case o.checkpointing.file != "" && (o.watchOnly || o.sinceRV != ""):
		return out, exit.Usage("--checkpoint says where to begin, as --watch-only and --since-rv do: give one")
	case o.checkpointing.file != "" && o.live:
		return out, exit.Usage("--live shows all objects, and a run with --checkpoint may receive only the changes: give one of them")
	case o.checkpointing.file != "" && out.verdict != nil:
		return out, exit.Usage("--until and --fail-on need all objects, and a run with --checkpoint may receive only the changes: give one of them")
	case o.live && out.format.Name != "" && out.format.Name != "wide":
		return out, exit.Usage("--live shows columns: it is for -o wide, or no -o")
	case o.live && o.reporting.columns.Timestamps != "":
		return out, exit.Usage("--timestamps is in front of lines, which --live does not print: give one")
	case o.live && (o.reporting.columns.Narrow || o.reporting.visible):
		return out, exit.Usage("--live has a table for each type, and marks what changes: give neither --narrow nor --on-visible-change")
	case o.live && o.once:
		return out, exit.Usage("--live continues, --once ends after the first list: give one")
	case o.watchOnly && o.sinceRV != "":
		return out, exit.Usage("--watch-only begins now, --since-rv in the past: give one")
	case o.memory < 1 || o.memory > maxMemory:
		return out, exit.Usage("--memory %d: want MiB, at least 1", o.memory)
	case o.idleTimeout <= 0:
		return out, exit.Usage("--idle-timeout %v: want more than 0", o.idleTimeout)
	case o.watchTimeout < time.Second:
		return out, exit.Usage("--watch-timeout %v: want at least 1s", o.watchTimeout)
	case o.reporting.skipInitial && (o.once || o.watchOnly || o.sinceRV != "" || o.live):
		return out, exit.Usage("--skip-initial watches all objects and prints what happens to them, which is not what --once, --watch-only, --since-rv or --live are for: give one")
	case o.sinceRV != "" && !kube.Revision(o.sinceRV).Ordered():
		return out, exit.Usage("--since-rv %q: want a resourceVersion, a decimal number", printable.Clip(o.sinceRV))
	case o.sinceRV == "0":
		return out, exit.Usage(`--since-rv 0: want a resourceVersion that the server gave; "0" means any state`)
	}
	return out, nil
}

// ends returns a context with the ends that are asked for by time.
func (o *watchFlags) ends(ctx context.Context) (context.Context, func()) {
	stops := []context.CancelFunc{}
	if o.exitAfter > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, o.exitAfter, exit.ErrAskedFor)
		stops = append(stops, stop)
	}
	if o.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("%w: %v", exit.ErrTimedOut, o.timeout))
		stops = append(stops, stop)
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
	}
}
