package fake

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/apitest/scenario"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

func scenariosCommand(p *cli.Program) *cobra.Command {
	output := "text"
	cmd := &cobra.Command{
		Use:   "scenarios",
		Short: "List the scenarios of fake test",
		Args:  cli.NoArgs(""),
		RunE: func(*cobra.Command, []string) error {
			if output != "text" && output != "json" {
				return exit.Usage("--output %q: want one of text, json", printable.Clip(output))
			}
			return listScenarios(p, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "print them as text, or as json, one per line")
	complete.Values(cmd, nil)
	return cmd
}

func listScenarios(p *cli.Program, output string) error {
	width := 0
	for _, s := range scenario.All() {
		width = max(width, len(s.Name))
	}
	for _, s := range scenario.All() {
		line := fmt.Sprintf("%-*s  %s", width, s.Name, s.Summary)
		if output == "json" {
			b, err := json.Marshal(map[string]any{"name": s.Name, "layer": s.Layer, "summary": s.Summary, "correct": s.Correct, "limit": s.Limit.Seconds(), "tls": s.TLS})
			if err != nil {
				return exit.Failed(err)
			}
			line = string(b)
		}
		if err := p.Put(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// scenarioNames returns the names of all scenarios.
func scenarioNames() []string {
	var names []string
	for _, s := range scenario.All() {
		names = append(names, s.Name)
	}
	return names
}

// findScenarios returns the scenarios that names select: names, or patterns such as
// gone/*. No names select all.
func findScenarios(names []string) ([]scenario.Scenario, error) {
	if len(names) == 0 {
		return scenario.All(), nil
	}
	var found []scenario.Scenario
	for _, name := range names {
		matched := false
		for _, s := range scenario.All() {
			ok, err := path.Match(name, s.Name)
			if err != nil {
				return nil, exit.Usage("scenario %q: want a name, or a pattern such as 'gone/*'", printable.Clip(name))
			}
			if !ok {
				continue
			}
			matched = true
			if !slices.ContainsFunc(found, func(o scenario.Scenario) bool { return o.Name == s.Name }) {
				found = append(found, s)
			}
		}
		if !matched {
			hint := "\"listwatch fake scenarios\" lists them"
			if !strings.Contains(name, "/") {
				if _, err := findScenarios([]string{name + "/*"}); err == nil {
					hint = "did you mean '" + printable.Clip(name) + "/*'?"
				}
			}
			return nil, exit.Usage("scenario %q: there is none of that name; %s", printable.Clip(name), hint)
		}
	}
	return found, nil
}
