//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
)

// TestCommandsOfThePagesExist: each command of listwatch in README.md and the other pages,
// as a line to copy or within a sentence, has a subcommand and flags that exist. A shell
// takes the lines apart, as for somebody who copies them.
func TestCommandsOfThePagesExist(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"README.md", "docs/*.md", "packaging/README.md", "examples/*/README.md"} {
		pages = append(pages, glob(t, "../../"+pattern)...)
	}
	command := regexp.MustCompile("(?m)^    ((?:kubectl )?listwatch [a-z].*)$|`(listwatch [a-z][^`]*)`")
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			found++
			line := m[1] + m[2]
			root := rootCommand(&cli.Program{})
			c, args, err := root.Find(words(t, line))
			if err == nil && c == root {
				t.Errorf("%s: there is no such command: %s", page, line)
			} else if err == nil {
				err = c.ParseFlags(args)
			}
			if err != nil && !errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: %s: %v", page, line, err)
			}
		}
	}
	if found < 30 {
		t.Errorf("the pages have %d commands, want more", found)
	}
}

// words returns the arguments that a shell passes to listwatch.
func words(t *testing.T, line string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "arguments")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `listwatch() { printf '%s\n' "$@" > "$FILE"; }; kubectl() { shift; listwatch "$@"; }
`+line)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "FILE="+file)
	out, _ := cmd.CombinedOutput() // it fails where the line pipes into a program that is not there
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
