package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/hook"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/hooking"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/shell"
)

// errHooks is the cause of a watch that its hooks have ended.
var errHooks = errors.New("too many hooks have failed")

// hooks runs commands for the records that the filters keep.
type hooks struct {
	asked hooking.Hooks

	output  *output // how records are made
	cluster string  // names the cluster of records that do not
	talk    *messages.Writer
	pool    *hook.Pool
	halt    func() // drops what waits

	end   func() // no more is added; returns when all have ended
	holds bool   // --checkpoint-policy after-hook

	dropped int // already reported
}

// wants reports whether something is run for r.
func (h *hooks) wants(r *record.Record) bool {
	return h != nil && slices.Contains(h.asked.Types, r.Type) && (h.asked.First || !r.Initial)
}

// hook notes r for the hooks, which get it once it is printed and the checkpoint
// knows of it.
func (p *printer) hook(r *record.Record) {
	switch h := p.output.hooks; {
	case h == nil:
	case h.asked.Dry && h.wants(r):
		p.write(p.enc.Flush(p.buf))
		h.show(h.event(r, p.seq))
	case h.asked.Dry:
	case h.wants(r):
		p.pending = append(p.pending, h.event(r, p.seq))
	default:
		p.pending = append(p.pending, hook.Event{Seq: p.seq})
	}
}

// handOver gives the hooks what is theirs. Where too much waits there we wait too,
// and so nobody reads on from the server.
func (p *printer) handOver() {
	for i, e := range p.pending {
		switch {
		case p.err != nil:
		case e.Type == "":
			p.output.hooks.pool.Pass(e.Seq)
		default:
			p.output.hooks.pool.Add(e)
		}
		p.pending[i] = hook.Event{} // let go of the object
	}
	p.pending = p.pending[:0]
}

// holding reports whether a checkpoint may have only what hooks have finished.
func (h *hooks) holding() bool { return h != nil && h.pool != nil && h.holds }

// event is r for the pool. Its line is made when it is run: what waits holds the
// object as the store does, not a copy.
func (h *hooks) event(r *record.Record, seq int64) hook.Event {
	e := hook.Event{
		Seq: seq, Cluster: r.Cluster, Type: r.Type, Object: r.IsObject(), Resource: r.Resource.GroupResource(),
		Namespace: r.ID.Namespace, Name: r.ID.Name, Kind: r.Resource.Kind, APIVersion: r.Resource.APIVersion(),
		UID: r.ID.UID, RV: r.ID.ResourceVersion, Initial: r.Initial, Synthetic: r.Synthetic,
		Label: hookLabel(r, h.output.format.Namespaces),
	}
	kept := *r
	if !h.output.format.ShowOld {
		kept.Old = codec.Raw{}
	}
	e.Size = kept.Size()
	e.Record = func(now hook.Event) ([]byte, error) {
		r := kept
		r.Type, r.Initial = now.Type, now.Initial
		if h.asked.Opts.Webhook != nil {
			return print.CloudEvent(&r, h.cluster, h.output.format.Redact)
		}
		enc := print.NdjsonEncoder{Format: &h.output.format, Seq: now.Seq - 1}
		return enc.Encode(nil, &r)
	}
	return e
}

// hookLabel names what r is about: pod/a, shop/pod/a of all namespaces, pods.
func hookLabel(r *record.Record, namespaces bool) string {
	label := r.Resource.GroupResource()
	if r.IsObject() {
		label = record.KubectlName(r.Resource, r.ID.Name)
	}
	if namespaces && r.ID.Namespace != "" {
		label = r.ID.Namespace + "/" + label
	}
	if r.Cluster != "" {
		label = r.Cluster + "/" + label
	}
	return printable.Line(label)
}

// show says what would be run.
func (h *hooks) show(e hook.Event) {
	if w := h.asked.Opts.Webhook; w != nil {
		h.talk.Info(e.Label, "would post "+e.Type+" to "+w.Host(), "would post", "event", e.Type, "host", w.Host())
		return
	}
	argv := h.asked.Opts.Command
	if h.asked.Opts.Delete != nil && e.Type == "DELETED" {
		argv = h.asked.Opts.Delete
	}
	if h.talk.Log != nil {
		h.talk.Log.Info("would run", "event", e.Type, "object", e.Label, "command", argv)
		return
	}
	fmt.Fprintf(h.talk.Lines(), "listwatch: would run for %s %s: %s\n", e.Type, e.Label, shell.Quote(argv...))
}

