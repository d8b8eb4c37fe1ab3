package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/listwatch/listwatch/discovery"
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
	different := false
	if len(args) == 0 {
		if names, different, err = p.unserved(ctx, api, src.id, db, names); err != nil {
			return err
		}
	}
	all, err := resources(api, names)
	if err != nil {
		return err
	}
	for _, r := range all {
		scope, ok := stored[r.GroupResource()]
		if !ok {
			return fmt.Errorf("the sink holds no %s of the cluster %s", r.GroupResource(), src.id)
		}
		scope.Resource = current(api, scope.Resource) // in another version each object would differ
		o := sink.Options{Client: src.client, Scope: scope, Logger: p.log, MaxObject: p.selection.maxObject, ShowSecrets: p.selection.showSecrets}
		if o.Where, err = where(scope.Where); err != nil {
			return err
		}
		if o.Project, err = project(scope.Project); err != nil {
			return err
		}
		v, err := sink.Verify(ctx, o, db, p.wait)
		if err != nil {
			return err
		}
		for _, d := range v.Differences {
			fmt.Fprintf(p.stdout, "%s %s: %s (table %s, cluster %s)\n", r.GroupResource(), d.Key, d.Problem, revision(string(d.Table)), revision(string(d.Cluster)))
		}
		if v.Ahead != "" {
			fmt.Fprintf(p.stdout, "%s: the position %s is ahead of the server, which is at %s: the server was restored to an earlier state\n", r.GroupResource(), v.Ahead, v.Revision)
		}
		note := ""
		if v.Quarantined > 0 {
			note = fmt.Sprintf(", %d quarantined", v.Quarantined)
		}
		if v.Behind {
			note += fmt.Sprintf("; the table is behind, at revision %s: is the sink running?", revision(string(v.Position)))
		}
		fmt.Fprintf(p.stdout, "%s: %d objects at revision %s, %d differences%s\n", r.GroupResource(), v.Objects, v.Revision, len(v.Differences), note)
		different = different || len(v.Differences) > 0 || v.Ahead != ""
	}
	if different {
		return errDifferent
	}
	return nil
}

// unserved reports the rows of types that the server does not serve any more, and returns
// the names of the others.
func (p *program) unserved(ctx context.Context, api *discovery.API, cluster string, db readable, names []string) (served []string, different bool, err error) {
	for _, id := range names {
		_, err := api.Resolve(id)
		if unknown := (*discovery.UnknownError)(nil); !errors.As(err, &unknown) || len(unknown.Broken) > 0 {
			served = append(served, id)
			continue
		}
		plural, group, _ := strings.Cut(id, ".")
		n := 0
		for row, err := range db.Rows(ctx, cluster, kube.Resource{Group: group, Plural: plural}) {
			if err != nil {
				return nil, false, fmt.Errorf("read the table of %s: %w", id, err)
			}
			fmt.Fprintf(p.stdout, "%s %s: the cluster does not serve the type (table %s, cluster none)\n", id, kube.Key{Namespace: row.Namespace, Name: row.Name}, revision(string(row.Revision)))
			n++
		}
		fmt.Fprintf(p.stdout, "%s: not served any more, %d differences\n", id, n)
		different = different || n > 0
	}
	return served, different, nil
}

func revision(rev string) string {
	if rev == "" {
		return "none"
	}
	return rev
}
