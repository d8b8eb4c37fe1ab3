package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	reporting   reporting
	speed       float64
	fast        bool
	step        bool
	serve       string
	listen      string
	acceptHosts []string
	info        bool
	maxBytes    int64
	path        string // of the recording
}

const replayLong = `Play a recording of "listwatch record" again: the events, as watch prints them, at
the pace at which they came.

With --serve state, a fake API server goes through the recorded states: any client
can list and watch it. With --serve script, requests get the answers that were
recorded, in the same pieces and broken off at the same byte; that needs a
recording of "listwatch record proxy". The URL is printed on stdout.`

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
	f.Float64Var(&o.speed, "speed", 1, "how many times as fast as recorded")
	f.BoolVar(&o.fast, "fast", false, "without any waiting")
	f.BoolVar(&o.step, "step", false, "go on by one with each line on stdin, by N where the line is a number N, and at its end with the rest")
	f.StringVar(&o.serve, "serve", "", "serve it instead: state (a server that goes through the states) or script (the recorded answers)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address and port of --serve (0 = a free port)")
	f.StringSliceVar(&o.acceptHosts, "accept-host", nil, "host that requests to --serve may name, besides those of the loopback and IP addresses of this machine")
	f.Int64Var(&o.maxBytes, "max-bytes", 80<<20, "largest memory for the recording, in bytes, of which no line takes more than a quarter")
	f.BoolVar(&o.info, "info", false, "print what is in the file, and end")
	o.reporting.registerWhich(f)
	o.reporting.registerHow(f)
	complete.Values(cmd, nil)
	return cmd
}

func runReplay(p *cli.Program, cmd *cobra.Command, args []string, o *replayFlags) error {
	out, err := o.check(cmd, p, args)
	if err != nil {
		return err
	}
	t := messages.New(p.Stderr, o.reporting.printing.logFormat, o.reporting.printing.quiet)
	defer t.Summary()
	o.path = args[0]
	if o.info {
		return recordingInfo(p, o.path)
	}
	rec, err := o.load()
	if err != nil {
		return recordingError(o.path, err)
	}
	if rec.Truncated {
		t.Info("replay", "the recording was cut: it plays as far as it goes", "cut")
	}
	pace := replay.Pace{Speed: o.speed, Fast: o.fast}
	if o.step {
		pace.Step = &replay.Step{}
		defer stepping(cmd.InOrStdin(), pace.Step)()
	}
	if o.serve != "" {
		return serveRecording(p, cmd.Context(), o, rec, pace, t)
	}
	r := &replaying{flags: o, output: out, rec: rec, pace: pace, talk: t}
	return r.run(cmd.Context(), p)
}

// load reads the recording.
func (o *replayFlags) load() (*replay.Recording, error) {
	f, err := os.Open(o.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rec, err := replay.Load(f, o.maxBytes)
	if errors.Is(err, codec.ErrTooLarge) {
		err = fmt.Errorf("%w; give a larger --max-bytes if you trust it", err)
	}
	return rec, err
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
	case o.serve != "" && o.serve != "state" && o.serve != "script":
		return out, exit.Usage("--serve %q: want state or script", printable.Clip(o.serve))
	case o.maxBytes < 1:
		return out, exit.Usage("--max-bytes %d: want more than 0", o.maxBytes)
	case o.serve == "" && cmd.Flags().Changed("listen"):
		return out, exit.Usage("--listen is for --serve: give both")
	case o.serve == "" && cmd.Flags().Changed("accept-host"):
		return out, exit.Usage("--accept-host is for --serve: give both")
	case o.serve != "" && o.info:
		return out, exit.Usage("--info ends at once and --serve does not: give one")
	}
	if o.serve != "" || o.info {
		about := pflag.NewFlagSet("", pflag.ContinueOnError)
		(&reporting{}).registerWhich(about)
		(&reporting{}).registerHow(about)
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

// recordingError gives a recording that cannot be used its exit code.
func recordingError(path string, err error) error {
	if !errors.As(err, new(*fs.PathError)) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, replay.ErrVersion) {
		return &exit.Error{Code: exit.CodeUsage, Err: err}
	}
	return exit.Failed(err)
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
		n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil || n < 1 {
			n = 1
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
}

func (r *replaying) run(ctx context.Context, p *cli.Program) error {
	streams := r.rec.Streams()
	if len(streams) == 0 {
		return recordingError(r.flags.path, errors.New(`there are no events in this recording; if it is one of traffic, serve it: --serve script`))
	}
	var targets []target.Target
	for _, s := range streams {
		targets = append(targets, target.Target{Resource: s.Resource, Namespace: s.Namespace})
		r.output.format.Namespaces = r.output.format.Namespaces || s.Namespace == ""
	}
	r.output.format.Kinds = target.SeveralTypes(targets) || r.flags.reporting.columns.ShowKind
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	records := make(chan record.Record, record.RecordBuffer)
	printed := make(chan error, 1)
	pr := &printer{output: r.output, w: p.Stdout, stop: cancel, errs: func(err error) { r.talk.EachNote(err.Error(), "not printed") }}
	go func() { printed <- pr.run(records) }()
	var end error
	if r.output.managed || r.output.expressManaged {
		end = play(ctx, r, targets, records, func(o codec.RawFull) codec.Raw { return o.Raw })
	} else {
		end = play(ctx, r, targets, records, func(o codec.Raw) codec.Raw { return o })
	}
	close(records)
	if err := <-printed; err != nil {
		return err
	}
	return end
}

// play prints the events of the recording as watch prints them, in their original order
// at any speed. It returns how the replay ended.
func play[T record.Raw](ctx context.Context, r *replaying, targets []target.Target, records chan<- record.Record, asRaw func(T) codec.Raw) error {
	var streams []*playedStream[T]
	each := messages.NewFolder(r.talk) // that nobody joins: a message for each stream
	for _, t := range targets {
		s := &playedStream[T]{stream: stream[T]{Target: t, served: t.Resource, store: cache.NewStore[T](), asRaw: asRaw, began: time.Now(), columns: &table.NoColumns, maxFailures: -1,
			give: func(rec record.Record) { record.Enqueue(records, rec) }, talk: r.talk, folder: each}}
		s.selects(&r.output)
		streams = append(streams, s)
	}
	trace := func(n int) watch.Trace {
		s := streams[n]
		return watch.Trace{Listed: s.listed, Connected: s.connected, Interrupted: func(i watch.Interruption) {
			s.traced = true
			s.interrupted(&i)
		}}
	}
	for played := range replay.All[T](ctx, r.rec, r.pace, trace) {
		if played.Stream < 0 {
			records <- record.Record{Say: func() { r.talk.Info("mark", played.Mark, "mark", "label", played.Mark) }}
			continue
		}
		streams[played.Stream].take(ctx, played.Event, played.Err)
	}
	return filter.Decided(context.Cause(ctx), streams)
}

// playedStream is a stream that has happened: it never gives up where its
// recorder did not.
type playedStream[T record.Raw] struct {
	stream[T]
	traced bool // the trace has reported the next interruption
}

func (s *playedStream[T]) take(ctx context.Context, ev watch.Event[T], err error) {
	var item *codec.ItemError
	var stop *watch.Interruption
	switch {
	case err == nil:
		s.event(ctx, ev)
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
}

func (s *playedStream[T]) interrupted(i *watch.Interruption) {
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
