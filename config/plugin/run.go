package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"github.com/listwatch/listwatch/internal/group"
)

const (
	maxOutput = 1 << 20 // bytes of an ExecCredential

	limit         = time.Minute      // for a run without a terminal
	terminalLimit = 10 * time.Minute // somebody may be logging in

	// grace is how long a command may take to end after SIGTERM, and how long its output
	// is read after its end if a child holds it open.
	grace = time.Second
)

// Reasons to kill a run.
var (
	errLimit     = errors.New("took too long")
	errTooLarge  = errors.New("printed too much")
	errAbandoned = errors.New("nobody waits for it")
)

// run starts the command, reads its output and waits for its end.
func (o *Options) run(ctx context.Context) (answer, error) {
	out, err := o.output(ctx)
	if err != nil {
		return answer{}, o.explain(err)
	}
	a, err := parse(out, o.APIVersion)
	if err != nil {
		return answer{}, o.explain(err)
	}
	return a, nil
}

// explain adds the source of the entry and the command to err.
func (o *Options) explain(err error) error {
	return fmt.Errorf("%scredential plugin %q: %w", prefix(o.From), o.Command, err)
}

func (o *Options) output(ctx context.Context) ([]byte, error) {
	stdin := o.Stdin
	if stdin == nil {
		stdin = os.Stdin
	}
	terminal := isTerminal(stdin)
	if o.Interactive == always && !terminal {
		return nil, errors.New("it has something to ask (interactiveMode is Always), and stdin is not a terminal: run this in one")
	}
	interactive := terminal && o.Interactive != never
	info, err := o.info(interactive)
	if err != nil {
		return nil, err
	}
	most := o.Timeout
	if most == 0 {
		most = limit
		if terminal {
			most = terminalLimit
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, most, errLimit)
	defer stop()

	path, err := group.Look(o.Command)
	if err != nil {
		return nil, o.hinted(err)
	}
	cmd := exec.CommandContext(ctx, path, o.Args...)
	cmd.Args[0] = o.Command
	cmd.Env = append(append(os.Environ(), o.Env...), execInfo+"="+info)
	out := &limited{over: func() { cancel(errTooLarge) }}
	cmd.Stdout, cmd.Stderr = out, o.Stderr
	if o.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	cmd.WaitDelay = grace
	if interactive {
		cmd.Stdin = stdin
	}
	// A group of its own can be killed as a whole, but may not read a terminal.
	kill := endable(cmd, !interactive)
	if err := cmd.Start(); err != nil {
		return nil, o.hinted(group.NotStarted(path, err))
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		kill()
	}
	var exit *exec.ExitError
	switch cause := context.Cause(ctx); {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && cause == nil:
		// It succeeded, although a child keeps running.
		return out.buf.Bytes(), nil
	case cause == errLimit:
		return nil, fmt.Errorf("it was killed because it took more than %v", most)
	case cause == errTooLarge:
		return nil, fmt.Errorf("it printed more than %d bytes, which is no %s", maxOutput, kind)
	case cause != nil:
		return nil, fmt.Errorf("it was killed: %w", cause)
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return nil, fmt.Errorf("it failed with exit code %d; see what it wrote to stderr", exit.ExitCode())
	case exit != nil:
		return nil, fmt.Errorf("it was ended by a %s", exit.ProcessState) // "signal: killed"
	}
	return nil, fmt.Errorf("read what it prints: %w", err)
}

// hinted adds InstallHint to err if the command does not exist.
func (o *Options) hinted(err error) error {
	if hint := o.hint(); hint != "" && group.Missing(err) {
		return fmt.Errorf("%w. %s", err, hint)
	}
	return err
}

// hint returns InstallHint on one line.
func (o *Options) hint() string {
	return strings.Join(strings.FieldsFunc(o.InstallHint, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
}

// isTerminal reports whether f may be a terminal: a character device other than the null
// device.
func isTerminal(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(st, null)
}

// limited is a buffer of at most maxOutput bytes. It does not embed bytes.Buffer, whose
// ReadFrom would bypass Write.
type limited struct {
	buf  bytes.Buffer
	over func()
}

func (l *limited) Write(b []byte) (int, error) {
	if l.buf.Len()+len(b) > maxOutput {
		l.over()
		return 0, errTooLarge
	}
	return l.buf.Write(b)
}
