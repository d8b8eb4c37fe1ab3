package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/livepage"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/served"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/stage"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

// demoFlags are the flags of demo.
type demoFlags struct {
	watch watchFlags
	speed float64
	ui    bool
	pages livepage.Serving
}

func demoCommand(p *cli.Program) *cobra.Command {
	o := &demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a simulated cluster",
		Long: `Watch the pods of a cluster that this process simulates: a rolling update, a broken
connection, the drain of a node, an expired history, a deletion. The demonstration takes
about ten seconds and needs no cluster.`,
		Args: cli.NoArgs(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.ui {
				return o.pages.Demo(cmd, o.speed, p.Messages(o.watch.reporting.printing.logFormat, o.watch.reporting.printing.quiet))
			}
			return runDemo(p, cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Float64Var(&o.speed, "speed", 1, "play at this multiple of the normal speed")
	f.BoolVar(&o.ui, "ui", false, "show a simulated cluster in a browser instead, until stopped: see listwatch ui")
	o.pages.Register(f)
	f.StringSliceVar(&o.watch.reporting.events, "events", nil, "print only these types of events, such as ADDED,DELETED")
	f.BoolVar(&o.watch.reporting.printing.eventColumn, "event-column", true, "print the type of the event as the first column")
	o.watch.reporting.printing.register(f)
	return cmd
}

func runDemo(p *cli.Program, ctx context.Context, o *demoFlags) error {
	out, err := o.watch.reporting.printing.parse(p)
	if err != nil {
		return err
	}
	if out.types, err = record.ParseTypes(o.watch.reporting.events); err != nil {
		return err
	}
	if o.speed < 0.1 || o.speed > 1000 {
		return exit.Usage("--speed %v: want 0.1 to 1000", o.speed)
	}
	srv, err := apitest.Start(apitest.Options{Seed: 7})
	if err != nil {
		return exit.Failed(err)
	}
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		return exit.Failed(err)
	}
	defer c.CloseIdleConnections()

	t := p.Messages(o.watch.reporting.printing.logFormat, o.watch.reporting.printing.quiet)
	play := stage.New(srv, t, o.speed)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	o.watch.maxFailures, o.watch.idleTimeout = -1, time.Minute
	o.watch.backoff = max(100*time.Millisecond, time.Duration(float64(500*time.Millisecond)/o.speed))
	s := &session{flags: &o.watch, output: out, clusters: map[string]connect.Cluster{"": {Client: c, Types: served.New(c, client.Config{}, "")}}, talk: t, folder: messages.NewFolder(t), targets: []target.Target{{Resource: kube.Pods, Namespace: stage.Namespace}}}
	s.tap = play.See
	played := make(chan struct{})
	go func() {
		defer close(played)
		if err := play.Play(ctx); err != nil {
			end(exit.Failed(fmt.Errorf("play: %w", err))) // unless it is over already
			return
		}
		end(exit.ErrAskedFor)
	}()
	err = s.run(ctx, p)
	end(nil)
	<-played
	if errors.Is(err, exit.ErrAskedFor) {
		play.Announce("what you saw is one watch: it resumed where its connection broke, and after the 410 it listed again and reported what was deleted meanwhile.")
		play.Announce(`on a cluster of your own: listwatch watch pods -A, and "listwatch watch --help" for the rest.`)
	}
	return err
}
