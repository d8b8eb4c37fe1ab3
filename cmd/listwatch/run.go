package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/printable"
)

// program is one run: where it reads and writes.
type program struct {
	env    func(string) string
	stdout io.Writer
	stderr io.Writer
	args   []string

	cfg *config.Config // what was loaded last, for explanations

	// dial opens connections; nil = the network.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	return (&program{env: env, stdout: stdout, stderr: stderr, args: args}).run(ctx, stdin)
}

func (p *program) run(ctx context.Context, stdin io.Reader) int {
	root := p.root()
	root.SetArgs(p.args)
	root.SetIn(stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return p.exit(cmd, err)
}

// failure is an error with the exit code that it means.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Exit codes.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitMatched = 3 // --fail-on
	exitTimeout = 4
	exitHooks   = 5 // --exec-max-errors
	exitForeign = 6 // the checkpoint is of something else
	exitPipe    = 141
)

func failed(err error) error { return &failure{exitFailed, err} }

func usage(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

// Ends that are no failures: causes of the context, see [context.Cause].
var (
	errAskedFor = errors.New("the end that was asked for")
	errPipe     = errors.New("stdout was closed")
	errTimedOut = errors.New("--timeout is over")
)

// exit says what must be said about err, and returns its code. An error that
// carries none is cobra's, about the arguments.
func (p *program) exit(cmd *cobra.Command, err error) int {
	var sig signalled
	var f *failure
	switch {
	case err == nil, errors.Is(err, errAskedFor):
		return 0
	case errors.As(err, &sig):
		return sig.code()
	case errors.Is(err, errPipe):
		return exitPipe
	case errors.Is(err, errTimedOut):
		p.talk().fatal(err.Error())
		return exitTimeout
	case !errors.As(err, &f):
		p.talk().fatal(printable.Line(err.Error()) + `; see "` + cmd.CommandPath() + ` --help"`)
		return exitUsage
	}
	p.talk().fatal(explain(p, f.err))
	return f.code
}

// talk returns the voice that the arguments ask for.
func (p *program) talk() *talk {
	return newTalk(p.stderr, logFormat(p.args), false)
}

// root builds the commands.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "listwatch",
		Short:         "Watch Kubernetes objects, and never go quiet",
		Long:          rootLong(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return usage("unknown command %q; did you mean %q?", clip(args[0]), near[0])
			}
			return usage("unknown command %q; to watch a type: listwatch watch %s", clip(args[0]), clip(args[0]))
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(completionCommand(p), explainExitCommand(p), manCommand(p))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(wrongFlag)
	root.SetUsageFunc(printUsage)
	root.SetHelpFunc(printHelp)
	root.AddCommand(watchCommand(p), listCommand(p), demoCommand(p), versionCommand(p))
	root.AddCommand(fakeCommand(p))
	root.AddCommand(recordCommand(p), replayCommand(p), authCommand(p))
	return root
}

// isTerminal reports whether a stream is one.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// clip shortens what was typed, for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "..."
	}
	return s
}
