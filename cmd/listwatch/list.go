package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// listFlags are the flags of list.
type listFlags struct {
	connection     connection
	selection      selection
	printing       printing
	columns        columnFlags
	files          fileFlags
	sortBy         string
	ignoreNotFound bool
}

func listCommand(p *cli.Program) *cobra.Command {
	o := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list TYPE[.VERSION[.GROUP]][,TYPE...] [NAME...] | TYPE/NAME...",
		Short: "List objects once, in the memory of one",

		SuggestFor: []string{"get", "ls"},
		Long: `List objects once. They are printed as they arrive, rows of a table in portions of
500, so that a list of any length begins soon and takes little memory.`,
		Example: `  listwatch list pods -A -o wide
  listwatch list deployments,services -l app=web
  listwatch list node/a -o yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return runList(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.selection.register(f)
	o.files.register(f)
	o.printing.register(f)
	o.columns.register(f)
	o.columns.registerServer(f)
	f.StringVar(&o.sortBy, "sort-by", "", "sort by a field, such as .metadata.creationTimestamp; all objects are held in memory for it")
	f.BoolVar(&o.ignoreNotFound, "ignore-not-found", false, "an object that does not exist is no failure")
	o.connection.register(f)
	o.connection.namespaces.allow(f)
	complete(p, cmd, &o.connection)
	return cmd
}

func runList(p *cli.Program, cmd *cobra.Command, args []string, o *listFlags) error {
	out, err := o.printing.parse(p)
	if err != nil {
		return err
	}
	if out.format.name == "none" {
		return exit.Usage("--output none prints nothing: it is for watch")
	}
	if out.format.name == "diff" {
		return exit.Usage("--output diff shows what changes: it is for watch")
	}
	if err := o.columns.apply(&out); err != nil {
		return err
	}
	var order sorting
	if err := order.compile(o.sortBy, isTable(out.format.name)); err != nil {
		return err
	}
	out.whole, out.omitEmpty = o.sortBy != "", o.ignoreNotFound
	if err := o.selection.parse(); err != nil {
		return err
	}
	w, err := o.files.read(args, cmd.InOrStdin())
	if err != nil {
		return err
	}
	t := p.Messages(o.printing.logFormat, o.printing.quiet)
	defer t.Summary()
	c, cfg, err := o.connection.load(p, t)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	targets, err := w.targets(cmd.Context(), c, cfg, &o.connection.namespaces, o.selection.all, toList)
	if err != nil {
		return err
	}
	out.noteRedaction(t, targets)
	out.format.list, out.format.kinds, out.format.namespaces = true, severalTypes(targets) || o.columns.showKind, o.selection.all || severalNamespaces(targets)
	out.format.single = len(targets) == 1 && targets[0].name != "" && (targets[0].namespace != "" || !targets[0].resource.Namespaced)
	l := &listing{flags: o, output: out, sorting: order, client: c, talk: t}
	return l.run(cmd.Context(), p, targets)
}

// listing is one run of list.
type listing struct {
	flags   *listFlags
	output  output
	sorting sorting
	client  *client.Client
	talk    *messages.Writer
	give    func(record)
	found   int
}

func (l *listing) run(ctx context.Context, p *cli.Program, targets []target) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	records := make(chan record, recordBuffer)
	give := func(r record) { enqueue(records, r) }
	l.give = func(r record) {
		if !l.sorting.keep(r) {
			give(r)
		}
	}
	printed := make(chan error, 1)
	pr := &printer{output: l.output, w: p.Stdout, done: ctx.Done(), stop: cancel, errs: func(err error) { l.talk.EachNote(err.Error(), "not printed") }}
	go func() { printed <- pr.run(records) }()

	// As kubectl: what is there is printed, though something else is missing.
	var missing []string
	for _, t := range targets {
		err := l.target(ctx, t)
		if errors.Is(err, kube.ErrNotFound) && t.name != "" {
			missing = append(missing, t.label())
			continue
		}
		if err != nil {
			cancel(err)
			break
		}
	}
	if ctx.Err() == nil {
		if err := l.sorting.flush(l.output.format.redact, give); err != nil {
			cancel(err)
		}
	}
	close(records)
	if err := <-printed; err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if missing != nil && !l.flags.ignoreNotFound {
		return exit.Failed(fmt.Errorf("not found%s: %s", whereOnce(targets), strings.Join(missing, ", ")))
	}
	if l.found == 0 && !l.flags.ignoreNotFound && (l.output.format.name == "" || l.output.format.name == "wide") {
		l.talk.Note("no resources found" + where(targets))
	}
	return nil
}

func (l *listing) target(ctx context.Context, t target) error {
	if l.output.managed || l.output.expressManaged {
		return listTarget(ctx, l, t, func(o codec.RawFull) codec.Raw { return o.Raw })
	}
	return listTarget(ctx, l, t, func(o codec.Raw) codec.Raw { return o })
}

// listTarget lists t. One name in a known namespace is a GET.
func listTarget[T raw](ctx context.Context, l *listing, t target, asRaw func(T) codec.Raw) error {
	col := client.Of[T](l.client, t.resource).In(t.namespace)
	col.Accept, col.Query = l.output.accept(), l.output.query()
	fields, err := t.fieldSelector(l.flags.selection.fieldsSel)
	if err != nil {
		return exit.Usage("%q: %w", t.name, err)
	}
	var cols *columns
	emit := func(o T) error {
		if l.output.env {
			var err error
			if o, err = withoutEnv(o); err != nil {
				return exit.Failed(fmt.Errorf("%s: %w", t.label(), err))
			}
		}
		if c := columnsOf(asRaw(o)); c != nil {
			cols = c
		}
		if !t.includes(o.GetName()) {
			return nil
		}
		l.found++
		l.give(record{Type: string(watch.Added), time: time.Now(), resource: t.resource, id: o.Identity(), object: asRaw(o), columns: cols, initial: true})
		return nil
	}
	if t.name != "" && (t.namespace != "" || !t.resource.Namespaced) && l.flags.selection.selector.Empty() && l.flags.selection.fieldsSel.Empty() {
		o, err := col.Get(ctx, kube.Key{Name: t.name})
		if err != nil {
			return l.failed(ctx, err)
		}
		return emit(o)
	}
	began, told := time.Now(), time.Now()
	lister := list.New(col, list.Options{Labels: l.flags.selection.selector, Fields: fields, Limit: l.flags.selection.limit(), MaxItem: maxItem, Progress: func(p list.Progress) {
		every := progressEvery
		if l.talk.Live {
			every = 200 * time.Millisecond
		}
		if time.Since(told) > every {
			told = time.Now()
			l.talk.Progress(t.label(), p.Items, p.Remaining, time.Since(began))
		}
	}})
	defer l.talk.Done()
	n := l.found
	for o, err := range lister.All(ctx) {
		var item *codec.ItemError
		switch {
		case errors.As(err, &item):
			l.talk.Each(t.label(), "skipped an object that cannot be read: "+item.Error(), "quarantined", "err", item.Error())
			l.give(record{Type: quarantinedType, time: time.Now(), resource: t.resource, id: item.Identity, detail: errorDetail{Error: printable.Line(item.Err.Error())}})
		case err != nil:
			// The lister's words name the resource, ours what was typed.
			return l.failed(ctx, fmt.Errorf("list %s: %w", t.label(), errors.Unwrap(err)))
		default:
			if err := emit(o); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.give(record{Type: string(watch.Synced), time: time.Now(), resource: t.resource,
		id: codec.Identity{ResourceVersion: string(lister.Revision())}, detail: syncedDetail{l.found - n}})
	return nil
}

// failed says what was tried, unless we were stopped.
func (l *listing) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return exit.Failed(err)
}
