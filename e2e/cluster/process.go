package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// errPortTaken says that a program ended because another one has its port.
var errPortTaken = errors.New("the port is taken")

// killTimeout bounds the wait for a killed process.
const killTimeout = 10 * time.Second

// process is a child in a process group of its own.
type process struct {
	log   string
	group int           // the process group's id: the child's pid
	ended chan struct{} // closed after Wait, when err is set
	err   error
}

// startProcess starts the program with its output appended to the log file.
func startProcess(path string, args []string, log string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own descriptor
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = processAttributes()
	p := &process{log: log, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Linux sends the parent-death signal when the starting thread ends,
		// not the process: the thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.group = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// kill kills the process group and waits for the process's end.
func (p *process) kill() error {
	select {
	case <-p.ended: // its id may belong to another by now
		return nil
	default:
	}
	if err := syscall.Kill(-p.group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", p.group, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(killTimeout):
		return fmt.Errorf("process %d lives %s after SIGKILL", p.group, killTimeout)
	}
}

// terminate asks the process to end and waits until it has.
func (p *process) terminate(ctx context.Context, timeout time.Duration) error {
	select {
	case <-p.ended: // see kill
		return nil
	default:
	}
	if err := syscall.Kill(-p.group, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("terminate process group %d: %w", p.group, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it lives %s after SIGTERM", timeout))
	defer cancel()
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ready calls check until it succeeds, the process ends, ctx ends or timeout
// passes. The error holds the end of the log.
func (p *process) ready(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not ready after %s", timeout))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if last = check(ctx); last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.ended:
			end := logTail(p.log, 20)
			if strings.Contains(end, "address already in use") {
				return fmt.Errorf("%w: %s", errPortTaken, end)
			}
			return fmt.Errorf("it ended: %w; end of its log:\n%s", p.err, end)
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w); end of its log:\n%s", context.Cause(ctx), last, logTail(p.log, 20))
		}
	}
}

// logTail returns the last lines of a log, or why it can't.
func logTail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}

// freePort returns a loopback port that is free now, below the ephemeral
// range: a port from there may be taken by any outgoing connection while the
// apiserver is down.
func freePort() (int, error) {
	for range 100 {
		port := 10000 + rand.IntN(22000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		return port, nil
	}
	return 0, errors.New("find a free port: 100 random ports below 32000 were taken")
}
