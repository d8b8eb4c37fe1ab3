// Listwatch-sink writes collections of a Kubernetes cluster into another system, as a
// table of what exists and a log of what changed, every change once.
//
//	listwatch-sink pods,deployments            # into ./cluster.db
//	listwatch-sink pods --nats-embedded        # into NATS, for a try
//	listwatch-sink status                      # how far it has come
//	listwatch-sink verify                      # compare the table with the cluster
//	listwatch-sink pause                       # and resume: commit nothing in between
//	listwatch-sink backfill pods               # write all of it again
//	listwatch-sink reshard --shards 3          # while nobody moves
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/sink"
)

func main() {
	log.SetOutput(io.Discard) // net/http logs what a server sends that it does not expect, without a limit
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK         = 0
	exitFailed     = 1 // also a command that was interrupted
	exitUsage      = 2
	exitDifference = 3 // verify found one
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is the program.
func run(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	voice := &voice{w: stderr}
	p := &program{maxTypes: maxTypes, env: env, stdout: stdout, voice: voice, log: slog.New(slog.NewTextHandler(voice, nil))}
	set := p.flagSet(stderr)
	err := set.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
	case err != nil:
		err = usageError{err}
	default:
		p.replicas.given = set.Changed("shards")
		if err = p.check(set); err == nil {
			err = p.start(ctx, set.Args())
		}
	}
	if interrupted(ctx, err) {
		err = errors.New("interrupted")
	}
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return exitOK
	case errors.Is(err, errDifferent):
		return exitDifference
	case errors.As(err, &wrong):
		fmt.Fprintf(voice, "listwatch-sink: %s\nRun listwatch-sink --help for the flags.\n", voice.line(err))
		return exitUsage
	}
	fmt.Fprintf(voice, "listwatch-sink: %s\n", voice.line(err))
	return exitFailed
}

func (p *program) start(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usage("name the resources to move, such as pods,deployments; or a command, such as status")
	}
	switch args[0] {
	case "init":
		return p.initialise(ctx, args[1:])
	case "status":
		return p.status(ctx, args[1:])
	case "verify":
		return p.verify(ctx, args[1:])
	case "reshard":
		return p.reshard(ctx, args[1:])
	case "pause":
		return p.control(ctx, args[1:], "paused", sink.Pause)
	case "resume":
		return p.control(ctx, args[1:], "resumed", sink.Resume)
	case "backfill":
		return p.control(ctx, args[1:], "will be written again", sink.Backfill)
	}
	if err := p.move(ctx, args); !interrupted(ctx, err) {
		return err
	}
	return nil // it moves until it is stopped
}

func interrupted(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) && ctx.Err() != nil
}
