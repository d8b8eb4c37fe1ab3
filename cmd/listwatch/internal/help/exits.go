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
	{0, "a requested end",
		"The program ended as --once, --exit-after, --max-events or --until request, or it has printed everything. A server that closes a stream never causes exit code 0.",
		"Nothing."},
	{exit.CodeFailed, "a failure",
		"The program could not continue: the server refused the first request or could not be reached at the start (a run that continues from a --checkpoint waits for the server), --max-failures or --max-staleness was exceeded, stdout could not be written, or a port was in use. A later interruption is no such failure: the program waits and retries.",
		`Read the last line of stderr. If it is about credentials or permissions, run "listwatch auth check". If the server could not be reached, start the program again until it can, as systemd does with Restart=on-failure, and Kubernetes by default. With --checkpoint no change is lost meanwhile.`},
	{exit.CodeUsage, "wrong usage or configuration",
		"An argument, a flag or the kubeconfig is invalid. No object was requested.",
		`Read the last line of stderr, and "listwatch COMMAND --help". The same command fails again.`},
	{exit.CodeMatched, "--fail-on was met",
		"A condition of --fail-on became true before those of --until did.",
		"The last line of stderr names the condition and the object."},
	{exit.CodeTimeout, "--timeout has passed",
		"The end that --until, --max-events or --once requests did not occur within --timeout, or nobody has read stdout by then.",
		"The last line of stderr says what was missing. Give more time, or look at the objects."},
	{exit.CodeHooks, "too many hooks failed",
		"More hooks than --exec-max-errors allows failed, retries included. Hooks are the commands after -- or of --exec, and the requests of --webhook.",
		"Stderr says how the hooks ended. Fix the command, or allow more failures by --exec-max-errors (-1 = any number)."},
	{exit.CodeForeign, "the checkpoint is of another watch",
		"The file of --checkpoint was written for another cluster, other types, namespaces or selectors. Continuing from it would lose events silently.",
		"Give the flags with which it was written, or another file; or start over with --reset-checkpoint."},
	{129, "SIGHUP", "It was stopped by SIGHUP: the terminal or the connection to the machine was closed.",
		"Nothing. To continue after the terminal is closed, start it by nohup(1)."},
	{130, "SIGINT", "It was stopped by SIGINT, usually Ctrl-C.", "Nothing."},
	{137, "SIGKILL, from outside",
		"Another process or the kernel killed it. In a pod the cause is mostly the limit of memory (OOMKilled), or a stop that took longer than the grace period.",
		`"kubectl describe pod" shows the cause. Give more memory, or watch fewer objects: with a selector, or in one namespace.`},
	{exit.CodePipe, "stdout was closed",
		"The reader of its output has ended, as head(1) does after some lines.",
		"Nothing, if that was intended; otherwise find out why the reader ended."},
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
		Long:                  "Say what an exit code means, and what to do. Without CODE, explain all of them.",
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
				e := ExitCode{n, fmt.Sprintf("signal %d, from outside", n-128), fmt.Sprintf("The process was ended by signal %d.", n-128), "Find out what sent it."}
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