// said passes on a line that a hook has printed.
func (h *hooks) said(label, line string) {
	if h.talk.Log != nil {
		h.talk.Log.Info("hook", "object", label, "line", line)
		return
	}
	fmt.Fprintf(h.talk.Lines(), "[%s] %s\n", label, line)
}

// failed says that a run has.
func (h *hooks) failed(e hook.Event, err error, runs int, again time.Duration) {
	text, message := fmt.Sprintf("hook: %v (run %d of %d)", err, runs, h.asked.Opts.Retries+1), "hook failed"
	if again > 0 {
		text += ", again in " + printable.Rough(again)
	} else {
		text, message = text+", given up", "hook given up"
	}
	h.talk.Warn(e.Label, text, message, "event", e.Type, "err", err.Error(), "runs", runs, "again", again.Seconds())
}

// stopping says why the program does not end at once.
func (h *hooks) stopping(dropped, running int) {
	if h.dropped = dropped; dropped+running > 0 {
		h.talk.Note(fmt.Sprintf("hooks: stopping: %s dropped; %s may take up to %s to end", printable.Count(dropped, "waiting event"), printable.Count(running, "run"), printable.Rough(h.asked.Opts.Grace)))
	}
}

// drain returns when all hooks have ended that will be run.
func (h *hooks) drain() {
	if h != nil && h.end != nil {
		h.end()
	}
}

// over is called with the reason why the watches end. A requested end lets all hooks run;
// any other drops those that wait.
func (h *hooks) over(cause error) {
	if h != nil && h.halt != nil && !errors.Is(cause, exit.ErrAskedFor) {
		h.halt()
	}
}

// runHooked is run beside the hooks, if there are any, until both have ended. Whole
// is the context of the whole program, which lives on when an end comes that was
// asked for.
func (s *session) runHooked(whole, ctx context.Context, p *cli.Program) error {
	h := s.output.hooks
	if h == nil {
		return s.run(ctx, p)
	}
	plain := s.output
	plain.format.Diff = print.Diffing{}
	h.talk, h.output, h.cluster = s.talk, &plain, "default"
	if c := s.clusters[""].Config; c != nil && c.Context != "" {
		h.cluster = c.Context
	}
	if h.asked.Dry {
		return s.run(ctx, p)
	}
	h.asked.Opts.Output, h.asked.Opts.Failed, h.asked.Opts.Stopping = h.said, h.failed, h.stopping
	h.pool = hook.New(h.asked.Opts)
	signals.BeforeLeaving(whole, h.pool.Kill)
	s.monitor.Runs(h.pool)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	soft, halt := context.WithCancel(context.WithoutCancel(ctx))
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer halt()
	defer kill()
	h.halt = halt
	h.holds = s.flags.checkpointing.policy == afterHook
	done := make(chan struct{})
	h.end = sync.OnceFunc(func() {
		h.pool.Close()
		<-done
	})
	var sum hook.Summary
	var err error
	go func() {
		defer close(done)
		sum, err = h.pool.Run(soft, hard)
	}()
	go func() {
		select {
		case <-h.pool.Stopped():
			cancel(cmp.Or(context.Cause(whole), errHooks)) // unless something else came first
		case <-done:
		}
	}()
	defer context.AfterFunc(whole, func() {
		halt()
		var sig *signals.Stop
		if errors.As(context.Cause(whole), &sig) && sig.Holds(h.asked.Opts.Grace+hookEnd, done) {
			kill()
		}
	})()

	watched := s.run(ctx, p)
	h.end()
	if sum.Killed > 0 {
		s.talk.Note(fmt.Sprintf("hooks: %s killed", printable.Count(sum.Killed, "run")))
	}
	if late := sum.Dropped - h.dropped; late > 0 {
		s.talk.Note(fmt.Sprintf("hooks: %s dropped that came too late", printable.Count(late, "event")))
	}
	switch {
	case errors.Is(err, hook.ErrFailures):
		return &exit.Error{Code: exit.CodeHooks, Err: fmt.Errorf("--exec-max-errors %d: %s failed for good", h.asked.Opts.Errors-1, printable.Count(sum.Failed, "hook"))}
	case (watched == nil || errors.Is(watched, exit.ErrAskedFor)) && whole.Err() != nil:
		return context.Cause(whole)
	}
	return watched
}

// hookEnd is how long hooks may take to end after a request to end.
const hookEnd = 2 * time.Second
