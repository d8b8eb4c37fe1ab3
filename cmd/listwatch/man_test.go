package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
)

func TestManHasAPageForEachCommandAndEveryFlag(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	stdoutOf(t, 0, "man", dir)
	pages := map[string]bool{}
	for _, c := range commands(rootCommand(&cli.Program{})) {
		name := pageName(c) + ".1"
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
			if !f.Hidden && !strings.Contains(page, roff("--"+f.Name)+`\fR`) {
				t.Errorf("%s does not tell of --%s", name, f.Name)
			}
		})
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && !strings.Contains(page, ".BR "+roff(pageName(sub))+" (1)") {
				t.Errorf("%s does not point to %s", name, pageName(sub))
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

func TestManPageLeavesNothingToTroff(t *testing.T) {
	for in, want := range map[string]string{
		`--a 'b' \n`: `\-\-a \(aqb\(aq \en`,
		".rest":      `\&.rest`,
		"'quoted'":   `\(aqquoted\(aq`,
	} {
		if got := roff(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	got := paragraphs("one\n  two\nthree\n\nfour\n  five")
	if want := "one\n.nf\n  two\n.fi\nthree\n.PP\nfour\n.nf\n  five\n.fi\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
