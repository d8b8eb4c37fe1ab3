package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/target"
)

// authFlags are the flags of auth check.
type authFlags struct {
	connection connect.Flags
	all        bool
	output     string
	quiet      bool
	logFormat  string
}

const authLong = `Check, step by step, whether the cluster can be reached and which types may be listed
and watched: print the files that were read, the user that the server sees, the step
that fails, and what to do about it. Credentials are never printed. An answer that takes
longer than three times --request-timeout fails.

Types and names are given as for watch. Without any, all types that the server can list
and watch are checked, and summarized.

Exit codes: 0 if all given types may be listed and watched (without types: if any type
may), 1 if not, 2 for wrong usage or configuration.`

func Command(p *cli.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Check credentials and permissions",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return exit.Usage("unknown command %q (there is: listwatch auth check)", printable.Clip(args[0]))
		},
	}
	cmd.AddCommand(authCheckCommand(p))
	return cmd
}

func authCheckCommand(p *cli.Program) *cobra.Command {
	o := &authFlags{}
	cmd := &cobra.Command{
		Use:   "check [TYPE[.VERSION[.GROUP]][,TYPE...] [NAME...] | TYPE/NAME...]",
		Short: "Check credentials and permissions, step by step",
		Long:  authLong,
		Example: `  listwatch auth check
  listwatch auth check pods,deployments -n shop
  listwatch auth check secrets -A --as system:serviceaccount:shop:web -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return authCheck(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "read all namespaces")
	f.StringVarP(&o.output, "output", "o", "", "print json, or nothing for text")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only the failure, on stderr")
	f.StringVar(&o.logFormat, "log-format", "text", "write messages to stderr as text or json")
	o.connection.Register(f)
	complete.Objects(p, cmd, &o.connection)
	return cmd
}

func authCheck(p *cli.Program, cmd *cobra.Command, args []string, o *authFlags) error {
	switch {
	case o.output != "" && o.output != "json":
		return exit.Usage("--output %q: want json, or nothing for text", printable.Clip(o.output))
	case o.logFormat != "text" && o.logFormat != "json":
		return exit.Usage("--log-format %q: want one of text, json", printable.Clip(o.logFormat))
	}
	c := &check{flags: o, p: p, talk: messages.New(p.Stderr, o.logFormat, o.quiet), report: newReport()}
	if len(args) > 0 {
		var err error
		if c.wish, err = target.ParseArgs(args); err != nil {
			return err
		}
	}
	c.report.Configuration.Flags = given(cmd.Flags())
	err := c.run(cmd.Context())
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
	if cause := context.Cause(cmd.Context()); cause != nil {
		return cause
	}
	c.report.OK = err == nil
	if !o.quiet {
		conceal(reflect.ValueOf(c.report), c.talk.Hide)
		text, e := c.report.print(o.output)
		if e != nil {
			return exit.Failed(e)
		}
		if e := p.Put(text); e != nil {
			return e
		}
	}
	return err
}

// given returns the names of the connection flags that are set, without their values.
func given(f *pflag.FlagSet) []string {
	var own pflag.FlagSet
	(&connect.Flags{}).Register(&own)
	var names []string
	f.Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil {
			names = append(names, "--"+f.Name)
		}
	})
	slices.Sort(names)
	return names
}

// check is one run of auth check.
type check struct {
	flags  *authFlags
	p      *cli.Program
	talk   *messages.Writer
	wish   target.Wish
	report *report

	cfg    *config.Config
	client *client.Client
	seen   *seen
}

// run takes the steps in order, and ends at the first that fails: each needs those
// before it.
func (c *check) run(ctx context.Context) error {
	if err := c.configure(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{c.obtain, c.server, c.identity, c.rights} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// configure reads the configuration: which cluster, with which credentials.
func (c *check) configure() error {
	step := &c.report.Configuration
	cfg, err := c.flags.connection.Read(c.p)
	if err != nil {
		step.fail(errors.Unwrap(err), c.advice(errors.Unwrap(err)))
		return err
	}
	step.Status, step.Files = statusOK, cfg.Sources
	if slices.Equal(cfg.Sources, []string{"in-cluster"}) {
		step.Files, step.InCluster = nil, true
	}
	step.Context, step.Cluster, step.User, step.Namespace = cfg.Context, cfg.Cluster, cfg.User, cfg.Namespace
	for _, w := range cfg.Warnings {
		step.warn(w)
	}
	c.cfg, c.seen = cfg, &seen{longest: 3 * cmp.Or(cfg.Client.Timeout, time.Minute)}
	described := describe(cfg.Client)
	if c.flags.connection.Opts.Token != "" && len(described.Shown) > 0 { // over plain HTTP it is not shown
		described.Shown[0].From = "--token"
	}
	cfg.Client.Wrap = c.seen.wrap
	if c.client, err = c.flags.connection.Dial(c.p, cfg, c.talk); err != nil {
		described.fail(errors.Unwrap(err), c.advice(errors.Unwrap(err)))
	}
	c.report.Credentials = described
	return err
}

// obtain runs the command that returns credentials, if there is one.
func (c *check) obtain(ctx context.Context) error {
	source := c.cfg.Client.Credentials
	if source == nil {
		return nil
	}
	step := &c.report.Credentials
	cred, err := source.Credential(ctx, nil)
	if err != nil {
		step.fail(err, c.advice(err))
		return exit.Failed(fmt.Errorf("auth check: %w", err))
	}
	step.got(cred)
	return nil
}

// advice returns what can be done about err.
func (c *check) advice(err error) string { return Advice(err, configOf(c.p)) }

// where returns the namespace that the rights are for; empty = all.
func (c *check) where() string {
	if c.flags.all {
		return ""
	}
	return c.cfg.Namespace
}

// everywhere returns the scope of a question as text.
func everywhere(namespace string, namespaced bool) string {
	switch {
	case !namespaced:
		return "in the cluster"
	case namespace == "":
		return "in all namespaces"
	}
	return "in namespace " + namespace
}
