package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/recording"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	reporting reporting
	speed     float64
	fast      bool
	step      bool
	info      bool
	file      recording.File
}

const replayLong = `Play a recording of "listwatch record": print the events as watch does, at their
original pace, in the columns that a server of this Kubernetes version has. Custom
resources have the columns of the start of the recording. Ages are those of that time.

With --serve state, a fake API server goes through the recorded states: any client
can list and watch it. With --serve script, requests get the recorded responses, in the
same pieces and cut at the same byte; that requires a recording of "listwatch record
proxy". The URL is printed on stdout.`

func replayCommand(p *cli.Program) *cobra.Command {
	o := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Play a recording, as events or as a server",
		Long:  replayLong,
		Example: `  listwatch replay shop.lwrec.ndjson.gz --speed 10
  listwatch replay shop.lwrec.ndjson.gz --fast -o ndjson
  listwatch replay shop.lwrec.ndjson.gz --serve state --listen 127.0.0.1:8001
  listwatch replay shop.lwrec.ndjson.gz --info`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runReplay(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Float64Var(&o.speed, "speed", 1, "play this many times as fast as recorded")
	f.BoolVar(&o.fast, "fast", false, "play without any waiting")
	f.BoolVar(&o.step, "step", false, "play one entry for each line on stdin, N entries for a line with the number N, and the rest at its end")
	f.StringVar(&o.file.As, "serve", "", "serve the recording instead: state (a server that goes through the states) or script (the recorded responses)")
	f.StringVar(&o.file.Listen, "listen", "127.0.0.1:0", "serve at this address and port, with --serve (0 = a free port)")
	f.StringSliceVar(&o.file.AcceptHosts, "accept-host", nil, "accept requests to --serve that name this host, besides those of the loopback and IP addresses of this machine")
	f.Int64Var(&o.file.MaxBytes, "max-bytes", 80<<20, "refuse a recording that takes more memory than this, in bytes, or a line that takes a quarter")
	f.BoolVar(&o.info, "info", false, "print a summary of the file, and end")
	o.reporting.registerWhich(f)
	o.reporting.registerHow(f)
	o.reporting.columns.RegisterServer(f)
	complete.Values(cmd, nil)
	return cmd
}

func runReplay(p *cli.Program, cmd *cobra.Command, args []string, o *replayFlags) error {
	out, err := o.check(cmd, p, args)
	if err != nil {
		return err
	}
	t := p.Messages(o.reporting.printing.logFormat, o.reporting.printing.quiet)
	defer t.Summary()
	o.file.Path = args[0]
	if o.info {
		return o.file.Info(p)
	}
	rec, err := o.file.Load()
	if err != nil {
		return o.file.Error(err)
	}
	if rec.Truncated {
		t.Info("replay", "the recording was cut: it plays as far as it goes", "cut")
	}
	pace := replay.Pace{Speed: o.speed, Fast: o.fast}
	if o.step {
		pace.Step = &replay.Step{}
		defer stepping(cmd.InOrStdin(), pace.Step)()
	}
	if o.file.As != "" {
		return o.file.Serve(p, cmd.Context(), rec, pace, t)
	}
	r := &replaying{flags: o, output: out, rec: rec, pace: pace, talk: t}
	return r.run(cmd.Context(), p)
}

// check refuses flags that make no sense.
func (o *replayFlags) check(cmd *cobra.Command, p *cli.Program, args []string) (output, error) {
	out, err := o.reporting.check(cmd, p, false)
	if err != nil {
		return out, err
	}
	if err := o.reporting.columns.Mistaken(args); err != nil {
		return out, err
	}
	paces := 0
	for _, name := range []string{"speed", "fast", "step"} {
		if cmd.Flags().Changed(name) {
			paces++
		}
	}
	switch {
	case len(args) != 1:
		return out, exit.Usage("say which recording, one file")
	case !(o.speed >= 0.001 && o.speed <= 1e6):
		return out, exit.Usage("--speed %v: want 0.001 to 1000000", o.speed)
	case paces > 1:
		return out, exit.Usage("--speed, --fast and --step are three ways to wait: give one")
	case o.file.As != "" && o.file.As != "state" && o.file.As != "script":
		return out, exit.Usage("--serve %q: want state or script", printable.Clip(o.file.As))
	case o.file.MaxBytes < 1:
		return out, exit.Usage("--max-bytes %d: want more than 0", o.file.MaxBytes)
	case o.file.As == "" && cmd.Flags().Changed("listen"):
		return out, exit.Usage("--listen is for --serve: give both")
	case o.file.As == "" && cmd.Flags().Changed("accept-host"):
		return out, exit.Usage("--accept-host is for --serve: give both")
	case o.file.As != "" && o.info:
		return out, exit.Usage("--info ends at once and --serve does not: give one")
	}
	if o.file.As != "" || o.info {
		about := pflag.NewFlagSet("", pflag.ContinueOnError)
		(&reporting{}).registerWhich(about)
		(&reporting{}).registerHow(about)
		(&print.ColumnFlags{}).RegisterServer(about)
		var wrong error
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if about.Lookup(f.Name) != nil && !slices.Contains([]string{"quiet", "log-format", "color", "redact"}, f.Name) && wrong == nil {
				wrong = exit.Usage("--%s is about printed events: give neither --serve nor --info with it", f.Name)
			}
		})
		return out, wrong
	}
	return out, nil
}

