package help

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// ExitCode is what an exit code says, and what to do about it.
type ExitCode struct {
	Code  int
	Short string // for a list, without a full stop
	means string
	todo  string
}

// ExitCodes are all exit codes, for help, man pages and explain-exit.
var ExitCodes = []ExitCode{
	{0, "the end that was asked for",
		"It ended as it was asked to: by --once, --exit-after, --max-events or --until, or what was to be printed is printed. It is never 0 because a server closed a stream.",
		"Nothing."},
	{exit.CodeFailed, "a failure",
		"Something failed that could not be mended: the server refused the first request or was not there at the start (a run that goes on from a --checkpoint waits for it), --max-failures or --max-staleness was exceeded, stdout could not be written, a port was in use. An interruption later on is no such failure: it is waited for.",
		`Read the last line of stderr. If it is about who you are or what you may do: "listwatch auth check". If the server was not there: start it again until it is, as systemd does by Restart=on-failure, and Kubernetes by itself; with --checkpoint nothing is missed meanwhile.`},
	{exit.CodeUsage, "wrong usage or configuration",
		"The arguments, the flags or the kubeconfig make no sense; nothing was asked of the server's objects.",
		`Read the last line of stderr, and "listwatch COMMAND --help". To start it again without a change is of no use.`},
	{exit.CodeMatched, "--fail-on was met",
		"A condition of --fail-on became true before those of --until did.",
		"The line on stderr says which condition, and of which object."},
	{exit.CodeTimeout, "--timeout was over",
		"What was asked for by --until, --max-events or --once did not happen within --timeout.",
		"The line on stderr says what was missing. Give more time, or look at the objects."},
	{exit.CodeHooks, "too many hooks failed",
		"More hooks than --exec-max-errors allows, commands after -- or of --exec, failed for good, that is after their retries.",
		"Stderr says how the hooks ended. Mend the command, or allow more by --exec-max-errors, of which -1 is any number."},
	{exit.CodeForeign, "the checkpoint is of something else",
		"The file of --checkpoint was written for another cluster, other types, namespaces or selectors. To go on from it would lose events without a word.",
		"Give the flags with which it was written, or another file; or start over with --reset-checkpoint."},
	{129, "SIGHUP", "It was stopped by SIGHUP: its terminal was closed, or the connection to the machine was.",
		"Nothing; or start it by nohup(1), under which it goes on."},
	{130, "SIGINT", "It was stopped by SIGINT, usually Ctrl-C.", "Nothing."},
	{137, "SIGKILL; not by itself",
		"Somebody killed it without warning. In a pod it is mostly the limit of memory (OOMKilled), or a stop that took longer than the grace period.",
		`"kubectl describe pod" says which; give more memory, or watch less: with a selector, or one namespace.`},
	{exit.CodePipe, "stdout was closed",
		"Whoever read its output has ended, as head(1) does after some lines.",
		"Nothing, if that is what was meant; else look why the reader ended."},
	{143, "SIGTERM", "It was stopped by SIGTERM, as by kill(1), systemd or Kubernetes.", "Nothing."},
}

// exitTable returns the codes, one a line.
func exitTable() string {
	var b strings.Builder
	for _, e := range ExitCodes {
		fmt.Fprintf(&b, "%5d  %s\n", e.Code, e.Short)
	}
	return b.String()
}

// ExplainExitCommand is explain-exit.
func ExplainExitCommand(p *cli.Program) *cobra.Command {
	var codes []string
	for _, e := range ExitCodes {
		codes = append(codes, strconv.Itoa(e.Code)+"\t"+e.Short)
	}
	return &cobra.Command{
		Use:                   "explain-exit [CODE]",
		Short:                 "Say what an exit code means, and what to do",
		Long:                  "Say what an exit code means, and what to do; all of them without CODE.",
		Example:               "  listwatch watch pods --once > pods; listwatch explain-exit $?",
		DisableFlagsInUseLine: true,
		ValidArgs:             codes,
		RunE: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				var all []string
				for _, e := range ExitCodes {
					all = append(all, e.explain())
				}
				return p.Put(strings.Join(all, "\n"))
			case 1:
			default:
				return exit.Usage("%d arguments: want one exit code, or none for all", len(args))
			}
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 0 || n > 255 {
				return exit.Usage("%q is no exit code: want a number of 0 to 255", printable.Clip(args[0]))
			}
			for _, e := range ExitCodes {
				if e.Code == n {
					return p.Put(e.explain())
				}
			}
			if n > 128 && n <= 192 {
				e := ExitCode{n, fmt.Sprintf("signal %d; not by itself", n-128), fmt.Sprintf("The process was ended by signal %d.", n-128), "Look who sent it."}
				return p.Put(e.explain())
			}
			return exit.Usage("%d is no exit code of listwatch, which has %s; a shell has 126 and 127 for a program that it could not start", n, exitCodes())
		},
	}
}

// explain is e as it is printed.
func (e ExitCode) explain() string {
	return fmt.Sprintf("%d: %s\n%s%s", e.Code, e.Short, wrap(e.means, "  ", 80), wrap("To do: "+e.todo, "  ", 80))
}

func exitCodes() string {
	var all []string
	for _, e := range ExitCodes {
		all = append(all, strconv.Itoa(e.Code))
	}
	return strings.Join(all, ", ")
}
