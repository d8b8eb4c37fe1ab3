package rolling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/rollout"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// rolling is one run of rollout. What it knows is for one goroutine.
type rolling struct {
	program *cli.Program
	client  *client.Client
	talk    *messages.Writer
	target  target.Target
	watch   bool
	changes chan change

	object   map[string]any
	pending  int // collections that are not known in whole
	pods     map[string][]string
	warnings map[string][]string // by the name of a pod
	status   string              // the line of the rollout that was printed last
	said     map[string]bool     // the lines of pods that were printed
}

// The collections that are watched.
const (
	ofObject = iota
	ofPods
	ofEvents
)

// change is an event of a collection; without an object it is known in whole.
type change struct {
	of      int
	deleted bool
	object  map[string]any
	err     error // ends the run
}

func (r *rolling) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer cancel(nil)
	fields, err := r.target.FieldSelector(kube.FieldSelector{})
	if err != nil {
		return exit.Failed(err)
	}
	follow := func(of int, res kube.Resource, labels kube.Selector, fields kube.FieldSelector) {
		r.pending++
		watches.Go(func() {
			r.follow(ctx, of, client.Of[codec.Raw](r.client, res).In(r.target.Namespace).Where(labels, fields))
		})
	}
	follow(ofObject, r.target.Resource, kube.Selector{}, fields)
	for {
		var c change
		select {
		case c = <-r.changes:
		case <-ctx.Done():
			return r.overdue(context.Cause(ctx))
		}
		first := r.object == nil
		switch {
		case c.err != nil:
			return c.err
		case c.object == nil:
			r.pending--
		case c.of == ofObject && c.deleted:
			return exit.Failed(fmt.Errorf("%s has been deleted", r.name()))
		case c.of == ofObject:
			r.object = c.object
		case c.of == ofPods:
			r.pod(c)
		default:
			r.event(c.object)
		}
		if r.object == nil {
			if r.pending == 0 {
				return exit.Failed(fmt.Errorf("not found%s: %s", r.target.Where(), r.target.Label()))
			}
			continue
		}
		if first {
			if labels, err := rollout.PodSelector(r.object); err == nil && !labels.Empty() {
				follow(ofPods, kube.Pods, labels, kube.FieldSelector{})
				pods, _ := kube.ParseFieldSelector("involvedObject.kind=Pod")
				follow(ofEvents, kube.Resource{Version: "v1", Plural: "events", Kind: "Event", Namespaced: true}, kube.Selector{}, pods)
			}
		}
		if end, err := r.print(); end || err != nil {
			return err
		}
	}
}

func (r *rolling) name() string { return record.KubectlName(r.target.Resource, r.target.Name) }

// print prints what is new, and reports whether that is the end.
func (r *rolling) print() (end bool, err error) {
	status, failed := rollout.Judge(r.target.Resource, r.object)
	if failed != nil {
		return true, cmp.Or(r.report(), exit.Failed(failed))
	}
	if r.pending > 0 && !status.Done {
		return false, nil // the first state is printed in whole
	}
	if text := printable.Line(status.Text); text != r.status {
		r.status = text
		if err := r.program.Put(text + "\n"); err != nil {
			return true, err
		}
	}
	if status.Done {
		return true, nil
	}
	if err := r.report(); err != nil {
		return true, err
	}
	return !r.watch, nil
}

// report prints why pods are not ready, where that is new.
func (r *rolling) report() error {
	names := make([]string, 0, len(r.pods))
	for name, why := range r.pods {
		if why != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, text := range slices.Concat(r.pods[name], r.warnings[name]) {
			line := "  pod/" + printable.Line(name+": "+text)
			if r.said[line] {
				continue
			}
			r.said[line] = true
			if err := r.program.Put(line + "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// pod takes in the state of a pod.
func (r *rolling) pod(c change) {
	meta, _ := c.object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if c.deleted {
		delete(r.pods, name)
		delete(r.warnings, name)
		return
	}
	r.pods[name] = rollout.Unready(c.object)
}

// Of the warnings about one pod so many are kept.
const maxWarnings = 20

// event takes in an Event of a pod.
func (r *rolling) event(e map[string]any) {
	about, _ := e["involvedObject"].(map[string]any)
	name, _ := about["name"].(string)
	text := fmt.Sprintf("%v: %v", e["reason"], e["message"])
	if e["type"] != "Warning" || name == "" || slices.Contains(r.warnings[name], text) {
		return
	}
	if _, known := r.pods[name]; !known && len(r.warnings) > 10_000 {
		return
	}
	r.warnings[name] = append(r.warnings[name][max(0, len(r.warnings[name])-maxWarnings):], text)
}

// overdue says what a rollout waits for at --timeout.
func (r *rolling) overdue(err error) error {
	if !errors.Is(err, exit.ErrTimedOut) || r.object == nil {
		return err
	}
	status, _ := rollout.Judge(r.target.Resource, r.object)
	return fmt.Errorf("%w; %s", err, strings.TrimSuffix(status.Text, "..."))
}

// follow sends the events of a collection. What may not be read beside the object is left
// out.
func (r *rolling) follow(ctx context.Context, of int, col client.Collection[codec.Raw]) {
	send := func(c change) bool {
		c.of = of
		select {
		case r.changes <- c:
			return true
		case <-ctx.Done():
			return false
		}
	}
	synced := false
	for ev, err := range watch.New(col, watch.Options{MaxItem: record.MaxItem}).Events(ctx) {
		var stop *watch.Interruption
		switch {
		case err == nil && ev.Type == watch.Synced:
			if !synced && !send(change{}) {
				return
			}
			synced = true
		case err == nil && ev.Object.GetName() != "":
			m, err := record.FieldsOf(ev.Object)
			if err == nil && !send(change{object: m, deleted: ev.Type == watch.Deleted}) {
				return
			}
		case errors.As(err, &stop) && stop.Err != nil:
			refused := errors.Is(stop.Err, kube.ErrForbidden) || errors.Is(stop.Err, kube.ErrUnauthorized) || errors.Is(stop.Err, kube.ErrNotFound)
			label := col.Resource.GroupResource()
			switch {
			case (refused || stop.Next == watch.OpNone) && !synced && of == ofObject:
				send(change{err: exit.Failed(fmt.Errorf("%s %s: %w", messages.Verb(stop.Op), r.target.Label(), stop.Err))})
				return
			case refused && !synced:
				r.talk.Warn(label, "skipped"+r.target.Where()+": "+messages.Reason(stop.Err), "skipped", "err", messages.Reason(stop.Err))
				send(change{})
				return
			default:
				r.talk.Warn(label, fmt.Sprintf("cannot %s: %v; again in %s", messages.Verb(stop.Op), stop.Err, printable.Rough(stop.Wait)), "failed", "err", printable.Line(stop.Err.Error()))
			}
		}
	}
}
