package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
)

// reporting are the flags that set which events are printed, and how: live events, and
// those of a recording.
type reporting struct {
	printing  printing
	columns   print.ColumnFlags
	filtering filter.Filtering
	diffing   print.Diffing

	events      []string
	maxEvents   int
	skipInitial bool
	visible     bool
	showOld     bool
	watchEvents bool
}

// registerWhich registers those that choose, registerHow those about what is printed.
func (o *reporting) registerWhich(f *pflag.FlagSet) {
	f.IntVar(&o.maxEvents, "max-events", 0, "end after this many events, with exit code 0")
	f.StringSliceVar(&o.events, "events", nil, "print only these types of events, such as ADDED,DELETED; for ndjson also SYNCED, BOOKMARK, RELISTED, DISCONNECTED, RECONNECTED, ERROR, QUARANTINED")
	f.BoolVar(&o.skipInitial, "skip-initial", false, "skip the objects of the first list; print only later changes")
	f.BoolVar(&o.visible, "on-visible-change", false, "print a MODIFIED row only when a printed column has changed; ages do not count")
	o.filtering.Register(f)
	o.diffing.Register(f)
}

func (o *reporting) registerHow(f *pflag.FlagSet) {
	f.BoolVar(&o.printing.eventColumn, "event-column", true, "print the type of the event as the first column")
	f.BoolVar(&o.watchEvents, "output-watch-events", false, "print events, not only their objects: {type, object} in json and yaml and as the input of expressions; for names, the type before each")
	f.BoolVar(&o.showOld, "show-old", false, "add the previous state to MODIFIED as member old, for -o ndjson and hooks")
	o.printing.register(f)
	o.columns.Register(f)
	o.columns.RegisterStamps(f)
}

// check refuses flags that make no sense, and returns what they mean. It knows
// whether there are hooks.
func (o *reporting) check(cmd *cobra.Command, p *cli.Program, hooks bool) (output, error) {
	out, err := o.printing.parse(p)
	if err != nil {
		return out, err
	}
	if err := o.columns.Apply(&out.format); err != nil {
		return out, err
	}
	if err := cli.Positive(cmd, "max-events"); err != nil {
		return out, err
	}
	if out.types, err = record.ParseTypes(o.events); err != nil {
		return out, err
	}
	if rows := func(t string) bool { return (&record.Record{Type: t}).IsObject() }; len(out.types) > 0 && out.format.Name != "ndjson" && !hooks && !slices.ContainsFunc(out.types, rows) {
		return out, exit.Usage("--events %s: rows are of ADDED, MODIFIED and DELETED; the others are for -o ndjson and hooks", printable.Clip(strings.Join(out.types, ",")))
	}
	if err := out.where.Compile(o.filtering.Where, o.filtering.Exclude); err != nil {
		return out, err
	}
	if out.filter, err = o.filtering.Compile(); err != nil {
		return out, err
	}
	if err := o.diffing.Check(out.format.Name); err != nil {
		return out, err
	}
	if o.visible && !print.IsTable(out.format.Name) {
		return out, exit.Usage("--on-visible-change is about columns: not with --output %s; --changed-only and --on-change look at objects", printable.Clip(o.printing.format))
	}
	if o.showOld && out.format.Name != "ndjson" && !hooks {
		return out, exit.Usage("--show-old is for -o ndjson and for hooks; -o diff shows what has changed")
	}
	out.format.Diff, out.maxEvents, out.skipInitial, out.visible, out.format.ShowOld = o.diffing, o.maxEvents, o.skipInitial, o.visible, o.showOld
	out.format.Diff.Ignore = out.filter.Ignore
	switch {
	case o.watchEvents:
		out.format.WatchEvents, out.format.Events = true, out.format.Custom == nil
	case print.OfObjects(out.format.Name):
		out.format.Events = false
	}
	return out, nil
}
