package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/help"
)

// stdoutOf is what the program prints when it is called with args.
func stdoutOf(t *testing.T, code int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := run(t.Context(), args, func(string) string { return "" }, strings.NewReader(""), &stdout, &stderr); got != code {
		t.Fatalf("listwatch %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, &stderr)
	}
	return stdout.String()
}

// TestHelpIsGolden compares --help of each command with testdata/help. With
// UPDATE_SCRIPTS=1 it writes the files.
func TestHelpIsGolden(t *testing.T) {
	left := map[string]bool{}
	old, err := filepath.Glob("testdata/help/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range old {
		left[name] = true
	}
	for _, c := range help.Commands(rootCommand(&cli.Program{})) {
		file := filepath.Join("testdata/help", help.PageName(c)+".txt")
		got := stdoutOf(t, 0, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if os.Getenv("UPDATE_SCRIPTS") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		delete(left, file)
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; write it by UPDATE_SCRIPTS=1", err)
		} else if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s has changed; write it by UPDATE_SCRIPTS=1 (-want +got):\n%s", c.CommandPath(), diff)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > help.Width {
				t.Errorf("%s --help: a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(got, "--"+f.Name+" ") && help.Connecting().Lookup(f.Name) == nil {
				t.Errorf("%s --help does not tell of --%s", c.CommandPath(), f.Name)
			}
		})
	}
	for file := range left {
		t.Errorf("%s is of no command", file)
	}
}

// TestFlagsStandInGroups: those of watch and list that are no connection flags.
func TestFlagsStandInGroups(t *testing.T) {
	root := rootCommand(&cli.Program{})
	for name := range help.Grouped {
		c, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		_, sets, _ := help.FlagSets(c)
		if rest := sets["Flags"]; rest != nil {
			rest.VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && f.Name != "help" {
					t.Errorf("--%s of %s is in no group of flagGroups", f.Name, name)
				}
			})
		}
	}
}

func TestUsageNamesEachWayOnALine(t *testing.T) {
	for _, test := range []struct{ command, want string }{
		{"watch", "  listwatch watch TYPE[.VERSION[.GROUP]][,TYPE...] [NAME...] [flags]\n  listwatch watch TYPE/NAME... [flags]\n"},
		{"auth check", "  listwatch auth check [flags]\n  listwatch auth check TYPE[.VERSION[.GROUP]][,TYPE...] [NAME...] [flags]\n  listwatch auth check TYPE/NAME... [flags]\n"},
		{"explain-exit", "  listwatch explain-exit [CODE]\n"},
		{"auth", "  listwatch auth COMMAND\n"},
	} {
		c, _, err := rootCommand(&cli.Program{}).Find(strings.Fields(test.command))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, help.Synopsis(c, "  ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.command, diff)
		}
	}
}

func TestHelpOfACommandInBothSpellings(t *testing.T) {
	if diff := cmp.Diff(stdoutOf(t, 0, "list", "--help"), stdoutOf(t, 0, "help", "list")); diff != "" {
		t.Error(diff)
	}
}

// flagVerbs are those with which the helps of flags begin.
const flagVerbs = " accept add admit ask begin choose color compare compress continue count do end expect fail fetch forget forward give hand help ignore impersonate inject keep kill leave let limit load log misbehave open pass permit play post print reach read record redact refuse replace request require restart run say select send serve show simulate skip sort trust use wait warn write "

func TestHelpOfEachFlagBeginsWithAVerb(t *testing.T) {
	for _, c := range help.Commands(rootCommand(&cli.Program{})) {
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if word, _, _ := strings.Cut(f.Usage, " "); !f.Hidden && !strings.Contains(flagVerbs, " "+word+" ") {
				t.Errorf("%s --%s: %q does not begin with a verb", c.CommandPath(), f.Name, f.Usage)
			}
		})
	}
}
