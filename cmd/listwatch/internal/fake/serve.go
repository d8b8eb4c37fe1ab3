package fake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// serveFlags are the flags of fake serve.
type serveFlags struct {
	server       serverFlags
	files        []string
	save         string
	simulate     bool
	nodes        int
	churn        float64
	faults       string
	randomFaults bool
	namespaces   bool
}

const serveLong = `Serve a fake Kubernetes API until stopped: LIST, WATCH, writes, patches,
CustomResourceDefinitions and garbage collection, from memory. The program prints the
URL on stdout when the server is ready.

The server is for tests and experiments: it does not keep its objects when it ends,
except with --save. With --simulate, workloads get pods that start and become ready.
With --faults or --random-faults the server has faults.`

func serveCommand(p *cli.Program) *cobra.Command {
	o := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a fake Kubernetes API",
		Long:  serveLong,
		Example: `  listwatch fake serve --kubeconfig-out fake.yaml --simulate -f deploy.yaml
  listwatch fake serve --listen 127.0.0.1:8080 --save cluster.json
  listwatch fake serve --random-faults --seed 7`,
		Args: cli.NoArgs("; objects from a file are given by -f"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(p, cmd, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.server.register(f)
	f.StringArrayVarP(&o.files, "filename", "f", nil, "begin with these objects: a YAML or JSON file, a folder of them, or - for stdin; may be repeated")
	f.StringVar(&o.save, "save", "", "load the objects from this file at the start, and write them to it again")
	f.BoolVar(&o.simulate, "simulate", false, "simulate controllers, scheduler and kubelets, without containers")
	f.IntVar(&o.nodes, "nodes", 3, "simulate this many nodes, with --simulate")
	f.Float64Var(&o.churn, "churn", 0, "restart this many pods per second, with --simulate")
	f.StringVar(&o.faults, "faults", "", "read faults from this file, one per line; - for stdin; \"listwatch fake faults\" explains the syntax")
	f.BoolVar(&o.randomFaults, "random-faults", false, "inject random faults, which --seed determines")
	f.BoolVar(&o.namespaces, "enforce-namespaces", true, "refuse objects in namespaces that do not exist, and delete the objects of a namespace with it")
	o.server.talk.register(f)
	complete.Values(cmd, nil)
	return cmd
}

func runServe(p *cli.Program, cmd *cobra.Command, o *serveFlags) error {
	rules, err := o.check(cmd)
	if err != nil {
		return err
	}
	t := o.server.talk.writer(p)
	opts, err := o.server.options(t)
	if err != nil {
		return err
	}
	opts.Namespaces = o.namespaces
	s := &fakeServer{flags: o, talk: t}
	srv, err := s.start(opts)
	defer s.saver.unlock()
	if err != nil {
		return err
	}
	defer srv.Close()
	if s.client, err = fakeClient(srv, o.server.token, s.warn); err != nil {
		return exit.Failed(err)
	}
	defer s.client.CloseIdleConnections()
	if err := s.fill(cmd.Context(), cmd.InOrStdin()); err != nil {
		return err
	}
	if err := s.misbehave(rules); err != nil {
		return exit.Failed(err)
	}
	if err := announce(p, srv, o.server.kubeconfig, "pods", t); err != nil {
		return err
	}
	return s.run(cmd.Context())
}

// start starts the server, with what --save has kept.
func (s *fakeServer) start(opts apitest.Options) (srv *apitest.Server, err error) {
	if s.flags.save != "" {
		s.saver = &saver{path: s.flags.save}
		if err := s.saver.lock(); err != nil {
			return nil, err
		}
		if opts.State, err = s.saver.load(); err != nil {
			return nil, err
		}
		opts.Prepare = s.saver.prepare
	}
	srv, err = apitest.Start(opts)
	var state *apitest.StateError
	switch {
	case errors.As(err, &state):
		return nil, s.saver.unusable(fmt.Errorf("%s, %w", s.flags.save, state))
	case err != nil:
		return nil, listen.Error("--listen", s.flags.server.listen, err)
	}
	s.srv = srv
	if opts.State != nil {
		s.talk.Info("fake", "restored "+printable.Count(s.saver.restored, "object")+" from "+s.flags.save, "restored", "objects", s.saver.restored)
	}
	return srv, nil
}

// check refuses flags that make no sense, and reads the faults.
func (o *serveFlags) check(cmd *cobra.Command) ([]faults.Rule, error) {
	set := cmd.Flags().Changed
	if err := errors.Join(cli.Positive(cmd, "nodes", "churn"), o.server.check(), replaceable("--save", o.save)); err != nil {
		return nil, err
	}
	for _, name := range []string{"nodes", "churn"} {
		if set(name) && !o.simulate {
			return nil, exit.Usage("--%s is for --simulate: give both", name)
		}
	}
	stdin := 0
	for _, f := range append(o.files, o.faults) {
		if f == "-" {
			stdin++
		}
	}
	switch {
	case stdin > 1:
		return nil, exit.Usage("stdin (-) can be read once only")
	case o.churn != o.churn:
		return nil, exit.Usage("--churn %v: want a number", o.churn)
	case o.nodes > 5000:
		return nil, exit.Usage("--nodes %d: want at most 5000", o.nodes)
	case o.churn > 10000:
		return nil, exit.Usage("--churn %v: want at most 10000", o.churn)
	case o.faults == "":
		return nil, nil
	}
	text, err := disk.ReadInput(o.faults, cmd.InOrStdin(), maxFaults)
	if err != nil {
		return nil, exit.Usage("--faults: %w", err)
	}
	rules, err := faults.Parse(string(text))
	if err != nil {
		return nil, exit.Usage("--faults %s: %s", o.faults, firstOf(err))
	}
	return rules, nil
}

// maxFaults is how many bytes a file of --faults has.
const maxFaults = 1 << 20

// firstOf returns the first of the errors that err joins, one a line, and says how
// many there are.
func firstOf(err error) string {
	first, rest, more := strings.Cut(err.Error(), "\n")
	if more {
		first += "; wrong too: " + printable.Count(strings.Count(rest, "\n")+1, "more line")
	}
	return first
}

// fakeServer is one run of fake serve.
type fakeServer struct {
	flags  *serveFlags
	srv    *apitest.Server
	client *client.Client
	talk   *messages.Writer
	random *faults.Random
	rules  []faults.Rule    // of --faults
	struck []*apitest.Fault // of rules, and the one of random
	saver  *saver           // nil = nothing is saved

	bringing string // where the object stands that is being loaded
}

// misbehave sets the faults.
func (s *fakeServer) misbehave(rules []faults.Rule) error {
	s.rules = rules
	var err error
	if s.struck, err = faults.Apply(s.srv, rules); err != nil {
		return err
	}
	for _, r := range rules {
		if action, _, _ := strings.Cut(r.Action, " "); s.srv.CAPEM() == nil && slices.Contains([]string{"untrusted", "outdated", "http1", "rotate"}, action) {
			s.talk.Note("warning: --faults: " + action + " is about certificates and HTTP/2, which there are with --tls only")
		}
	}
	if !s.flags.randomFaults {
		return nil
	}
	if s.random, err = faults.NewRandom(s.flags.server.seed, faults.RandomOptions{}); err != nil {
		return err
	}
	s.struck = append(s.struck, faults.Randomize(s.srv, s.random))
	s.talk.Info("fake", fmt.Sprintf("faults strike at random; the same again: --random-faults --seed %d", s.flags.server.seed), "random faults", "seed", s.flags.server.seed)
	return nil
}

// garbage is how much of it there may be, in percent of what is in use: hostile requests make
// much for moments, and memory matters more than processor time here.
const garbage = 50

// run serves until ctx is done.
func (s *fakeServer) run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	}
	done := make(chan struct{})
	inner, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(done)
		if !s.flags.simulate {
			return
		}
		o := simulate.Options{Nodes: s.flags.nodes, Seed: s.flags.server.seed, Churn: s.flags.churn}
		if s.flags.nodes == 0 {
			o.Nodes = -1
		}
		_ = simulate.New(s.srv, o).Run(inner) // it ends with ctx only
	}()
	err := s.saver.run(ctx, s.talk)
	stop()
	<-done
	for _, f := range s.struck {
		f.Remove()
	}
	for i, r := range s.rules {
		hits := s.struck[i].Hits()
		s.talk.Info("fake", fmt.Sprintf("struck %s: %s", printable.Count(hits, "time"), r), "struck", "fault", r.String(), "times", hits)
	}
	if s.random != nil {
		for _, r := range s.random.Strikes() {
			s.talk.Info("fake", "struck: "+r.String(), "struck", "fault", r.String())
		}
	}
	s.srv.Close() // nothing is written any more
	if last := s.saver.last(); last != nil && errors.Is(err, context.Cause(ctx)) {
		return last
	}
	return err
}
