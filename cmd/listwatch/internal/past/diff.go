package past

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/target"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	connection connect.Flags
	source     Source
	from, to   string
	selection  target.Selection
	filtering  filter.Filtering
	diffing    print.Diffing
	output     string
	color      string
	redact     string
	quiet      bool
	logFormat  string
}

// DiffCommand returns the command diff.
func DiffCommand(p *cli.Program) *cobra.Command {
	o := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff TYPE[,TYPE...] [NAME...] | TYPE/NAME...",
		Short: "Show the differences between two moments of the past",
		Long: `Show what is different at two moments: the objects that were added and deleted,
and what changed in the others, as watch -o diff shows it. The moments are read
from a recording, or from a folder of listwatch ui --history.

An object that was deleted and created again is DELETED and ADDED. What happened and
was undone in between is not shown: listwatch replay -o diff shows each change.`,
		Example: `  listwatch diff pods,deployments -A --from 14:00 --to 14:10 --history ~/history
  listwatch diff deploy/web --from 1h --diff paths --recording x.lwrec.ndjson.gz
  listwatch diff '*' -A --from 1h --to 50m -o name --history ~/history`,
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.from, "from", "", "compare from this moment: a time such as 2026-11-22T14:03:00Z, 14:03 of today, or 10m for that long ago")
	f.StringVar(&o.to, "to", "", "compare to this moment (default now)")
	o.source.Register(f)
	o.selection.Register(f)
	f.StringVarP(&o.output, "output", "o", "diff", "print diff, name or ndjson")
	o.diffing.RegisterStyle(f)
	o.filtering.RegisterChanges(f)
	f.StringVar(&o.color, "color", "auto", "color the output: auto, always or never")
	f.StringVar(&o.redact, "redact", "secrets", "redact in the output: secrets (the values of Secrets), env (those and the values of environment variables) or none")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing on stderr but why the program ended")
	f.StringVar(&o.logFormat, "log-format", "text", "write messages to stderr as text or json")
	o.connection.Register(f)
	o.connection.Namespaces.Allow(f)
	complete.Objects(p, cmd, &o.connection)
	return cmd
}

// check returns what the flags mean.
func (o *diffFlags) check(p *cli.Program) (d *diffRun, err error) {
	for _, v := range []struct {
		name, value string
		want        []string
	}{
		{"output", o.output, []string{"diff", "name", "ndjson"}},
		{"color", o.color, []string{"auto", "always", "never"}},
		{"redact", o.redact, []string{"secrets", "env", "none"}},
		{"log-format", o.logFormat, []string{"text", "json"}},
	} {
		if !slices.Contains(v.want, v.value) {
			return nil, exit.Usage("--%s %q: want one of %s", v.name, printable.Clip(v.value), strings.Join(v.want, ", "))
		}
	}
	if o.from == "" {
		return nil, exit.Usage("say from which moment: --from 1h, or a time")
	}
	d = &diffRun{flags: o, program: p}
	now := time.Now()
	for i, moment := range []struct{ name, value string }{{"from", o.from}, {"to", cmp.Or(o.to, "0s")}} {
		if d.at[i], err = Parse(moment.value, now); err != nil {
			return nil, exit.Usage("--%s: %w", moment.name, err)
		}
	}
	if !d.at[0].Before(d.at[1]) {
		return nil, exit.Usage("--from %s is not before --to %s", printable.Clip(o.from), printable.Clip(cmp.Or(o.to, "now")))
	}
	if err := errors.Join(o.selection.Parse(), o.diffing.Check(o.output)); err != nil {
		return nil, err
	}
	if d.filter, err = o.filtering.Compile(); err != nil {
		return nil, err
	}
	d.format = print.Format{Name: o.output, Events: true, Redact: o.redact != "none", ShowOld: o.output == "ndjson", Diff: o.diffing,
		Color: p.Colored(o.color), Terminal: cli.IsTerminal(p.Stdout)}
	d.format.Diff.Ignore = d.filter.Ignore
	return d, nil
}
