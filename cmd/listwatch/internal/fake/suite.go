package fake

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/scenario"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/group"
	"github.com/listwatch/listwatch/internal/printable"
)

// suite plays scenarios to a client that it starts for each of them.
type suite struct {
	program *cli.Program
	flags   *testFlags
	options apitest.Options
	talk    *messages.Writer
	command []string
	dir     string // of kubeconfigs and CAs

	mu      sync.Mutex
	tally   map[scenario.Outcome]int
	absent  []string // of which the server was never asked
	unused  []string // other scenarios that were not exercised
	failing []string
}

// playAll plays all to command, and prints the verdicts in this order.
func playAll(p *cli.Program, ctx context.Context, o *testFlags, opts apitest.Options, all []scenario.Scenario, command []string, t *messages.Writer) error {
	if _, err := group.Look(command[0]); err != nil {
		return exit.Usage("the client %q: %w", printable.Clip(command[0]), err)
	}
	dir, err := os.MkdirTemp("", "listwatch-fake-")
	if err != nil {
		return exit.Failed(err)
	}
	defer os.RemoveAll(dir)
	c := &suite{program: p, flags: o, options: opts, talk: t, command: command, dir: dir, tally: map[scenario.Outcome]int{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	verdicts := make([]chan scenario.Verdict, len(all))
	for i := range verdicts {
		verdicts[i] = make(chan scenario.Verdict, 1)
	}
	slots := make(chan struct{}, o.parallel)
	var running sync.WaitGroup
	running.Go(func() {
		for i, s := range all {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			running.Go(func() {
				defer func() { <-slots }()
				v, err := c.play(ctx, s)
				if err != nil {
					cancel(err)
					return
				}
				verdicts[i] <- v
			})
		}
	})
	defer running.Wait()
	for i := range all {
		select {
		case v := <-verdicts[i]:
			if err := printVerdict(p, o.output, v); err != nil {
				cancel(err)
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return c.sum(len(all))
}

// sum is the end of a suite. A scenario that was not exercised proves nothing: it
// fails the suite, unless it was asked for that clients need not use everything.
// Even then they must have come.
func (c *suite) sum(n int) error {
	c.talk.Info("fake", fmt.Sprintf("%d passed, %d failed, %d not exercised", c.tally[scenario.Pass], c.tally[scenario.Fail], c.tally[scenario.NotExercised]),
		"scenarios", "pass", c.tally[scenario.Pass], "fail", c.tally[scenario.Fail], "notExercised", c.tally[scenario.NotExercised])
	slices.Sort(c.failing)
	slices.Sort(c.absent)
	slices.Sort(c.unused)
	var wrong []string
	if len(c.failing) > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %s failed: %s", len(c.failing), printable.Count(n, "scenario"), strings.Join(c.failing, ", ")))
	}
	if len(c.absent) > 0 {
		wrong = append(wrong, fmt.Sprintf("the client never came in %s: %s", printable.Count(len(c.absent), "scenario"), strings.Join(c.absent, ", ")))
	}
	if len(c.unused) > 0 && !c.flags.allowUnused {
		wrong = append(wrong, fmt.Sprintf("%s not exercised: %s; --allow-not-exercised if your client need not use what they are about",
			printable.Count(len(c.unused), "scenario"), strings.Join(c.unused, ", ")))
	}
	if wrong == nil {
		return nil
	}
	return exit.Failed(errors.New(strings.Join(wrong, "; ")))
}

// play plays one scenario; an error ends the suite.
func (c *suite) play(ctx context.Context, s scenario.Scenario) (scenario.Verdict, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run, err := scenario.Serve(ctx, s.Name, scenario.Options{Server: c.options, Patience: 2 * time.Minute})
	if err != nil {
		return scenario.Verdict{}, listen.Error("--listen", c.flags.server.listen, err)
	}
	defer run.Close()
	env, err := c.environment(run)
	if err != nil {
		return scenario.Verdict{}, exit.Failed(err)
	}
	clientCtx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := c.client(clientCtx, s.Name, env)
		if clientCtx.Err() == nil {
			cancel(errClientEnded)
		}
		ended <- err
	}()
	v := run.Wait(context.WithoutCancel(ctx))
	gone := errors.Is(context.Cause(ctx), errClientEnded)
	stop()
	err = <-ended
	switch {
	case gone && v.Outcome == scenario.NotExercised:
		how := "with exit code 0"
		if err != nil {
			how = err.Error()
		}
		v.Outcome, v.Reason = scenario.Fail, "the client ended before the story did: "+how
	case ctx.Err() != nil && !gone:
		return v, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally[v.Outcome]++
	switch {
	case v.Outcome == scenario.Fail:
		c.failing = append(c.failing, s.Name)
	case v.Outcome == scenario.NotExercised && len(v.Requests) == 0:
		c.absent = append(c.absent, s.Name)
	case v.Outcome == scenario.NotExercised:
		c.unused = append(c.unused, s.Name)
	}
	return v, nil
}

var errClientEnded = errors.New("the client has ended")

// environment returns the environment variables of the client.
func (c *suite) environment(run *scenario.Run) ([]string, error) {
	name := filepath.Join(c.dir, strings.ReplaceAll(run.Scenario.Name, "/", "-"))
	if err := os.WriteFile(name+".yaml", fakeKubeconfig(run.Server), 0o600); err != nil {
		return nil, err
	}
	env := append(os.Environ(), "KUBECONFIG="+name+".yaml", "LISTWATCH_SCENARIO="+run.Scenario.Name, "LISTWATCH_URL="+run.URL, "LISTWATCH_CA_FILE=")
	if ca := run.Server.CAPEM(); ca != nil {
		if err := os.WriteFile(name+".crt", ca, 0o600); err != nil {
			return nil, err
		}
		env[len(env)-1] += name + ".crt"
	}
	return env, nil
}

// client runs the command until ctx is done. What it prints is said, a line each.
func (c *suite) client(ctx context.Context, name string, env []string) error {
	cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	cmd.Env = env
	cmd.WaitDelay = 2 * time.Second
	kill := group.Own(cmd)
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	said := make(chan struct{})
	go func() {
		defer close(said)
		in := bufio.NewReaderSize(r, 4096)
		for {
			line, err := in.ReadSlice('\n')
			if text := strings.TrimSpace(string(line)); text != "" {
				c.talk.Info(name, "client: "+text, "client", "text", printable.Line(text))
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
		}
	}()
	if err := cmd.Start(); err != nil {
		w.Close()
		<-said
		return group.NotStarted(c.command[0], err)
	}
	err := cmd.Wait()
	kill()
	w.Close()
	<-said
	return err
}

// printVerdict prints one.
func printVerdict(p *cli.Program, output string, v scenario.Verdict) error {
	if output != "json" {
		return p.Put(fmt.Sprintln(v))
	}
	b, err := json.Marshal(struct {
		Scenario string   `json:"scenario"`
		Outcome  string   `json:"outcome"`
		Reason   string   `json:"reason"`
		Requests []string `json:"requests"`
	}{v.Scenario, v.Outcome.String(), v.Reason, append([]string{}, v.Requests...)})
	if err != nil {
		return err
	}
	return p.Put(string(b) + "\n")
}
