package rolling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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
	refused  map[string]string   // the warnings about the object, the latest of each reason
	status   string              // the line of the rollout that was printed last
	said     map[string]bool     // the lines below it that were printed
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
				follow(ofEvents, events, kube.Selector{}, pods)
			}
			if about, err := kube.ParseFieldSelector("involvedObject.uid=" + r.uid()); err == nil && r.uid() != "" {
				follow(ofEvents, events, kube.Selector{}, about)
			}
		}
		if end, err := r.print(); end || err != nil {
			return err
		}
	}
}

var events = kube.Resource{Version: "v1", Plural: "events", Kind: "Event", Namespaced: true}

func (r *rolling) uid() string {
	meta, _ := r.object["metadata"].(map[string]any)
	uid, _ := meta["uid"].(string)
	return uid
}

func (r *rolling) name() string { return record.KubectlName(r.target.Resource, r.target.Name) }

// print prints what is new, and reports whether that is the end.
func (r *rolling) print() (end bool, err error) {
	status, failed := rollout.Judge(r.target.Resource, r.object)
	if r.pending > 0 && !status.Done {
		return false, nil // the first state is printed in whole
	}
	if failed != nil {
		return true, cmp.Or(r.report(), exit.Failed(failed))
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

// report prints why pods are not made and not ready, where that is new.
func (r *rolling) report() error {
	why := rollout.Refused(r.object)
	for _, reason := range slices.Sorted(maps.Keys(r.refused)) {
		why = append(why, reason+": "+r.refused[reason])
	}
	for _, text := range why {
		reason, _, _ := strings.Cut(text, ":") // messages name another pod each time
		if err := r.say(reason, "  "+printable.Line(r.name()+": "+text)); err != nil {
			return err
		}
	}
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
			if err := r.say(line, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// say prints a line, unless one with this key has been printed.
func (r *rolling) say(key, line string) error {
	if r.said[key] {
		return nil
	}
	r.said[key] = true
	return r.program.Put(line + "\n")
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

const (
	maxWarnings = 20               // of one pod
	retried     = 20 * time.Minute // controllers retry at least so often, and then warn again
)

// event takes in an Event of a pod, or of the object.
func (r *rolling) event(e map[string]any) {
	about, _ := e["involvedObject"].(map[string]any)
	name, _ := about["name"].(string)
	text := fmt.Sprintf("%v: %v", e["reason"], e["message"])
	if e["type"] != "Warning" || name == "" || slices.Contains(r.warnings[name], text) {
		return
	}
	if about["uid"] == r.uid() && about["uid"] != nil {
		last, _ := e["lastTimestamp"].(string)
		if at, err := time.Parse(time.RFC3339, last); err != nil || time.Since(at) < retried {
			r.refused[fmt.Sprint(e["reason"])] = fmt.Sprint(e["message"])
		}
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
	synced, released := false, false
	broken, attempts := false, 0
	label := col.Resource.GroupResource()
	again := func(_ watch.Op, _ kube.Revision, gap time.Duration) {
		if broken && gap > 0 {
			r.talk.Info(label, messages.Again([][]int{{int(gap), attempts}}), "watching again", "gap", gap.String(), "attempts", attempts)
		}
		broken, attempts = false, 0
	}
	for ev, err := range watch.New(col, watch.Options{MaxItem: record.MaxItem, Trace: watch.Trace{Connected: again}}).Events(ctx) {
		var stop *watch.Interruption
		switch {
		case err == nil && ev.Type == watch.Synced:
			if !synced && !released && !send(change{}) {
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
			switch {
			case (refused || stop.Next == watch.OpNone) && !synced && of == ofObject:
				send(change{err: exit.Failed(fmt.Errorf("%s %s: %w", messages.Verb(stop.Op), r.target.Label(), stop.Err))})
				return
			case refused && !synced && !released:
				r.talk.Warn(label, "skipped"+r.target.Where()+": "+messages.Reason(stop.Err), "skipped", "err", messages.Reason(stop.Err))
				send(change{})
				return
			default:
				if !synced && !released && of != ofObject { // do not wait for it
					released = true
					if !send(change{}) {
						return
					}
				}
				broken = true
				if stop.Lived == 0 {
					attempts++
				}
				r.talk.Warn(label, fmt.Sprintf("cannot %s: %v; again in %s", messages.Verb(stop.Op), stop.Err, printable.Rough(stop.Wait)), "failed", "err", printable.Line(stop.Err.Error()))
			}
		}
	}
}
