package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// Flags are the flags of fake.
type Flags struct {
	listen        string
	acceptHosts   []string
	tls           bool
	token         string
	files         []string
	kubeconfig    string
	save          string
	simulate      bool
	nodes         int
	churn         float64
	seed          uint64
	faults        string
	randomFaults  bool
	scenario      string
	listScenarios bool
	allowUnused   bool
	parallel      int
	output        string
	namespaces    bool
	quiet         bool
	logFormat     string
}

const faultsHelp = "help" // in place of a file of faults

const fakeLong = `Serve a fake Kubernetes API until told to stop: LIST, WATCH, writes, patches,
CustomResourceDefinitions and garbage collection, from memory. It prints its URL
on stdout once it is ready.

It is for tests and trying things out: what is in it is gone when it ends, unless
--save is given. With --simulate, workloads get pods that start and become ready.
With --faults, --random-faults or --scenario it misbehaves on purpose.

A client under test, in any language, is given after --: it is started for each
scenario, with KUBECONFIG, LISTWATCH_URL, LISTWATCH_CA_FILE (empty over http) and
LISTWATCH_SCENARIO in its environment, follows ConfigMaps, and is ended by SIGTERM.
The exit code is 0 if it passed all of them. A scenario about what the client does
not use, such as streaming lists, is "not exercised", which counts as a failure
without --allow-not-exercised.`

