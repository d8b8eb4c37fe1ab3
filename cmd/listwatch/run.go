package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/internal/printable"
)

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
