package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/auth"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/fake"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/help"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/livepage"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/markers"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/operator"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/past"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/recording"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/rolling"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runCommand(ctx, &cli.Program{Env: env, Stdout: stdout, Stderr: stderr, Args: args}, stdin)
}

func runCommand(ctx context.Context, p *cli.Program, stdin io.Reader) int {
	root := rootCommand(p)
	root.SetArgs(p.Args)
	root.SetIn(stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return exitCode(p, cmd, err)
}

// exit says what must be said about err, and returns its code. An error that
// carries none is cobra's, about the arguments.
func exitCode(p *cli.Program, cmd *cobra.Command, err error) int {
	var sig signals.Signal
	var f *exit.Error
	switch {
	case err == nil, errors.Is(err, exit.ErrAskedFor):
		return 0
	case errors.As(err, &sig):
		return sig.Code()
	case errors.Is(err, exit.ErrPipe):
		return exit.CodePipe
	case errors.Is(err, exit.ErrTimedOut):
		p.Fallback().Fatal(err.Error())
		return exit.CodeTimeout
	case !errors.As(err, &f):
		p.Fallback().Fatal(printable.Line(err.Error()) + `; see "` + cmd.CommandPath() + ` --help"`)
		return exit.CodeUsage
	}
	p.Fallback().Fatal(auth.Explain(p, f.Err))
	return f.Code
}

// root builds the commands.
func rootCommand(p *cli.Program) *cobra.Command {
	root := &cobra.Command{
		Use:           "listwatch",
		Short:         "Watch Kubernetes objects without gaps",
		Long:          help.Program(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknown(cmd, args[0], p.Args)
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(complete.Command(p), help.ExplainExitCommand(p), help.ManCommand(p))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && cmd.Flags().NArg() > 0 { // the flag is of a command that is not there
			return unknown(cmd, cmd.Flags().Arg(0), p.Args)
		}
		return cli.WrongFlag(cmd, err)
	})
	root.SetUsageFunc(help.Usage)
	root.SetHelpFunc(help.Help)
	root.AddCommand(watchCommand(p), listCommand(p), rolling.Command(p), past.DiffCommand(p), demoCommand(p), versionCommand(p))
	root.AddCommand(fake.Command(p), livepage.Command(p), markers.Command(p), operator.Command(p))
	root.AddCommand(help.OptionsCommand(p))
	root.AddCommand(recording.Command(p), replayCommand(p), auth.Command(p))
	return root
}

// unknown reports a command that is not there; args are all arguments.
func unknown(root *cobra.Command, name string, args []string) error {
	if what := help.Instead(name, args); what != "" {
		return exit.Usage("unknown command %q: %s", name, what)
	}
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return exit.Usage("unknown command %q; did you mean %q?", printable.Clip(name), near[0])
	}
	return exit.Usage("unknown command %q; to watch a type: listwatch watch %s", printable.Clip(name), printable.Clip(name))
}
