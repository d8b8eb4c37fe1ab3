// Package help has the texts of help, man pages and exit codes.
package help

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Width is that of a terminal that nobody has made wider.
const Width = 80

// Program is the help of the program.
func Program() string {
	return `Watch Kubernetes objects without gaps. After a broken connection the watch
resumes where it broke. After an expired history it lists again and prints the
differences, deletions included.

Data is printed on stdout, messages on stderr. Exit codes:

` + exitTable() + `
"listwatch explain-exit CODE" explains a code.`
}

// Usage is what follows a command's description in --help.
func Usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n%s", Synopsis(cmd, "  "))
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.Trim(cmd.Example, "\n"))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	titles, sets, shared := FlagSets(cmd)
	for _, title := range titles {
		fmt.Fprintf(w, "\n%s:\n", title)
		for line := range strings.Lines(sets[title].FlagUsagesWrapped(Width)) {
			// A default that is one long word begins further to the left.
			for utf8.RuneCountInString(line) > Width+1 && strings.HasPrefix(line, " ") {
				line = line[1:]
			}
			io.WriteString(w, line)
		}
	}
	if shared {
		fmt.Fprint(w, "\n\"listwatch options\" explains the flags of the cluster and the credentials.\n")
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\"%s COMMAND --help\" explains a command.\n", cmd.CommandPath())
	}
	return nil
}

// Synopsis returns the ways to call cmd, one a line where there are several.
func Synopsis(cmd *cobra.Command, indent string) string {
	name := cmd.CommandPath()
	args := strings.TrimPrefix(cmd.Use, cmd.Name())
	flags := ""
	if cmd.HasAvailableLocalFlags() && !cmd.DisableFlagsInUseLine && !strings.Contains(args, "[flags]") {
		flags = " [flags]"
	}
	if cmd.HasAvailableSubCommands() && args == "" {
		args, flags = " COMMAND", ""
	}
	if utf8.RuneCountInString(indent+name+args+flags) <= Width && !strings.Contains(args, " | ") {
		return indent + name + args + flags + "\n"
	}
	var b strings.Builder
	ways := strings.TrimSpace(args)
	if inner, ok := strings.CutPrefix(ways, "["); ok && strings.HasSuffix(inner, "]") { // none is a way too
		ways = strings.TrimSuffix(inner, "]")
		fmt.Fprintf(&b, "%s%s%s\n", indent, name, flags)
	}
	for way := range strings.SplitSeq(ways, " | ") {
		fmt.Fprintf(&b, "%s%s %s%s\n", indent, name, way, flags)
	}
	return b.String()
}

// reflow wraps the paragraphs of text; lines that are indented stay as they are.
func reflow(text string) string {
	var b, running strings.Builder
	end := func() {
		b.WriteString(wrap(running.String(), "", Width))
		running.Reset()
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line != "" && line[0] != ' ' {
			running.WriteString(line + "\n")
			continue
		}
		end()
		b.WriteString(line + "\n")
	}
	end()
	return b.String()
}

// wrap breaks text into lines of at most width, each after indent.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
			b.WriteString(indent)
			at = len(indent)
		case at+1+n > width:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	if at > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// Help is --help.
func Help(cmd *cobra.Command, _ []string) {
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	w := cmd.OutOrStdout()
	io.WriteString(w, reflow(about)+"\n")
	Usage(cmd)
}
