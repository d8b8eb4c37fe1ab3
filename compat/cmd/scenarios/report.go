package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/listwatch/listwatch/apitest/scenario"
)

// write prints the report. Its error says which verdicts should not be.
func write(w io.Writer, all []scenario.Scenario, verdicts [][]scenario.Verdict) error {
	fmt.Fprintf(w, `# How clients take a server that misbehaves

The scenarios of apitest/scenario, played with this engine's informer, with
client-go %s (its informer with streaming lists, and with plain ones) and with
the cache of controller-runtime %s, built with %s.

    cd compat && go run ./cmd/scenarios -o scenarios.md

"-" is a scenario that the client never comes to, such as one about streaming
lists if it uses none. What it takes to pass is what "listwatch fake test NAME"
prints, and a fair client of 200 lines can do most of it
(apitest/scenario/naive_test.go).

`, version("k8s.io/client-go"), version("sigs.k8s.io/controller-runtime"), runtime.Version())
	fmt.Fprint(w, "| scenario |")
	for _, f := range followers {
		fmt.Fprintf(w, " %s |", f.name)
	}
	fmt.Fprint(w, "\n|---|")
	for range followers {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w)
	counts := make([][3]int, len(followers))
	for i, s := range all {
		fmt.Fprintf(w, "| %s |", s.Name)
		for j, v := range verdicts[i] {
			counts[j][v.Outcome]++
			fmt.Fprintf(w, " %s |", [...]string{scenario.NotExercised: "-", scenario.Pass: "pass", scenario.Fail: "**fail**"}[v.Outcome])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| passed |")
	for _, c := range counts {
		fmt.Fprintf(w, " %d of %d |", c[scenario.Pass], len(all)-c[scenario.NotExercised])
	}
	fmt.Fprintln(w)
	return explain(w, all, verdicts)
}

// explain prints why the others fail. It is an error if this engine does not pass,
// and if why.go says nothing of a failure, or something of none.
func explain(w io.Writer, all []scenario.Scenario, verdicts [][]scenario.Verdict) error {
	var wrong []error
	fmt.Fprint(w, "\n## Why it fails\n\n")
	for i, s := range all {
		failed := false
		for j, v := range verdicts[i] {
			switch {
			case j == 0 && v.Outcome != scenario.Pass:
				wrong = append(wrong, fmt.Errorf("this engine: %s", v))
			case v.Outcome == scenario.Fail:
				failed = true
			}
		}
		switch {
		case failed && why[s.Name] == "":
			wrong = append(wrong, fmt.Errorf("%s is failed, and why.go does not say why", s.Name))
		case failed:
			fmt.Fprintf(w, "- **%s**: %s %s\n", s.Name, s.Summary, why[s.Name])
		case why[s.Name] != "":
			wrong = append(wrong, fmt.Errorf("nobody fails %s, and why.go says why", s.Name))
		}
	}
	return errors.Join(wrong...)
}

// version returns the version of a module that is linked in.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "(unknown version)"
}
