package help

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
)

// ManCommand is man.
func ManCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the man pages into a folder",
		Hidden: true, // it is for those who make packages: make man
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usage("say which folder to write them to")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return exit.Failed(err)
			}
			for _, c := range Commands(cmd.Root()) {
				if err := os.WriteFile(filepath.Join(args[0], PageName(c)+".1"), []byte(manPage(c)), 0o644); err != nil {
					return exit.Failed(err)
				}
			}
			return nil
		},
	}
}

// Commands returns root and all commands below it that are not hidden, parents
// first.
func Commands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, Commands(c)...)
		}
	}
	return all
}

// PageName returns the name of the man page of c.
func PageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage returns the page of c in the language of man(7). Its date is that of
// the commit, so that the same source gives the same bytes.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"%s\" \"listwatch %s\" \"listwatch\"\n", strings.ToUpper(PageName(c)), cli.ThisBuild().Date, roff(cli.ThisBuild().Version))
	b.WriteString(".nh\n.ad l\n") // flags are not to be hyphenated
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(PageName(c)), roff(c.Short))
	b.WriteString(".SH SYNOPSIS\n.nf\n" + verbatim(Synopsis(c, "")) + ".fi\n")
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(about))
	if c.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	c.InitDefaultHelpFlag()
	if c.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				b.WriteString(manFlag(f))
			}
		})
	}
	if c.HasExample() {
		b.WriteString(".SH EXAMPLES\n.nf\n" + verbatim(strings.Trim(c.Example, "\n")+"\n") + ".fi\n")
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range ExitCodes {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.Code, roff(e.means))
	}
	b.WriteString(".SH SEE ALSO\n" + seeAlso(c) + "\n")
	return b.String()
}

func manFlag(f *pflag.Flag) string {
	name := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Shorthand != "" {
		name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
	}
	kind, text := pflag.UnquoteUsage(f)
	if kind != "" {
		name += ` \fI` + roff(kind) + `\fR`
	}
	if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" && d != "[]" && !strings.Contains(text, "default") {
		text += " (default " + d + ")"
	}
	return ".TP\n" + name + "\n" + roff(text) + "\n"
}

// paragraphs are separated by empty lines; lines that are indented stay as they are.
func paragraphs(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		still := false
		for line := range strings.SplitSeq(part, "\n") {
			if indented := strings.HasPrefix(line, " "); indented != still {
				b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
				still = indented
			}
			b.WriteString(roff(line) + "\n")
		}
		if still {
			b.WriteString(".fi\n")
		}
	}
	return b.String()
}

func verbatim(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(roff(line))
	}
	return b.String()
}

// roff quotes what troff would take for its own.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

func seeAlso(c *cobra.Command) string {
	var pages []string
	if c.HasParent() {
		pages = append(pages, PageName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, PageName(sub))
		}
	}
	for i, name := range pages {
		pages[i] = ".BR " + roff(name) + " (1)"
	}
	return strings.Join(append(pages, ".BR kubectl (1)"), "\n")
}
