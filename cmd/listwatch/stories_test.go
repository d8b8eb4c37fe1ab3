package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/help"
)

// TestEachFlagHasAStory: some script calls the program with it.
func TestEachFlagHasAStory(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	call := regexp.MustCompile(`^!? ?(run|start|says) `)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if call.MatchString(line) {
				calls = append(calls, line)
			}
		}
	}
	told := func(f *pflag.Flag) bool {
		used := regexp.MustCompile(`[ '"]--` + f.Name + `\b`)
		short := regexp.MustCompile(` -` + f.Shorthand + `([ =]|$)`)
		for _, line := range calls {
			if used.MatchString(line) || f.Shorthand != "" && short.MatchString(line) {
				return true
			}
		}
		return false
	}
	seen := map[string]bool{} // several commands have a flag of this name
	for _, c := range help.Commands(rootCommand(&cli.Program{})) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			name := f.Name + " " + f.Shorthand
			if f.Hidden || f.Name == "help" || seen[name] {
				return
			}
			if seen[name] = true; !told(f) {
				t.Errorf("%s --%s: no script in testdata/script has it", c.CommandPath(), f.Name)
			}
		})
	}
}