// stepping releases entries as in says, until it ends or end is called. A read
// that cannot be called off, as of a terminal, goes on until the program ends.
func stepping(in io.Reader, s *replay.Step) (end func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		steps(in, s)
	}()
	return func() {
		f, ok := in.(interface{ SetReadDeadline(time.Time) error })
		if !ok || f.SetReadDeadline(time.Now()) != nil {
			return
		}
		<-done
		_ = f.SetReadDeadline(time.Time{}) // whoever has it may read on
	}
}

// steps releases entries as the lines of in say.
func steps(in io.Reader, s *replay.Step) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		n, err := strconv.Atoi(strings.TrimSpace(lines.Text())) // the largest for a larger one
		if errors.Is(err, strconv.ErrSyntax) {
			n = 1 // no number
		}
		s.Release(n)
	}
	s.Release(1 << 40)
}

// replaying is one run of replay that prints.
type replaying struct {
	flags  *replayFlags
	output output
	rec    *replay.Recording
	pace   replay.Pace
	talk   *messages.Writer
	rows   *recording.Rows // nil = objects are printed
}

func (r *replaying) run(ctx context.Context, p *cli.Program) error {
	streams := r.rec.Streams()
	if len(streams) == 0 {
		return r.flags.file.Error(errors.New(`there are no events in this recording; if it is one of traffic, serve it: --serve script`))
	}
	var targets []target.Target
	for _, s := range streams {
		targets = append(targets, target.Target{Resource: s.Resource, Namespace: s.Namespace})
		r.output.format.Namespaces = r.output.format.Namespaces || s.Namespace == ""
	}
	r.output.format.Kinds = target.SeveralTypes(targets) || r.flags.reporting.columns.ShowKind
	if r.output.tables() {
		rows, err := recording.NewRows(r.rec)
		if err != nil {
			return exit.Failed(err)
		}
		defer rows.Close()
		r.rows = rows
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer r.output.ends(ctx)()
	records := make(chan record.Record, record.RecordBuffer)
	printed := make(chan error, 1)
	pr := &printer{output: r.output, w: p.Stdout, stop: cancel, errs: func(err error) { r.talk.EachNote(err.Error(), "not printed") }}
	go func() { printed <- pr.run(records) }()
	end := r.play(ctx, targets, records)
	close(records)
	if err := <-printed; err != nil {
		return whyEnded(ctx, err)
	}
	return end
}

// play prints the events of the recording as watch prints them, in their original order
// at any speed. It returns how the replay ended.
func (r *replaying) play(ctx context.Context, targets []target.Target, records chan<- record.Record) error {
	var streams []*playedStream
	each := messages.NewFolder(r.talk) // that nobody joins: a message for each stream
	for _, t := range targets {
		s := &playedStream{stream: stream[codec.RawFull]{Target: t, served: t.Resource, store: cache.NewStore[codec.RawFull](), asRaw: func(o codec.RawFull) codec.Raw { return o.Raw }, began: time.Now(), columns: &table.NoColumns, maxFailures: -1,
			give: func(rec record.Record) { record.Enqueue(records, rec) }, talk: r.talk, folder: each}}
		s.selects(&r.output)
		s.first, s.decided, s.terse = r.output.byTime(t.Resource), true, len(targets) > 3
		streams = append(streams, s)
	}
	trace := func(n int) watch.Trace {
		s := streams[n]
		return watch.Trace{Listed: s.listed, Connected: s.connected, Interrupted: func(i watch.Interruption) {
			s.traced = true
			s.interrupted(&i)
		}}
	}
	bar, last := r.talk.Task("replay", "s of the recording"), r.rec.Entries[len(r.rec.Entries)-1]
	for played := range replay.All[codec.RawFull](ctx, r.rec, r.pace, trace) {
		bar.At(int(played.At.Seconds()), int(last.At.Seconds()))
		if played.Stream < 0 {
			records <- record.Record{Say: func() { r.talk.Info("mark", played.Mark, "mark", "label", played.Mark) }}
			continue
		}
		s := streams[played.Stream]
		if played.Err == nil && played.Event.Object.GetName() != "" {
			played.Event.Object = r.shown(played.Stream, s.Resource, played.Event.Object, played.At)
		}
		if err := s.take(ctx, played.Event, played.Err); err != nil {
			return whyEnded(ctx, err)
		}
	}
	for _, s := range streams {
		s.first.Flush(s.give) // of a recording that ends in a first list
	}
	return filter.Decided(context.Cause(ctx), streams)
}

// shown returns o in the form in which watch gets it.
func (r *replaying) shown(stream int, res kube.Resource, o codec.RawFull, at time.Duration) codec.RawFull {
	if !r.output.managed && !r.output.expressManaged {
		o.Raw = record.WithoutManaged(o)
	}
	if r.rows != nil {
		o.Raw = r.rows.Of(stream, res, o.Raw, at)
	}
	return o
}

// playedStream is a stream that has happened: it never gives up where its
// recorder did not.
type playedStream struct {
	stream[codec.RawFull]
	traced bool // the trace has reported the next interruption
}

func (s *playedStream) take(ctx context.Context, ev watch.Event[codec.RawFull], err error) error {
	var item *codec.ItemError
	var stop *watch.Interruption
	switch {
	case err == nil:
		return s.event(ctx, ev)
	case errors.As(err, &item):
		s.quarantine(ev, item)
	case errors.As(err, &stop):
		if !s.traced {
			s.interrupted(stop)
		}
		s.traced = false
	default:
		s.warn("the watch that was recorded failed: "+printable.Line(err.Error()), "failed", "err", printable.Line(err.Error()))
	}
	return nil
}

func (s *playedStream) interrupted(i *watch.Interruption) {
	err := s.fatal(i)
	switch {
	case err == nil:
		s.stream.interrupted(*i)
	case i.Next == watch.OpNone:
		s.warn("the watch that was recorded gave up: "+printable.Line(err.Error()), "gave up", "err", printable.Line(err.Error()))
	default:
		s.warn(fmt.Sprintf("cannot %s: %v; again in %s", messages.Verb(i.Op), i.Err, printable.Rough(i.Wait)),
			"failed", "op", string(i.Op), "err", printable.Line(i.Err.Error()), "attempt", i.Attempt, "wait", i.Wait.String())
		s.emit(record.Record{Type: record.ErrorType, Detail: errorOf(i.Err)})
	}
}
