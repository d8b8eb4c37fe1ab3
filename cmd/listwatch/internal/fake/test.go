package fake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/scenario"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
)

// testFlags are the flags of fake test.
type testFlags struct {
	server      serverFlags
	allowUnused bool
	parallel    int
	output      string
}

const testLong = `Test a client of the Kubernetes API, in any language, by scenarios. In each scenario
the server has one fault, and the program prints a verdict on the client's behaviour.
Scenarios are selected by name or by pattern, such as 'gone/*'; by default all are
played. "listwatch fake scenarios" lists them.

The program starts the client after -- once for each scenario, with KUBECONFIG,
LISTWATCH_URL, LISTWATCH_CA_FILE (empty over http) and LISTWATCH_SCENARIO in its
environment, and ends it by SIGTERM. The client must follow ConfigMaps. Without a client
after --, the program serves one scenario to a client that you start, and prints its
verdict.

The exit code is 0 if the client passed all scenarios. A scenario of a feature that the
client does not use, such as streaming lists, is "not exercised". That counts as a
failure, except with --allow-not-exercised.`

func testCommand(p *cli.Program) *cobra.Command {
	o := &testFlags{}
	cmd := &cobra.Command{
		Use:   "test [flags] [SCENARIO...] -- CLIENT [ARG...] | [flags] SCENARIO",
		Short: "Test a client with a faulty server",
		Long:  testLong,
		Example: `  listwatch fake test -- node client.js
  listwatch fake test 'gone/*' tcp/reset -- node client.js
  listwatch fake test gone/in-stream --kubeconfig-out fake.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return runTest(p, cmd, args, o) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if slices.Contains(p.Args[:len(p.Args)-1], "--") { // cobra adds one of its own to what cmd has
				return nil, cobra.ShellCompDirectiveDefault
			}
			return scenarioNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.server.register(f)
	f.IntVar(&o.parallel, "parallel", 8, "play this many scenarios at once, with a client after --")
	f.BoolVar(&o.allowUnused, "allow-not-exercised", false, "end with exit code 0 even if scenarios were not exercised, with a client after --")
	f.StringVarP(&o.output, "output", "o", "text", "print verdicts as text, or as json, one per line")
	o.server.talk.register(f)
	complete.Values(cmd, nil)
	return cmd
}

func runTest(p *cli.Program, cmd *cobra.Command, args []string, o *testFlags) error {
	names, command := args, []string(nil)
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		names, command = args[:at], append([]string{}, args[at:]...)
	}
	if err := o.check(cmd, names, command); err != nil {
		return err
	}
	all, err := findScenarios(names)
	if err != nil {
		return err
	}
	if command == nil && len(all) > 1 {
		return exit.Usage("scenario %q: these are %d: give a client after --, which is started for each of them, such as -- node client.js", printable.Clip(names[0]), len(all))
	}
	t := o.server.talk.writer(p)
	opts, err := o.server.options(t)
	if err != nil {
		return err
	}
	if command == nil {
		return serveScenario(p, cmd.Context(), o, opts, all[0], t)
	}
	return playAll(p, cmd.Context(), o, opts, all, command, t)
}

// check refuses flags that make no sense. A nil command is none.
func (o *testFlags) check(cmd *cobra.Command, names, command []string) error {
	set := cmd.Flags().Changed
	if err := o.server.check(); err != nil {
		return err
	}
	switch {
	case o.output != "text" && o.output != "json":
		return exit.Usage("--output %q: want one of text, json", printable.Clip(o.output))
	case command == nil && len(names) == 0:
		return exit.Usage("which client? Give it after --, such as: listwatch fake test -- node client.js; or name one scenario to serve")
	case command == nil && len(names) > 1:
		return exit.Usage("%d scenarios: give a client after --, which is started for each of them, such as -- node client.js", len(names))
	case command != nil && (len(command) == 0 || command[0] == ""):
		return exit.Usage("the client after -- is missing")
	case set("parallel") && command == nil:
		return exit.Usage("--parallel is for a client after --: give both")
	case set("allow-not-exercised") && command == nil:
		return exit.Usage("--allow-not-exercised is for a client after --: give both")
	case o.parallel < 1 || o.parallel > 100:
		return exit.Usage("--parallel %d: want 1 to 100", o.parallel)
	case command != nil && !strings.HasSuffix(o.server.listen, ":0"):
		return exit.Usage("--listen %s: with a client after -- each scenario takes a free port: leave it out, or give port 0", printable.Clip(o.server.listen))
	case command != nil && o.server.kubeconfig != "":
		return exit.Usage("--kubeconfig-out: a client after -- gets its kubeconfig by KUBECONFIG: give one of the two")
	}
	return nil
}

// serveScenario plays one scenario to whoever connects.
func serveScenario(p *cli.Program, ctx context.Context, o *testFlags, opts apitest.Options, s scenario.Scenario, t *messages.Writer) error {
	so := scenario.Options{Server: opts}
	if !o.server.talk.quiet {
		so.Log = scenarioLog{t}
	}
	run, err := scenario.Serve(ctx, s.Name, so)
	if err != nil {
		return listen.Error("--listen", o.server.listen, err)
	}
	defer run.Close()
	t.Info("fake", s.Summary, "scenario", "name", s.Name, "summary", s.Summary)
	t.Info("fake", "A correct client "+strings.ToLower(s.Correct[:1])+s.Correct[1:], "scenario", "correct", s.Correct)
	t.Info("fake", fmt.Sprintf("let your client follow ConfigMaps, of all namespaces or of default, within a minute; the verdict comes %v after that at most", s.Limit), "waiting", "limit", s.Limit)
	if s.TLS && o.server.kubeconfig == "" {
		t.Info("fake", "it is served under a certificate of its own, which --kubeconfig-out FILE writes for your client", "certificate")
	}
	if err := announce(p, run.Server, o.server.kubeconfig, kube.ConfigMaps.Plural, t); err != nil {
		return err
	}
	v := run.Wait(ctx)
	if ctx.Err() != nil && v.Outcome == scenario.NotExercised {
		return context.Cause(ctx)
	}
	if err := printVerdict(p, o.output, v); err != nil {
		return err
	}
	if v.Outcome != scenario.Pass {
		return exit.Failed(fmt.Errorf("scenario %s: %s", s.Name, v.Outcome))
	}
	return nil
}

// scenarioLog says each line of a scenario's log.
type scenarioLog struct{ *messages.Writer }

func (l scenarioLog) Write(b []byte) (int, error) {
	l.Info("fake", string(b), "step", "text", printable.Line(string(b)))
	return len(b), nil
}
