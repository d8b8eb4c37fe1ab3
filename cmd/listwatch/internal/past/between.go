package past

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/objects"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/served"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/secret"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// diffRun is one run of diff.
type diffRun struct {
	flags   *diffFlags
	program *cli.Program
	talk    *messages.Writer
	at      [2]time.Time
	moments [2]*moment
	clients [2]*client.Client
	filter  filter.Filter
	format  print.Format

	enc    print.Encoder
	buf    []byte
	counts map[watch.Type]int
	absent []string // labels of names of which there was no object at either moment
}

func runDiff(p *cli.Program, cmd *cobra.Command, args []string, o *diffFlags) error {
	d, err := o.check(p)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	choice := objects.Choice{}
	if choice.Wish, err = target.ParseArgs(args); err != nil {
		return err
	}
	d.talk = p.Messages(o.logFormat, o.quiet)
	defer d.talk.Summary()
	choice.Missing = messages.NewMissing(d.talk)
	for i, at := range d.at {
		if d.moments[i], err = o.source.read(ctx, at); err != nil {
			return err
		}
	}
	for _, n := range d.moments[0].notes { // those of the second are of the same files
		d.talk.Note("warning: " + n)
	}
	var of connect.Cluster // the types of both moments
	for i, m := range d.moments {
		var done func()
		if of, done, err = m.cluster(p, &o.connection, m.objects(d.moments[1-i]), nil); err != nil {
			return err
		}
		defer done()
		d.clients[i] = of.Client
	}
	targets, err := choice.Targets(ctx, of, &o.connection.Namespaces, o.selection.All, (*served.Types).Now, target.ToList)
	if err != nil {
		return err
	}
	if err := check(d.moments[:], targets, d.talk); err != nil {
		return err
	}
	secrets := slices.ContainsFunc(targets, func(t target.Target) bool {
		return secret.Is(t.Resource) && d.moments[1].types[t.Resource.GroupResource()] != nil
	})
	switch {
	case secrets && d.moments[1].replaced:
		d.talk.Note("the values of Secrets are not in the recording: changes of them are not shown")
	case secrets && d.format.Redact:
		d.talk.Note("the values of Secrets are replaced by " + secret.Placeholder + "; --redact none shows them")
	}
	d.format.Kinds, d.format.Namespaces = target.SeveralTypes(targets), o.selection.All || target.SeveralNamespaces(targets)
	return d.print(ctx, targets)
}

// print prints what differs in the targets.
func (d *diffRun) print(ctx context.Context, targets []target.Target) error {
	d.enc, d.counts = d.format.Encoder(), map[watch.Type]int{}
	for _, t := range targets {
		if id := t.Resource.GroupResource(); d.moments[0].types[id] == nil || d.moments[1].types[id] == nil { // of '*': see check
			if d.moments[0].types[id] != d.moments[1].types[id] {
				d.talk.Note("warning: " + t.Label() + " is left out: its states are known at one of the two moments only")
			}
			continue
		}
		if err := d.target(ctx, t); err != nil {
			return err
		}
	}
	if err := d.write(0); err != nil {
		return err
	}
	added, modified, deleted := d.counts[watch.Added], d.counts[watch.Modified], d.counts[watch.Deleted]
	d.talk.Note(fmt.Sprintf("%d added, %d modified, %d deleted between %s and %s", added, modified, deleted, clock(d.moments[0].at), clock(d.moments[1].at)))
	if d.absent != nil {
		return exit.Failed(fmt.Errorf("not found%s at either moment: %s", target.WhereOnce(targets), strings.Join(d.absent, ", ")))
	}
	return nil
}

