package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/help"
)

func TestManHasAPageForEachCommandAndEveryFlag(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	stdoutOf(t, 0, "man", dir)
	pages := map[string]bool{}
	for _, c := range help.Commands(rootCommand(&cli.Program{})) {
		name := help.PageName(c) + ".1"
		pages[name] = true
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		page := string(b)
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"} {
			if strings.Count(page, "\n.SH "+section+"\n") != 1 {
				t.Errorf("%s: want one section %s", name, section)
			}
		}
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, troff("--"+f.Name)+`\fR`) {
				t.Errorf("%s does not tell of --%s", name, f.Name)
			}
		})
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && !strings.Contains(page, ".BR "+troff(help.PageName(sub))+" (1)") {
				t.Errorf("%s does not point to %s", name, help.PageName(sub))
			}
		}
	}
	for _, name := range []string{"listwatch.1", "listwatch-watch.1", "listwatch-auth-check.1"} {
		if !pages[name] {
			t.Errorf("%s is missing", name)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !pages[f.Name()] {
			t.Errorf("%s is of no command", f.Name())
		}
	}
}

// troff is a name as troff wants it.
func troff(name string) string { return strings.ReplaceAll(name, "-", `\-`) }
