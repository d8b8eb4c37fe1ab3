package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/secret"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// checkpointing are the flags that let a run go on where the last one ended.
type checkpointing struct {
	file   string
	policy string
	ack    string
	reset  bool
}

// Values of --checkpoint-policy.
const (
	afterPrint = "after-print"
	afterHook  = "after-hook"
)

func (c *checkpointing) register(f *pflag.FlagSet) {
	f.StringVar(&c.file, "checkpoint", "", "continue where the last run with this file ended, even by kill -9, and print only later changes, deletions included; FILE.lock names the process that uses the file, and is not removed")
	f.StringVar(&c.policy, "checkpoint-policy", afterPrint, "count an event as done: after-print (stdout has accepted it) or after-hook (its hook has succeeded)")
	f.StringVar(&c.ack, "ack", "", "count an event as done when the reader of -o ndjson has written its seq, on a line, to this pipe, made by mkfifo, or /dev/fd/N")
	f.BoolVar(&c.reset, "reset-checkpoint", false, "forget what is in the file of --checkpoint")
}

// check refuses what makes no sense. It knows whether there are hooks.
func (c *checkpointing) check(given, hooks bool) error {
	switch {
	case c.policy != afterPrint && c.policy != afterHook:
		return exit.Usage("--checkpoint-policy %q: want %s or %s", printable.Clip(c.policy), afterPrint, afterHook)
	case given && c.file == "":
		return exit.Usage("--checkpoint: the name of the file is missing")
	case c.file == "" && c.reset:
		return exit.Usage("--reset-checkpoint is about the file of --checkpoint: give it")
	case c.ack != "" && c.file == "":
		return exit.Usage("--ack says what the file of --checkpoint may note: give it")
	case c.ack != "" && hooks:
		return exit.Usage("--ack is for the reader of stdout; with hooks give --checkpoint-policy %s", afterHook)
	case c.policy == afterHook && !hooks:
		return exit.Usage("--checkpoint-policy %s: there is no hook; give one, or %s", afterHook, afterPrint)
	}
	return nil
}

// keeper notes in a checkpoint what was done with records. It is for one goroutine.
type keeper struct {
	file   *checkpoint.File
	id     checkpoint.Identity
	states []checkpoint.State // by stream; while streams begin
	redact bool

	moved map[int][]record.Record // marks of each stream since the last commit, see took
	begun []record.Record         // the marks of begin
	lost  losses
	late  backlog // of --ack, and --checkpoint-policy after-hook
	acks  *acks   // of --ack; nil = none

	amid   bool // between begin and done
	commit bool // what begin noted has objects
	sync   bool // the disk is to have it
}

// keep opens the checkpoint; nil without one.
func (s *session) keep() (_ *keeper, err error) {
	c := &s.flags.checkpointing
	if c.file == "" {
		return nil, nil
	}
	id, err := s.identity()
	if err != nil {
		return nil, err
	}
	k := &keeper{id: id, redact: s.output.format.Redact, states: make([]checkpoint.State, len(s.targets))}
	if c.ack != "" {
		if k.acks, err = openAcks(c.ack); err != nil {
			return nil, err
		}
		go k.acks.read(s.talk.Note)
		defer func() {
			if err != nil {
				_ = k.acks.file.Close()
			}
		}()
	}
	if c.reset {
		k.file, err = checkpoint.Reset(c.file, id)
	} else {
		k.file, k.states, err = checkpoint.Open(c.file, id)
	}
	switch {
	case errors.Is(err, checkpoint.ErrForeign):
		return nil, foreign(err)
	case errors.Is(err, checkpoint.ErrAlien):
		return nil, exit.Usage("%w, and is left as it is; give another file, or remove it", err)
	case errors.Is(err, checkpoint.ErrNewer):
		return nil, exit.Failed(fmt.Errorf("%w; use the release that wrote it, --reset-checkpoint, or another file", err))
	case errors.Is(err, checkpoint.ErrLocked):
		return nil, exit.Failed(fmt.Errorf("%w: is this watch running already? Give each its own file", err))
	case err != nil:
		return nil, exit.Failed(fmt.Errorf("%w%s", err, cli.RoomFor(err, "it")))
	case k.file.Damage != nil:
		s.talk.Note(fmt.Sprintf("warning: checkpoint %s cannot be used (%v) and was put aside as %s: everything is printed again, and deletions since the last run are not known",
			c.file, k.file.Damage, k.file.Aside))
	}
	return k, nil
}

func foreign(err error) error {
	return &exit.Error{Code: exit.CodeForeign, Err: fmt.Errorf("%w; start over with --reset-checkpoint, or give another file", err)}
}

