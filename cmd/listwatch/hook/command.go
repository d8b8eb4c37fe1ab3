package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/listwatch/listwatch/internal/group"
)

// enough is how long a command may take to end after SIGTERM; and how long its
// output is read after it has ended, where a background process holds it open.
const enough = time.Second

// Check says what is wrong with the program of command, before it is needed.
func Check(command []string) error {
	_, err := group.Look(command[0])
	return err
}

// command runs the command for events once.
func (p *Pool) command(ctx context.Context, events []Event) error {
	var input []byte
	if p.opts.Input != None {
		size := 0
		for _, e := range events {
			size += e.Size + 1<<10
		}
		input = make([]byte, 0, size) // about; to grow it step by step takes three times that
		for _, e := range events {
			line, err := e.Record(e)
			if err != nil {
				return permanent{fmt.Errorf("make its record: %w", err)}
			}
			input = append(input, line...)
		}
	}
	if p.opts.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, p.opts.Timeout, errTimeout)
		defer stop()
	}
	argv := p.argv(events)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), p.environ(events)...)
	switch p.opts.Input {
	case Stdin:
		cmd.Stdin = bytes.NewReader(input)
	case Args:
		cmd.Args = append(cmd.Args, string(bytes.TrimSuffix(input, []byte("\n"))))
	case File:
		name, err := temporary(input)
		if err != nil {
			return err
		}
		defer os.Remove(name)
		cmd.Env = append(cmd.Env, "LISTWATCH_FILE="+name)
	}
	out := &lines{give: func(line string) { p.opts.Output(label(events), line) }}
	defer out.end()
	cmd.Stdout, cmd.Stderr = out, out // the same one: os/exec copies it in one goroutine
	return p.wait(ctx, cmd)
}

// wait runs cmd to its end.
func (p *Pool) wait(ctx context.Context, cmd *exec.Cmd) error {
	cmd.WaitDelay = enough
	kill := group.Own(cmd)
	if soft := cmd.Cancel; soft != nil {
		cmd.Cancel = func() error {
			if context.Cause(ctx) == errNow {
				kill()
			}
			return soft()
		}
	}
	if err := p.start(cmd, kill); err != nil {
		if errors.Is(err, errNow) {
			return err
		}
		if errors.Is(err, syscall.E2BIG) {
			return permanent{errors.New("the record is too long for an argument: give --exec-input stdin or file")}
		}
		return group.NotStarted(cmd.Args[0], err)
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		kill()
	}
	p.ended(cmd)
	var exit *exec.ExitError
	switch cause := context.Cause(ctx); {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && cause == nil:
		return nil // what it left in the background goes on
	case cause == errTimeout:
		return fmt.Errorf("it was killed because it took more than %v", p.opts.Timeout)
	case cause != nil:
		return cause
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return fmt.Errorf("exit code %d", exit.ExitCode())
	case exit != nil:
		return fmt.Errorf("it was ended by a %s", exit.ProcessState) // "signal: killed"
	}
	return err
}

// start starts cmd, unless Kill was called.
func (p *Pool) start(cmd *exec.Cmd, kill func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return errNow
	}
	if err := p.orphans.start(cmd); err != nil {
		return err
	}
	p.started[cmd] = func() {
		kill()
		_ = cmd.Process.Kill() // where there are no groups; fails where it has ended
	}
	return nil
}

func (p *Pool) ended(cmd *exec.Cmd) {
	p.mu.Lock()
	delete(p.started, cmd)
	p.mu.Unlock()
	p.orphans.ended(cmd)
}

// Kill ends all that runs, with what it has started, and lets nothing more begin. It
// does not wait: it is for a process that ends without its Run.
func (p *Pool) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, kill := range p.started {
		kill()
	}
}

// argv is the command for events.
func (p *Pool) argv(events []Event) []string {
	if p.opts.Delete != nil && events[0].Type == "DELETED" {
		return p.opts.Delete
	}
	return p.opts.Command
}

// environ is what a command finds in its environment besides ours: of a batch only
// the number of the last record, and how many there are.
func (p *Pool) environ(events []Event) []string {
	e := events[len(events)-1]
	seq := "LISTWATCH_SEQ=" + strconv.FormatInt(e.Seq, 10)
	if p.opts.Batch > 0 {
		return []string{"LISTWATCH_EVENT=BATCH", "LISTWATCH_COUNT=" + strconv.Itoa(len(events)), seq}
	}
	return []string{
		"LISTWATCH_EVENT=" + e.Type,
		"LISTWATCH_CLUSTER=" + e.Cluster,
		"LISTWATCH_NAMESPACE=" + e.Namespace,
		"LISTWATCH_NAME=" + e.Name,
		"LISTWATCH_KIND=" + e.Kind,
		"LISTWATCH_API_VERSION=" + e.APIVersion,
		"LISTWATCH_RESOURCE=" + e.Resource,
		"LISTWATCH_UID=" + e.UID,
		"LISTWATCH_RV=" + e.RV,
		"LISTWATCH_INITIAL=" + strconv.FormatBool(e.Initial),
		"LISTWATCH_SYNTHETIC=" + e.Synthetic,
		seq,
	}
}

func label(events []Event) string {
	if len(events) == 1 {
		return events[0].Label
	}
	return strconv.Itoa(len(events)) + " records"
}

// temporary writes a file that only this user can read.
func temporary(b []byte) (name string, err error) {
	f, err := os.CreateTemp("", "listwatch-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// lines gives on whole lines, and pieces of those that are too long.
type lines struct {
	give func(string)
	buf  []byte
}

const longest = 64 << 10

func (l *lines) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			i = len(b)
		}
		room := longest - len(l.buf)
		l.buf = append(l.buf, b[:min(i, room)]...)
		switch {
		case i > room:
			l.give(string(l.buf))
			l.buf = l.buf[:0]
			b = b[room:]
		case i == len(b):
			return n, nil
		default:
			l.give(string(l.buf))
			l.buf = l.buf[:0]
			b = b[i+1:]
		}
	}
	return n, nil
}

func (l *lines) end() {
	if len(l.buf) > 0 {
		l.give(string(l.buf))
	}
}
