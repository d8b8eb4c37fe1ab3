package operators_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// replica is a Pod of an operator, played by a process: one that ends is started
// again, as by a kubelet.
type replica struct {
	*testing.T
	path, config string
	args         []string // further ones
	home         string
	stderr       locked // of all its processes

	mu      sync.Mutex
	cmd     *exec.Cmd
	killed  bool // the test did it
	stopped bool // and wants no other
	starts  int
	code    int // of the last one
	done    chan struct{}
}

// startReplica runs an operator by a kubeconfig until the test ends.
func startReplica(t *testing.T, path, config string, args ...string) *replica {
	t.Helper()
	r := &replica{T: t, path: path, config: config, args: args, home: t.TempDir(), done: make(chan struct{})}
	cmd := r.start()
	go func() {
		defer close(r.done)
		for cmd != nil {
			_ = cmd.Wait() // ProcessState has the reason
			cmd = r.next(cmd.ProcessState.ExitCode())
		}
	}()
	t.Cleanup(func() {
		r.signal(syscall.SIGKILL, true)
		<-r.done
		if t.Failed() {
			t.Logf("a replica of %s, started %d times, said:\n%s", filepath.Base(path), r.starts, &r.stderr)
		}
		r.never("DATA RACE", "panic")
	})
	return r
}

// never checks that it has not said a word.
func (r *replica) never(words ...string) {
	r.Helper()
	for line := range strings.Lines(r.stderr.String()) {
		for _, word := range words {
			if strings.Contains(line, word) {
				r.Errorf("a replica of %s said: %s", filepath.Base(r.path), line)
			}
		}
	}
}

func (r *replica) start() *exec.Cmd {
	p := &setup.Program{Home: r.home}
	args := append([]string{"--kubeconfig", r.config, "--leader-elect", "--listen", "127.0.0.1:0"}, r.args...)
	cmd := p.Command(context.WithoutCancel(r.Context()), r.path, args...)
	cmd.Env = append(cmd.Env, "GORACE=halt_on_error=1 atexit_sleep_ms=10")
	cmd.Stderr = &r.stderr
	if err := cmd.Start(); err != nil {
		r.Errorf("start %s: %v", r.path, err)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cmd, r.killed = cmd, false
	r.starts++
	return cmd
}

// next starts another process, unless none is wanted. By itself one may end only
// because it has lost its lease.
func (r *replica) next(code int) *exec.Cmd {
	r.mu.Lock()
	r.code = code
	killed, stopped := r.killed, r.stopped
	r.mu.Unlock()
	if stopped {
		return nil
	}
	if said := r.stderr.String(); !killed && !(code == 1 && strings.Contains(said, "the lease is lost")) {
		r.Errorf("%s ended by itself with code %d", r.path, code)
		return nil
	}
	return r.start()
}

func (r *replica) signal(sig syscall.Signal, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed, r.stopped = true, r.stopped || last
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(sig) // fails if it has ended
	}
}

// kill is kill -9; there will be another process.
func (r *replica) kill() { r.signal(syscall.SIGKILL, false) }

// stop ends it for good, in good order.
func (r *replica) stop() {
	r.Helper()
	r.signal(syscall.SIGTERM, true)
	select {
	case <-r.done:
	case <-time.After(setup.Patience):
		r.Fatalf("%s goes on %s after SIGTERM", r.path, setup.Patience)
	}
	if r.code != 0 {
		r.Errorf("%s ended with code %d after SIGTERM", r.path, r.code)
	}
}
