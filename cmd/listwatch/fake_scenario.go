package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/scenario"
	"github.com/listwatch/listwatch/kube"
)

// scenarios lists what --scenario takes.
func (p *program) scenarios() error {
	width := 0
	for _, s := range scenario.All() {
		width = max(width, len(s.Name))
	}
	for _, s := range scenario.All() {
		if err := p.put(fmt.Sprintf("%-*s  %s\n", width, s.Name, s.Summary)); err != nil {
			return err
		}
	}
	return nil
}

// scenario plays one scenario to whoever connects.
func (p *program) scenario(ctx context.Context, o *fakeFlags, opts apitest.Options, t *talk) error {
	s, ok := scenario.Find(o.scenario)
	if !ok {
		return usage("--scenario %q: there is none of that name; --scenarios lists them", clip(o.scenario))
	}
	opts.Namespaces = false // it has its own
	so := scenario.Options{Server: opts}
	if !o.quiet {
		so.Log = scenarioLog{t}
	}
	run, err := scenario.Serve(ctx, s.Name, so)
	if err != nil {
		return cannotListen("--listen", o.listen, err)
	}
	defer run.Close()
	t.info("fake", s.Summary, "scenario", "name", s.Name, "summary", s.Summary)
	t.info("fake", "A correct client "+strings.ToLower(s.Correct[:1])+s.Correct[1:], "scenario", "correct", s.Correct)
	t.info("fake", fmt.Sprintf("let your client follow ConfigMaps, of all namespaces or of default, within 30 s; the verdict comes after %v at most", s.Limit), "waiting", "limit", s.Limit)
	if s.TLS && o.kubeconfig == "" {
		t.info("fake", "it is served under a certificate of its own, which --kubeconfig-out FILE writes for your client", "certificate")
	}
	if err := p.announce(run.Server, o.kubeconfig, kube.ConfigMaps.Plural, t); err != nil {
		return err
	}
	v := run.Wait(ctx)
	if ctx.Err() != nil && v.Outcome == scenario.NotExercised {
		return context.Cause(ctx)
	}
	if err := p.put(fmt.Sprintln(v)); err != nil {
		return err
	}
	if v.Outcome != scenario.Pass {
		return failed(fmt.Errorf("scenario %s: %s", s.Name, v.Outcome))
	}
	return nil
}

// scenarioLog says each line of a scenario's log.
type scenarioLog struct{ *talk }

func (l scenarioLog) Write(b []byte) (int, error) {
	l.info("fake", string(b), "step", "text", oneLine(string(b)))
	return len(b), nil
}
