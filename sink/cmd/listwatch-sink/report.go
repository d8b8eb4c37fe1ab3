package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// errDifferent means that verify found a difference, and has printed it.
var errDifferent = errors.New("the table differs from the cluster")

// initialise makes or migrates what the sink needs, such as tables, and ends.
func (p *program) initialise(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("init takes no arguments")
	}
	db, err := p.open(ctx, false)
	if err != nil {
		return err
	}
	return db.Close()
}

// status prints the positions of a sink.
func (p *program) status(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("status takes no arguments")
	}
	db, err := p.read(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	positions, err := db.Positions(ctx)
	if err != nil {
		return fmt.Errorf("read the positions: %w", err)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "CLUSTER\tRESOURCE\tSHARD\tPHASE\tREVISION\tEPOCH\tGENERATION\tCOMMITTED\tGAPS\tSELECTION")
	for _, pos := range positions {
		gaps, err := db.Gaps(ctx, pos.Scope.Cluster, pos.Scope.Resource)
		if err != nil {
			return fmt.Errorf("read the gaps: %w", err)
		}
		n := 0
		for _, g := range gaps {
			if g.Shard == pos.Scope.Shard {
				n++
			}
		}
		phase := string(pos.Phase)
		switch pos.Control {
		case sink.Paused:
			phase = "PAUSED"
		case sink.Resharding, sink.PausedResharding:
			phase = "RESHARDING"
		}
		age := "never"
		if pos.Sequence > 0 {
			age = time.Since(pos.Time).Round(time.Second).String() + " ago"
		}
		fmt.Fprintf(w, "%s\t%s\t%d/%d\t%s\t%s\t%d\t%d\t%s\t%d\t%s\n", pos.Scope.Cluster, pos.Scope.Resource.GroupResource(),
			pos.Scope.Shard, pos.Scope.Count(), phase, pos.Revision, pos.Epoch, pos.Generation, age, n, pos.Scope.Selection())
	}
	return w.Flush()
}

// verify compares the table with the cluster: of the resources that are named, or of all
// that the sink holds.
func (p *program) verify(ctx context.Context, args []string) error {
	db, err := p.read(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	src, err := p.source(ctx)
	if err != nil {
		return err
	}
	defer src.client.CloseIdleConnections()
	positions, err := db.Positions(ctx)
	if err != nil {
		return fmt.Errorf("read the positions: %w", err)
	}
	stored := map[string]sink.Scope{} // by resource
	names := splitNames(args)
	for _, pos := range positions {
		if id := pos.Scope.Resource.GroupResource(); pos.Scope.Cluster == src.id {
			if _, ok := stored[id]; !ok && len(args) == 0 {
				names = append(names, id)
			}
			stored[id] = pos.Scope
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("the sink holds nothing of the cluster %s", src.id)
	}
	api, err := discovery.Fetch(ctx, src.client)
	if err != nil {
		return err
	}
	// The name by which a type is stored counts also while the server does not tell its types.
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := stored[name]; return ok })
	known := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(others, name) })
	all, different, left, err := p.comparable(ctx, api, stored, db, known)
	if err != nil {
		return err
	}
	more, err := resources(api, others)
	if err != nil {
		return err
	}
	all = append(all, more...)
	for _, r := range all {
		scope, ok := stored[r.GroupResource()]
		if !ok {
			return fmt.Errorf("the sink holds no %s of the cluster %s", r.GroupResource(), src.id)
		}
		scope.Resource = current(api, scope.Resource) // in another version each object would differ
		scope.Resource.Namespaced = scope.Resource.Namespaced || scope.Namespace != ""
		differs, err := p.compare(ctx, src, db, scope)
		if err != nil && (len(all) == 1 || ctx.Err() != nil) {
			return err
		} else if err != nil {
			fmt.Fprintf(p.stdout, "%s: not compared: %s\n", r.GroupResource(), printable.Line(err.Error()))
			left++
		}
		different = different || differs
	}
	switch {
	case different:
		return errDifferent
	case left > 0:
		return fmt.Errorf("types were not compared: %d", left)
	}
	return nil
}

// compare reports how the table of a type differs from the cluster, and whether it does.
func (p *program) compare(ctx context.Context, src *source, db readable, scope sink.Scope) (different bool, err error) {
	o := sink.Options{Client: src.client, Scope: scope, Logger: p.log, MaxObject: p.selection.maxObject, ShowSecrets: p.selection.showSecrets}
	if o.Where, err = where(scope.Where); err != nil {
		return false, err
	}
	if o.Project, err = project(scope.Project); err != nil {
		return false, err
	}
	v, err := sink.Verify(ctx, o, db, p.wait)
	if err != nil {
		return false, err
	}
	id := scope.Resource.GroupResource()
	for _, d := range v.Differences {
		fmt.Fprintf(p.stdout, "%s %s: %s (table %s, cluster %s)\n", id, d.Key, d.Problem, revision(string(d.Table)), revision(string(d.Cluster)))
	}
	if v.Ahead != "" {
		fmt.Fprintf(p.stdout, "%s: the position %s is ahead of the server, which is at %s: the server was restored to an earlier state\n", id, v.Ahead, v.Revision)
	}
	note := ""
	if v.Quarantined > 0 {
		note = fmt.Sprintf(", %d quarantined", v.Quarantined)
	}
	if v.Behind {
		note += fmt.Sprintf("; the table is behind, at revision %s: is the sink running?", revision(string(v.Position)))
	}
	fmt.Fprintf(p.stdout, "%s: %d objects at revision %s, %d differences%s\n", id, v.Objects, v.Revision, len(v.Differences), note)
	return len(v.Differences) > 0 || v.Ahead != "", nil
}

// comparable returns the types of stored that can be listed, in the order of ids, and reports
// the others: each row of a type that the server does not serve any more is a difference, and
// the types that it serves without list and watch are left out.
func (p *program) comparable(ctx context.Context, api *discovery.API, stored map[string]sink.Scope, db readable, ids []string) (all []kube.Resource, different bool, left int, err error) {
	served := servedBy(api)
	for _, id := range ids {
		scope := stored[id]
		_, ok := moved(api, id)
		switch {
		case served.ceased(scope.Resource):
			n, err := p.unserved(ctx, db, scope)
			if err != nil {
				return nil, false, 0, err
			}
			different = different || n > 0
		case !ok && !served.broken[scope.Resource.Group]:
			fmt.Fprintf(p.stdout, "%s: not compared: in no version can it be listed and watched\n", id)
			left++
		default:
			all = append(all, scope.Resource)
		}
	}
	return all, different, left, nil
}

// unserved reports the rows of a type that the server does not serve any more.
func (p *program) unserved(ctx context.Context, db readable, scope sink.Scope) (n int, err error) {
	id := scope.Resource.GroupResource()
	for row, err := range db.Rows(ctx, scope.Cluster, scope.Resource) {
		if err != nil {
			return n, fmt.Errorf("read the table of %s: %w", id, err)
		}
		fmt.Fprintf(p.stdout, "%s %s: the cluster does not serve the type (table %s, cluster none)\n", id, kube.Key{Namespace: row.Namespace, Name: row.Name}, revision(string(row.Revision)))
		n++
	}
	fmt.Fprintf(p.stdout, "%s: not served any more, %d differences\n", id, n)
	return n, nil
}

func revision(rev string) string {
	if rev == "" {
		return "none"
	}
	return rev
}
