package rolling

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/rollout"
	"github.com/listwatch/listwatch/internal/target"
)

// flags are the flags of rollout.
type flags struct {
	connection connect.Flags
	watch      bool
	timeout    time.Duration
	quiet      bool
	logFormat  string
}

// Command returns the command rollout.
func Command(p *cli.Program) *cobra.Command {
	o := &flags{}
	cmd := &cobra.Command{
		Use:   "rollout TYPE/NAME | TYPE NAME",
		Short: "Follow a rollout until it is complete, and say what it waits for",
		Long: `Follow the rollout of a Deployment, StatefulSet, DaemonSet or Job until it is
complete. The program prints the lines of kubectl rollout status and, indented below
them, why Pods are not created, why each Pod is not ready, and the warnings among the
Events of the object and its Pods.

The exit code is 1 if the rollout fails or the object is deleted, 4 after --timeout.`,
		Example: `  listwatch rollout deployment/web --timeout 5m
  listwatch rollout job/backup -n shop`,
		RunE: func(cmd *cobra.Command, args []string) error { return run(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVarP(&o.watch, "watch", "w", true, "wait until the rollout is complete; with false, print its state and end")
	f.DurationVar(&o.timeout, "timeout", 0, "fail with exit code 4 if the rollout is not complete by then (0 = never)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing on stderr but why the program ended")
	f.StringVar(&o.logFormat, "log-format", "text", "write messages to stderr as text or json")
	o.connection.Register(f)
	complete.Objects(p, cmd, &o.connection)
	return cmd
}

func run(p *cli.Program, cmd *cobra.Command, args []string, o *flags) error {
	if err := cli.Positive(cmd, "timeout"); err != nil {
		return err
	}
	if len(args) > 1 && args[0] == "status" && (len(args) == 3 || strings.Contains(args[1], "/")) {
		args = args[1:] // kubectl rollout status
	}
	if len(args) > 1 && slices.Contains([]string{"history", "pause", "restart", "resume", "undo"}, args[0]) && (len(args) == 3 || strings.Contains(args[1], "/")) {
		return exit.Usage("rollout follows, and changes nothing: kubectl rollout %s", args[0])
	}
	w, err := target.ParseArgs(args)
	if err != nil {
		return err
	}
	t := p.Messages(o.logFormat, o.quiet)
	ctx := cmd.Context()
	if o.timeout > 0 {
		var release context.CancelFunc
		ctx, release = context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("%w: %v", exit.ErrTimedOut, o.timeout))
		defer release()
	}
	c, cfg, err := o.connection.Load(p, t)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	var ts []target.Target
	err = o.connection.Types(p, c, cfg).Now(ctx, func(api *discovery.API) (err error) {
		ts, err = w.In(api, c.Server(), cfg.Namespace, target.ToWatch)
		return err
	})
	switch {
	case err != nil:
		return err
	case len(ts) != 1 || ts[0].Name == "":
		return exit.Usage("say which object: one TYPE/NAME, such as deployment/web")
	case !rollout.Judged(ts[0].Resource):
		return exit.Usage("%s have no rollout: want a deployment, statefulset, daemonset or job", ts[0].Resource.GroupResource())
	}
	r := &rolling{program: p, client: c, talk: t, target: ts[0], watch: o.watch, changes: make(chan change),
		pods: map[string][]string{}, warnings: map[string][]string{}, refused: map[string]string{}, said: map[string]bool{}}
	return r.run(ctx)
}