// form says in words how objects are kept.
func (o *output) form(ts []target.Target) string {
	form := "objects"
	switch {
	case o.query(nil) != nil:
		form = "rows with their objects"
	case o.tables():
		form = "rows"
	}
	if o.managed {
		form += " with managedFields"
	}
	if o.env {
		form += " without the values of environment variables"
	}
	if !o.format.Redact && slices.ContainsFunc(ts, func(t target.Target) bool { return secret.Is(t.Resource) }) {
		form += " with the values of Secrets"
	}
	return form
}

// begin records in the checkpoint what is about to be delivered; prints: some of it is
// printed. Objects that are new to the reader are written first, see package checkpoint.
func (k *keeper) begin(records []record.Record, prints bool) error {
	write := false
	k.amid = true
	for i := range records {
		r := &records[i]
		switch {
		case r.Mark == record.MarkAt:
			if k.lost.covers(r.Stream) {
				continue
			}
			k.file.Move(r.Stream, r.At)
			k.begun = append(k.begun, *r)
		case r.Mark == record.MarkLost:
			k.lost.pass(r)
		case r.Mark == record.MarkListing:
			k.file.List(r.Stream)
			k.begun = append(k.begun, *r)
		case r.Mark == record.MarkSync:
			k.sync = true
		case r.Type == string(watch.Deleted):
			k.file.Remove(r.Stream, r.Key(), r.ID.UID)
			k.commit = true
		case r.IsObject():
			o, err := k.stored(r)
			if err == nil {
				err = k.file.Put(r.Stream, o)
			}
			if err != nil {
				return k.broken(err)
			}
			k.commit = true
			write = write || r.Type == string(watch.Added)
		}
	}
	if !write || !prints {
		return nil
	}
	return k.broken(k.file.Write())
}

// done commits the objects that have been delivered. A new revision without an object is
// committed with the next object, or within a second: it does no harm to receive a
// revision again.
func (k *keeper) done() error { return k.broken(k.note()) }

func (k *keeper) note() error {
	commit, sync := k.commit || k.sync, k.sync
	k.amid, k.commit, k.sync = false, false, false
	k.lost.settle()
	k.remember(commit)
	if commit {
		if err := k.file.Commit(); err != nil {
			return err
		}
	}
	if sync {
		return k.file.Sync()
	}
	return nil
}

// broken returns the error that ends a watcher whose checkpoint failed with err.
func (k *keeper) broken(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, checkpoint.ErrLost):
		return exit.Failed(fmt.Errorf("%w: do not change the file while listwatch runs; the next run continues from the new file, or prints everything if there is none", err))
	case errors.Is(err, checkpoint.ErrUnread):
		return exit.Failed(fmt.Errorf("%w: the disk failed, or another program wrote to the file; the next run may print everything again", err))
	}
	return exit.Failed(fmt.Errorf("%w%s: nothing is lost: the next run continues from the last complete entry of the file, and prints later events again", err, cli.RoomFor(err, "it")))
}

// stored returns the part of r's object to keep: of a Secret only what is printed.
func (k *keeper) stored(r *record.Record) (checkpoint.Object, error) {
	raw, err := k.shown(r)
	return checkpoint.Object{UID: r.ID.UID, Revision: kube.Revision(r.ID.ResourceVersion), Raw: raw}, err
}

func (k *keeper) shown(r *record.Record) (codec.Raw, error) {
	if !k.redact || !secret.Is(r.Resource) {
		return r.Object, nil
	}
	var m map[string]any
	if err := r.Object.Decode(&m); err != nil {
		return codec.Raw{}, err
	}
	secret.Redact(m)
	rows, _ := m["rows"].([]any)
	for _, row := range rows {
		row, _ := row.(map[string]any)
		if o, ok := row["object"].(map[string]any); ok {
			secret.Redact(o)
		}
	}
	b, err := codec.Encode(m)
	if err != nil {
		return codec.Raw{}, err
	}
	full, err := codec.ParseRawFull(b) // of what was left out nothing comes back
	return full.Raw, err
}

// syncEvery is how much a power loss may cost.
const syncEvery = time.Second

// tick asks for a sync from time to time, in the order of the records.
func (k *keeper) tick(ctx context.Context, records chan<- record.Record) {
	t := time.NewTicker(syncEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		select {
		case records <- record.Record{Mark: record.MarkSync}:
		case <-ctx.Done():
			return
		}
	}
}

// close ends the checkpoint at what was done; err is why the run ends.
func (k *keeper) close(err error) error {
	var e error
	if k.acks != nil {
		e = k.acks.file.Close()
	}
	if !k.amid && e == nil {
		e = k.file.Commit()
	}
	if e = errors.Join(e, k.file.Close()); e != nil {
		var f *exit.Error
		if !errors.As(err, &f) { // else it is said already, or something worse
			return k.broken(e)
		}
	}
	return err
}
