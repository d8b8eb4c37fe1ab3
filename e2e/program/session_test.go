package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

// session is one run of the program, which watches all that a load writes.
type session struct {
	*testing.T
	ctx     context.Context
	cluster *cluster.Cluster
	valve   *valve
	cmd     *exec.Cmd
	stderr  *bytes.Buffer // to be read after the end
	story   *story
}

func newSession(ctx context.Context, t *testing.T, c *cluster.Cluster) *session {
	return &session{T: t, ctx: ctx, cluster: c, stderr: new(bytes.Buffer), story: newStory()}
}

// start starts the program and waits until it has printed the first state.
func (h *session) start(p *setup.Program, url string, args ...string) {
	args = append([]string{"watch", strings.Join(load.Resources(), ","), "-A", "-o", "ndjson",
		"--kubeconfig", setup.Kubeconfig(h.T, h.cluster, url)}, args...)
	h.cmd = p.Command(context.WithoutCancel(h.ctx), p.Path, args...) // it ends in Cleanup
	h.cmd.Stderr = h.stderr
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.valve = newValve(stdout)
	read := make(chan struct{})
	go func() {
		h.story.read(h.valve)
		close(read)
	}()
	h.Cleanup(func() { // does nothing after stop
		if h.cmd.ProcessState == nil {
			h.valve.release()
			h.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines go to stderr
			<-read
			h.cmd.Wait()
		}
		if h.Failed() {
			h.Logf("the program's stderr:\n%s", h.stderr)
		}
	})
	h.until("SYNCED", h.story.count("SYNCED"))
}

func (h *session) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// until waits for one more record of a type of each resource than before, and
// for its watch to be open.
func (h *session) until(recordType string, before map[string]int) {
	h.Helper()
	h.must(h.story.until(h.ctx, recordType+" of each resource", func() bool { return h.story.over(recordType, before) }))
}

// caughtUp waits until the program has printed the present state of the server.
func (h *session) caughtUp() {
	want := make(map[load.Ref]load.Version)
	for _, resource := range load.Resources() {
		path, err := load.Path(resource)
		h.must(err)
		for ref, v := range listed(h.T, h.cluster, resource, path) {
			want[ref] = v
		}
	}
	err := h.story.until(h.ctx, "the server's state", func() bool { return maps.Equal(want, h.story.state) })
	if errors.Is(err, errEnded) {
		h.Fatal(err)
	}
	if err != nil {
		h.story.mu.Lock()
		defer h.story.mu.Unlock()
		h.Fatalf("%v (-server +program):\n%s", err, cmp.Diff(want, h.story.state))
	}
}

func (h *session) length() int {
	h.story.mu.Lock()
	defer h.story.mu.Unlock()
	return len(h.story.records)
}

// stop interrupts the program.
func (h *session) stop() {
	h.Helper()
	h.must(h.cmd.Process.Signal(os.Interrupt))
	if err := h.story.until(h.ctx, "the end", func() bool { return h.story.err != nil }); err != nil {
		h.Fatal(err)
	}
	if !errors.Is(h.story.err, io.EOF) {
		h.Fatal(h.story.err)
	}
	h.cmd.Wait() // the exit code says more than its error
	if code := h.cmd.ProcessState.ExitCode(); code != 130 {
		h.Errorf("exit code %d after SIGINT, want 130", code)
	}
	if text := h.stderr.String(); strings.Contains(text, "goroutine ") {
		h.Errorf("a stack trace on stderr")
	}
}

// valve is a reader that can be shut.
type valve struct {
	r io.Reader

	mu   sync.Mutex
	open chan struct{} // closed while open
}

func newValve(r io.Reader) *valve {
	v := &valve{r: r, open: make(chan struct{})}
	close(v.open)
	return v
}

func (v *valve) Read(b []byte) (int, error) {
	v.mu.Lock()
	open := v.open
	v.mu.Unlock()
	<-open
	return v.r.Read(b)
}

// shut makes further reads wait for release.
func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open = make(chan struct{})
}

func (v *valve) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.open:
	default:
		close(v.open)
	}
}

// listed returns what a collection holds, straight from the apiserver.
func listed(t *testing.T, c *cluster.Cluster, resource, path string) map[load.Ref]load.Version {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata setup.Metadata `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal(setup.MustSend(t, c, http.MethodGet, path, "", ""), &list); err != nil {
		t.Fatal(err)
	}
	state := make(map[load.Ref]load.Version)
	for _, o := range list.Items {
		m := o.Metadata
		state[load.Ref{Resource: resource, Namespace: m.Namespace, Name: m.Name}] = load.Version{UID: m.UID, RV: m.ResourceVersion}
	}
	return state
}
