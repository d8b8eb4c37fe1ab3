package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/objects"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/order"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/past"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/refused"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/served"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// listFlags are the flags of list.
type listFlags struct {
	connection     connect.Flags
	past           past.Flags
	selection      target.Selection
	printing       printing
	columns        print.ColumnFlags
	files          objects.Flags
	events         eventFlags
	raw            string
	subresource    string
	sortBy         string
	ignoreNotFound bool
}

func listCommand(p *cli.Program) *cobra.Command {
	o := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list TYPE[.VERSION[.GROUP]][,TYPE...] [NAME...] | TYPE/NAME...",
		Short: "List objects once, in constant memory",

		SuggestFor: []string{"get", "ls"},
		Long: `List objects once. The program prints them as they arrive, rows of a table in groups of
500, so that the output begins soon and a list of any length takes little memory.`,
		Example: `  listwatch list pods -A -o wide
  listwatch list deployments,services -l app=web
  listwatch list node/a -o yaml
  listwatch list pods -A --at 14:03 --history ~/history/prod
  listwatch list pods -A --at 14:03 --recording shop.lwrec.ndjson.gz`,
		RunE: func(cmd *cobra.Command, args []string) error { return runList(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.selection.Register(f)
	o.files.Register(f)
	o.events.register(f)
	f.StringVar(&o.raw, "raw", "", "print the response of the server to a GET of this path, such as /readyz?verbose")
	f.StringVar(&o.subresource, "subresource", "", "print a subresource of the named objects, such as status or scale")
	o.printing.register(f)
	o.columns.Register(f)
	o.columns.RegisterServer(f)
	f.StringVar(&o.sortBy, "sort-by", "", "sort by a field, such as .metadata.creationTimestamp; this holds all objects in memory")
	f.BoolVar(&o.ignoreNotFound, "ignore-not-found", false, "end with exit code 0 if an object does not exist")
	o.past.Register(f)
	o.connection.Register(f)
	o.connection.Namespaces.Allow(f)
	o.connection.AllowClusters(f)
	complete.Objects(p, cmd, &o.connection)
	return cmd
}

func runList(p *cli.Program, cmd *cobra.Command, args []string, o *listFlags) error {
	if o.raw != "" {
		return runRaw(p, cmd, args, o)
	}
	out, err := o.printing.parse(p)
	if err != nil {
		return err
	}
	if out.format.Name == "none" {
		return exit.Usage("--output none prints nothing: it is for watch")
	}
	if out.format.Name == "diff" {
		return exit.Usage("--output diff shows what changes: it is for watch")
	}
	if err := o.columns.Apply(&out.format); err != nil {
		return err
	}
	var order order.By
	if err := order.Compile(o.sortBy, print.IsTable(out.format.Name)); err != nil {
		return err
	}
	out.whole, out.omitEmpty = o.sortBy != "", o.ignoreNotFound
	if err := o.selection.Parse(); err != nil {
		return err
	}
	w, err := o.files.Read(cmd.Context(), args, cmd.InOrStdin())
	if err != nil {
		return err
	}
	t := p.Messages(o.printing.logFormat, o.printing.quiet)
	defer t.Summary()
	w.Missing = messages.NewMissing(t)
	clusters, done, err := o.past.Clusters(cmd.Context(), p, &o.connection, t)
	if err != nil {
		return err
	}
	defer done()
	found, err := reach(cmd.Context(), clusters, false, func(ctx context.Context, c *connect.Cluster) ([]target.Target, error) {
		return w.Targets(ctx, *c, &o.connection.Namespaces, o.selection.All, (*served.Types).Known, target.ToList)
	})
	defer found.close()
	if err != nil {
		return err
	}
	for _, l := range found.late {
		t.Warn(l.Name, "skipped: "+l.err.Error(), "skipped", "err", printable.Line(l.err.Error()))
	}
	targets := found.targets
	if err := o.past.Check(targets, t); err != nil {
		return err
	}
	if err := o.checkSubresource(targets); err != nil {
		return err
	}
	if len(targets) > 0 {
		if err := o.events.apply(cmd.Context(), found.clusters[targets[0].Cluster], &o.selection, targets); err != nil {
			return err
		}
	}
	out.noteRedaction(t, targets)
	out.format.List, out.format.Kinds, out.format.Namespaces = true, target.SeveralTypes(targets) || o.columns.ShowKind, o.selection.All || target.SeveralNamespaces(targets)
	out.format.Single = len(targets) == 1 && targets[0].Name != "" && (targets[0].Namespace != "" || !targets[0].Resource.Namespaced)
	out.format.Clusters = len(clusters) > 1
	l := &listing{flags: o, output: out, sorting: order, clusters: found.clusters, talk: t}
	if err := l.run(cmd.Context(), p, targets); err != nil || len(found.late) == 0 {
		return err
	}
	return inCluster(found.late[0].Name, found.late[0].err)
}

// checkSubresource refuses --subresource where objects are not named.
func (o *listFlags) checkSubresource(targets []target.Target) error {
	for _, t := range targets {
		if o.subresource != "" && (len(t.Wanted()) == 0 || t.Namespace == "" && t.Resource.Namespaced || !o.selection.Selector.Empty() || !o.selection.FieldsSel.Empty()) {
			return exit.Usage("--subresource is of single objects: give their names, and no selector")
		}
	}
	return nil
}

// listing is one run of list.
type listing struct {
	flags    *listFlags
	output   output
	sorting  order.By
	clusters map[string]connect.Cluster // by name
	talk     *messages.Writer
	give     func(record.Record)
	found    int
}

func (l *listing) run(ctx context.Context, p *cli.Program, targets []target.Target) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer l.output.ends(ctx)()
	records := make(chan record.Record, record.RecordBuffer)
	give := func(r record.Record) { record.Enqueue(records, r) }
	l.give = func(r record.Record) {
		if !l.sorting.Keep(r) {
			give(r)
		}
	}
	printed := make(chan error, 1)
	pr := &printer{output: l.output, w: p.Stdout, done: ctx.Done(), stop: cancel, errs: func(err error) { l.talk.EachNote(err.Error(), "not printed") }}
	go func() { printed <- pr.run(records) }()

	// As kubectl: what is there is printed, though something else is missing.
	var missing []string
	var skipped refused.Targets
	folder := messages.NewFolder(l.talk)
	defer folder.Flush()
	for _, t := range targets {
		if skipped.Follow(); t.Typed == target.Everything {
			folder.Join()
		}
	}
	for _, t := range targets {
		err := l.target(ctx, t)
		if again := l.served(ctx, t, err); again != t.Resource {
			t.Resource = again
			err = l.target(ctx, t)
		}
		if refused.Skippable(err, t) && t.Name == "" && len(targets) > 1 && ctx.Err() == nil {
			why := err
			if err = skipped.Refuse(t.Label(), err); err == nil {
				folder.Say(refused.Message(t, why, ""), "skipped", "err", messages.Reason(why))
				continue
			}
		}
		if errors.Is(err, kube.ErrNotFound) && t.Name != "" {
			missing = append(missing, t.Label())
			continue
		}
		if err != nil {
			cancel(err)
			break
		}
	}
	if ctx.Err() == nil {
		if err := l.sorting.Flush(l.output.format.Redact, give); err != nil {
			cancel(err)
		}
	}
	close(records)
	if err := <-printed; err != nil {
		return whyEnded(ctx, err)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := skipped.Missing(); err != nil && targets[0].Typed != target.Everything {
		return err
	}
	if missing != nil && !l.flags.ignoreNotFound {
		return exit.Failed(fmt.Errorf("not found%s: %s", target.WhereOnce(targets), strings.Join(missing, ", ")))
	}
	if l.found == 0 && !l.flags.ignoreNotFound && (l.output.format.Name == "" || l.output.format.Name == "wide") {
		l.talk.Note("no resources found" + target.Where(targets))
	}
	return nil
}

// served returns the resource of t, which is another one where err is that the server does
// not serve the version that it did.
func (l *listing) served(ctx context.Context, t target.Target, err error) kube.Resource {
	var s *kube.Status
	if errors.As(err, &s) && s.Code == http.StatusNotFound && (s.Details == nil || s.Details.Name == "") {
		if resolve := target.ServedAs(l.clusters[t.Cluster].Types.Fetch, target.ToList, t); resolve != nil {
			if r, err := resolve(ctx); err == nil {
				return r
			}
		}
	}
	return t.Resource
}

func (l *listing) target(ctx context.Context, t target.Target) error {
	if l.output.managed || l.output.expressManaged {
		return listTarget(ctx, l, t, func(o codec.RawFull) codec.Raw { return o.Raw })
	}
	return listTarget(ctx, l, t, func(o codec.Raw) codec.Raw { return o })
}

// listTarget lists t. One name in a known namespace is a GET.
func listTarget[T record.Raw](ctx context.Context, l *listing, t target.Target, asRaw func(T) codec.Raw) error {
	col := client.Of[T](l.clusters[t.Cluster].Client, t.Resource).In(t.Namespace)
	var sorted *order.ByTime
	if l.flags.events.given() { // else the order is that of kubectl get
		sorted = l.output.byTime(t.Resource)
	}
	give := func(r record.Record) { sorted.Give(r, l.give) }
	defer func() { sorted.Flush(l.give) }()
	col.Accept, col.Query = l.output.accept(), l.output.query(sorted)
	fields, err := t.FieldSelector(l.flags.selection.FieldsSel)
	if err != nil {
		return exit.Usage("%q: %w", t.Name, err)
	}
	var cols *table.Columns
	emit := func(o T) error {
		if l.output.env {
			var err error
			if o, err = record.WithoutEnv(o); err != nil {
				return exit.Failed(fmt.Errorf("%s: %w", t.Label(), err))
			}
		}
		if c := table.Of(asRaw(o)); c != nil {
			cols = c
		}
		if !t.Includes(o.GetName()) {
			return nil
		}
		l.found++
		give(record.Record{Type: string(watch.Added), Time: l.flags.past.Now(), Cluster: t.Cluster, Resource: t.Resource, ID: o.Identity(), Object: asRaw(o), Columns: cols, Initial: true})
		return nil
	}
	if l.flags.subresource != "" {
		return listSubresources(ctx, l, t, col.Sub(l.flags.subresource), emit)
	}
	if t.Name != "" && (t.Namespace != "" || !t.Resource.Namespaced) && l.flags.selection.Selector.Empty() && l.flags.selection.FieldsSel.Empty() {
		o, err := col.Get(ctx, kube.Key{Name: t.Name})
		if err != nil {
			return l.failed(ctx, err)
		}
		return emit(o)
	}
	began, reported := time.Now(), time.Now()
	lister := list.New(col.Where(l.flags.selection.Selector, fields), list.Options{Limit: l.flags.selection.Limit(), MaxItem: record.MaxItem, Progress: func(p list.Progress) {
		every := progressEvery
		if l.talk.Live {
			every = 200 * time.Millisecond
		}
		if time.Since(reported) > every {
			reported = time.Now()
			l.talk.Progress(t.Label(), p.Items, p.Remaining, time.Since(began))
		}
	}})
	defer l.talk.Done()
	n := l.found
	for o, err := range lister.All(ctx) {
		var item *codec.ItemError
		switch {
		case errors.As(err, &item):
			l.talk.Each(t.Label(), "skipped an object that cannot be read: "+item.Error(), "quarantined", "err", item.Error())
			give(record.Record{Type: record.QuarantinedType, Time: l.flags.past.Now(), Cluster: t.Cluster, Resource: t.Resource, ID: item.Identity, Detail: record.ErrorDetail{Error: printable.Line(item.Err.Error())}})
		case err != nil:
			// The lister's words name the resource, ours what was typed.
			return l.failed(ctx, fmt.Errorf("list %s: %w", t.Label(), errors.Unwrap(err)))
		default:
			if err := emit(o); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	give(record.Record{Type: string(watch.Synced), Time: l.flags.past.Now(), Cluster: t.Cluster, Resource: t.Resource,
		ID: codec.Identity{ResourceVersion: string(lister.Revision())}, Detail: record.SyncedDetail{Count: l.found - n}})
	return nil
}

// listSubresources gets the subresource of each named object.
func listSubresources[T record.Raw](ctx context.Context, l *listing, t target.Target, col client.Collection[T], emit func(T) error) error {
	for _, name := range t.Wanted() {
		o, err := col.Get(ctx, kube.Key{Name: name})
		if err != nil {
			return l.failed(ctx, err)
		}
		if err := emit(o); err != nil {
			return err
		}
	}
	return nil
}

// failed says what was tried, unless we were stopped.
func (l *listing) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return exit.Failed(err)
}
