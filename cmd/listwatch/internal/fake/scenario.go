package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/scenario"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
)

// listScenarios lists what --scenario takes.
func listScenarios(p *cli.Program, o *Flags) error {
	if o.output == "json" {
		for _, s := range scenario.All() {
			b, err := json.Marshal(map[string]any{"name": s.Name, "layer": s.Layer, "summary": s.Summary, "correct": s.Correct, "limit": s.Limit.Seconds(), "tls": s.TLS})
			if err != nil {
				return exit.Failed(err)
			}
			if err := p.Put(string(b) + "\n"); err != nil {
				return err
			}
		}
		return nil
	}
	width := 0
	for _, s := range scenario.All() {
		width = max(width, len(s.Name))
	}
	for _, s := range scenario.All() {
		if err := p.Put(fmt.Sprintf("%-*s  %s\n", width, s.Name, s.Summary)); err != nil {
			return err
		}
	}
	return nil
}

// playScenario plays one scenario to whoever connects, or several to the command.
func playScenario(p *cli.Program, ctx context.Context, o *Flags, opts apitest.Options, command []string, t *messages.Writer) error {
	all, err := findScenarios(o.scenario)
	if err != nil {
		return err
	}
	opts.Namespaces = false // it has its own
	switch {
	case command != nil && !strings.HasSuffix(o.listen, ":0"):
		return exit.Usage("--listen %s: with a command each scenario takes a free port: leave it out, or give port 0", printable.Clip(o.listen))
	case command != nil && o.kubeconfig != "":
		return exit.Usage("--kubeconfig-out: a command after -- gets its kubeconfig by KUBECONFIG: give one of the two")
	case command != nil:
		return playAll(p, ctx, o, opts, all, command, t)
	case len(all) > 1:
		return exit.Usage("--scenario %s: these are %d: give a command after --, which is started for each of them, such as -- node client.js", printable.Clip(o.scenario), len(all))
	}
	s := all[0]
	so := scenario.Options{Server: opts}
	if !o.quiet {
		so.Log = scenarioLog{t}
	}
	run, err := scenario.Serve(ctx, s.Name, so)
	if err != nil {
		return listen.Error("--listen", o.listen, err)
	}
	defer run.Close()
	t.Info("fake", s.Summary, "scenario", "name", s.Name, "summary", s.Summary)
	t.Info("fake", "A correct client "+strings.ToLower(s.Correct[:1])+s.Correct[1:], "scenario", "correct", s.Correct)
	t.Info("fake", fmt.Sprintf("let your client follow ConfigMaps, of all namespaces or of default, within a minute; the verdict comes %v after that at most", s.Limit), "waiting", "limit", s.Limit)
	if s.TLS && o.kubeconfig == "" {
		t.Info("fake", "it is served under a certificate of its own, which --kubeconfig-out FILE writes for your client", "certificate")
	}
	if err := announce(p, run.Server, o.kubeconfig, kube.ConfigMaps.Plural, t); err != nil {
		return err
	}
	v := run.Wait(ctx)
	if ctx.Err() != nil && v.Outcome == scenario.NotExercised {
		return context.Cause(ctx)
	}
	if err := printVerdict(p, o, v); err != nil {
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