func Command(p *cli.Program) *cobra.Command {
	o := &Flags{}
	cmd := &cobra.Command{
		Use:   "fake",
		Short: "Serve a fake Kubernetes API",
		Long:  fakeLong,
		Example: `  listwatch fake --kubeconfig-out fake.yaml --simulate -f deploy.yaml
  listwatch fake --listen 127.0.0.1:8080 --save cluster.json
  listwatch fake --random-faults --seed 7
  listwatch fake --scenario gone/in-stream
  listwatch fake --scenario all -- node client.js`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 {
				return nil
			}
			return cli.NoArgs("; objects from a file are given by -f, and a client after --")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runFake(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address and port to serve at (0 = a free port)")
	f.StringSliceVar(&o.acceptHosts, "accept-host", nil, "host that requests may name, besides those of the loopback and, with another --listen, IP addresses")
	f.BoolVar(&o.tls, "tls", false, "serve https, with a CA of its own that is in the kubeconfig")
	f.StringVar(&o.token, "token", "", "bearer token that requests need (default none)")
	f.StringArrayVarP(&o.files, "filename", "f", nil, "objects to begin with: a YAML or JSON file, a folder of them, or - for stdin; may be repeated")
	f.StringVar(&o.kubeconfig, "kubeconfig-out", "", "file to write a kubeconfig for this server to")
	f.StringVar(&o.save, "save", "", "file to load objects from at the start, and to keep them in")
	f.BoolVar(&o.simulate, "simulate", false, "play controllers, scheduler and kubelets, without containers")
	f.IntVar(&o.nodes, "nodes", 3, "nodes under --simulate")
	f.Float64Var(&o.churn, "churn", 0, "pods a second that restart under --simulate")
	f.Uint64Var(&o.seed, "seed", 0, "of names, UIDs, delays and random faults")
	f.StringVar(&o.faults, "faults", "", "file with faults, one a line; - for stdin; help tells how they are written, and ends")
	f.BoolVar(&o.randomFaults, "random-faults", false, "misbehave at random, by --seed")
	f.StringVar(&o.scenario, "scenario", "", "play this scenario to one client, print the verdict and end: 0 for a pass, else 1; with a command after --, also several: names parted by commas, patterns such as gone/*, or all")
	f.BoolVar(&o.allowUnused, "allow-not-exercised", false, "exit with 0 though scenarios were not exercised, with a command after --")
	f.IntVar(&o.parallel, "parallel", 8, "scenarios at once, with a command after --")
	f.StringVarP(&o.output, "output", "o", "text", "of verdicts and of --scenarios: text, or json, a line each")
	f.BoolVar(&o.listScenarios, "scenarios", false, "list the scenarios and end")
	f.BoolVar(&o.namespaces, "enforce-namespaces", true, "refuse objects in namespaces that do not exist, and delete what is in a namespace with it")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("scenario", cobra.FixedCompletions(scenarioNames(), cobra.ShellCompDirectiveNoFileComp)))
	f.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but why it ended")
	f.StringVar(&o.logFormat, "log-format", "text", "of stderr: text or json")
	return cmd
}

func runFake(p *cli.Program, cmd *cobra.Command, command []string, o *Flags) error {
	if command = append([]string{}, command...); cmd.ArgsLenAtDash() < 0 {
		command = nil
	}
	rules, err := o.check(cmd, command)
	if err != nil {
		return err
	}
	t := messages.New(p.Stderr, o.logFormat, o.quiet)
	if o.faults == faultsHelp {
		return p.Put(faults.Help())
	}
	if o.listScenarios {
		return listScenarios(p, o)
	}
	address, open, err := listen.Address("--listen", o.listen)
	if err != nil {
		return err
	}
	if open {
		t.Note("warning: --listen " + o.listen + " is not the loopback: whoever reaches this machine reaches the fake server" +
			map[bool]string{true: ", without a token", false: ""}[o.token == ""])
	}
	opts := apitest.Options{Address: address, Hosts: o.acceptHosts, TLS: o.tls, Token: o.token, Seed: o.seed, Namespaces: o.namespaces, CollectGarbage: true}
	if o.scenario != "" {
		return playScenario(p, cmd.Context(), o, opts, command, t)
	}
	s := &fakeServer{flags: o, talk: t}
	srv, err := s.start(opts)
	defer s.saver.unlock()
	if err != nil {
		return err
	}
	defer srv.Close()
	if s.client, err = fakeClient(srv, o.token, s.warn); err != nil {
		return exit.Failed(err)
	}
	defer s.client.CloseIdleConnections()
	if err := s.fill(cmd.Context(), cmd.InOrStdin()); err != nil {
		return err
	}
	if err := s.misbehave(rules); err != nil {
		return exit.Failed(err)
	}
	if err := announce(p, srv, o.kubeconfig, "pods", t); err != nil {
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
		return nil, listen.Error("--listen", s.flags.listen, err)
	}
	s.srv = srv
	if opts.State != nil {
		s.talk.Info("fake", "restored "+printable.Count(s.saver.restored, "object")+" from "+s.flags.save, "restored", "objects", s.saver.restored)
	}
	return srv, nil
}

// check refuses flags that make no sense, and reads the faults.
func (o *Flags) check(cmd *cobra.Command, command []string) ([]faults.Rule, error) {
	set := cmd.Flags().Changed
	if o.logFormat != "text" && o.logFormat != "json" {
		return nil, exit.Usage("--log-format %q: want one of text, json", printable.Clip(o.logFormat))
	}
	if err := errors.Join(cli.Positive(cmd, "nodes", "churn"), replaceable("--kubeconfig-out", o.kubeconfig), replaceable("--save", o.save)); err != nil {
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
	case o.output != "text" && o.output != "json":
		return nil, exit.Usage("--output %q: want one of text, json", printable.Clip(o.output))
	case set("output") && o.scenario == "" && !o.listScenarios:
		return nil, exit.Usage("--output is of --scenario and --scenarios: give one of them too")
	case command != nil && o.scenario == "":
		return nil, exit.Usage("a command after -- is the client of --scenario: give both")
	case command != nil && (len(command) == 0 || command[0] == ""):
		return nil, exit.Usage("the command after -- is missing")
	case set("parallel") && command == nil:
		return nil, exit.Usage("--parallel is for a command after --: give both")
	case set("allow-not-exercised") && command == nil:
		return nil, exit.Usage("--allow-not-exercised is for a command after --: give both")
	case o.parallel < 1 || o.parallel > 100:
		return nil, exit.Usage("--parallel %d: want 1 to 100", o.parallel)
	case o.churn != o.churn:
		return nil, exit.Usage("--churn %v: want a number", o.churn)
	case o.nodes > 5000:
		return nil, exit.Usage("--nodes %d: want at most 5000", o.nodes)
	case o.churn > 10000:
		return nil, exit.Usage("--churn %v: want at most 10000", o.churn)
	case strings.ContainsAny(o.token, "\r\n"):
		return nil, exit.Usage("--token has a line break in it")
	case o.token != "" && !o.tls:
		return nil, exit.Usage("--token needs --tls: clients send no credentials over http")
	}
	if o.scenario != "" || o.listScenarios {
		for _, name := range []string{"filename", "save", "simulate", "faults", "random-faults"} {
			if set(name) {
				return nil, exit.Usage("--%s: a scenario brings its own objects and faults: give one of the two", name)
			}
		}
	}
	if o.faults == "" || o.faults == faultsHelp {
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

// fakeServer is one run of fake.
type fakeServer struct {
	flags  *Flags
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
	if s.random, err = faults.NewRandom(s.flags.seed, faults.RandomOptions{}); err != nil {
		return err
	}
	s.struck = append(s.struck, faults.Randomize(s.srv, s.random))
	s.talk.Info("fake", fmt.Sprintf("faults strike at random; the same again: --random-faults --seed %d", s.flags.seed), "random faults", "seed", s.flags.seed)
	return nil
}

// run serves until ctx is done.
func (s *fakeServer) run(ctx context.Context) error {
	done := make(chan struct{})
	inner, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(done)
		if !s.flags.simulate {
			return
		}
		o := simulate.Options{Nodes: s.flags.nodes, Seed: s.flags.seed, Churn: s.flags.churn}
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