// target prints what differs in t.
func (d *diffRun) target(ctx context.Context, t target.Target) error {
	before, found := map[kube.Key]codec.Raw{}, map[string]bool{}
	for o, err := range d.list(ctx, 0, t) {
		if err != nil {
			return err
		}
		before[kube.KeyOf(o)], found[o.GetName()] = o, true
	}
	for now, err := range d.list(ctx, 1, t) {
		if err != nil {
			return err
		}
		found[now.GetName()] = true
		old, existed := before[kube.KeyOf(now)]
		delete(before, kube.KeyOf(now))
		switch {
		case existed && old.GetUID() == now.GetUID():
			err = d.change(ctx, t, watch.Modified, now, old)
		case existed:
			err = errors.Join(d.change(ctx, t, watch.Deleted, old, codec.Raw{}), d.change(ctx, t, watch.Added, now, codec.Raw{}))
		default:
			err = d.change(ctx, t, watch.Added, now, codec.Raw{})
		}
		if err != nil {
			return err
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(before), kube.Key.Compare) {
		if err := d.change(ctx, t, watch.Deleted, before[key], codec.Raw{}); err != nil {
			return err
		}
	}
	if !d.flags.selection.Selector.Empty() || !d.flags.selection.FieldsSel.Empty() {
		return nil // it may be that they are not selected
	}
	for _, t.Name = range t.Wanted() {
		if !found[t.Name] {
			d.absent = append(d.absent, t.Label())
		}
	}
	return nil
}

// change prints one difference: old is what o was before, if it was.
func (d *diffRun) change(ctx context.Context, t target.Target, typ watch.Type, o, old codec.Raw) error {
	return d.show(ctx, record.Record{Type: string(typ), Resource: t.Resource, ID: o.Identity(), Object: o, Old: old})
}

// list yields the objects of t at a moment, in the version that it has them in.
func (d *diffRun) list(ctx context.Context, moment int, t target.Target) func(func(codec.Raw, error) bool) {
	return func(yield func(codec.Raw, error) bool) {
		fields, err := t.FieldSelector(d.flags.selection.FieldsSel)
		if err != nil {
			yield(codec.Raw{}, exit.Usage("%q: %w", t.Name, err))
			return
		}
		known := d.moments[moment].types[t.Resource.GroupResource()]
		col := client.Of[codec.Raw](d.clients[moment], known.resource).In(t.Namespace).Where(d.flags.selection.Selector, fields)
		for o, err := range list.New(col, list.Options{MaxItem: record.MaxItem}).All(ctx) {
			var item *codec.ItemError
			switch {
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			case errors.As(err, &item):
				d.talk.Each(t.Label(), "skipped an object that cannot be read: "+item.Error(), "quarantined", "err", item.Error())
				continue
			case err != nil:
				err = exit.Failed(err)
			case !t.Includes(o.GetName()):
				continue
			case d.flags.redact == "env":
				if o, err = record.WithoutEnv(o); err != nil {
					err = exit.Failed(fmt.Errorf("%s: %w", t.Label(), err))
				}
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
		if ctx.Err() != nil {
			yield(codec.Raw{}, context.Cause(ctx))
		}
	}
}

// show prints r, unless it is filtered.
func (d *diffRun) show(ctx context.Context, r record.Record) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.Time = d.at[1]
	keeps, err := d.filter.Keeps(&r)
	if err != nil {
		d.talk.EachNote(fmt.Sprintf("%s: %v", record.KubectlName(r.Resource, r.ID.Name), err), "not compared")
	}
	if !keeps {
		return nil
	}
	d.counts[watch.Type(r.Type)]++
	if d.buf, err = d.enc.Encode(d.buf, &r); err != nil {
		return exit.Failed(fmt.Errorf("print %s: %w", record.KubectlName(r.Resource, r.ID.Name), err))
	}
	return d.write(64 << 10)
}

// write writes what waits, if that is more than most bytes.
func (d *diffRun) write(most int) error {
	if len(d.buf) <= most {
		return nil
	}
	_, err := d.program.Stdout.Write(d.enc.Flush(d.buf))
	d.buf = d.buf[:0]
	if err != nil {
		return cli.Unwritten(err, false, nil)
	}
	return nil
}
