package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// terminal is a tmux with the panes of a scene, within another tmux, whose screen is what
// is recorded: the panes, their titles, and a line that says what happens.
type terminal struct {
	ctx           context.Context
	dir           string
	env           []string
	width, height int
}

// open starts a shell in each pane. heights are those of the panes.
func open(ctx context.Context, dir string, env []string, width int, heights []int) (*terminal, error) {
	t := &terminal{ctx: ctx, dir: dir, env: env, width: width}
	for _, h := range heights {
		t.height += h + 1 // its title
	}
	const shell = "PS1='$ ' exec bash --noprofile --norc -i"
	commands := [][]string{{"inner", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(t.height + 1), shell}}
	for _, option := range [][]string{{"status-style", "reverse"}, {"status-left-length", "200"}, {"status-left", ""}, {"status-right", ""}, {"window-status-format", ""}, {"window-status-current-format", ""},
		{"pane-border-status", "top"}, {"pane-border-format", " #{pane_title} "}, {"pane-border-style", "fg=brightblack"}, {"pane-active-border-style", "fg=brightblack"}, {"allow-rename", "off"}, {"escape-time", "0"}} {
		commands = append(commands, append([]string{"inner", "set", "-g"}, option...))
	}
	if len(heights) > 1 {
		commands = append(commands, []string{"inner", "split-window", "-v", "-l", strconv.Itoa(heights[1]), shell})
	}
	t.height++
	commands = append(commands,
		[]string{"outer", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(t.height), "TMUX= tmux -S " + t.socket("inner") + " attach"},
		[]string{"outer", "set", "-g", "status", "off"})
	for _, c := range commands {
		if _, err := t.tmux(c[0], c[1:]...); err != nil {
			t.close()
			return nil, err
		}
	}
	return t, nil
}

func (t *terminal) socket(which string) string { return filepath.Join(t.dir, which) }

func (t *terminal) tmux(which string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.ctx, "tmux", append([]string{"-f", os.DevNull, "-u", "-S", t.socket(which)}, args...)...)
	cmd.Env = t.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func (t *terminal) close() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), 10*time.Second)
	defer cancel()
	t.ctx = ctx
	for _, which := range []string{"outer", "inner"} {
		t.tmux(which, "kill-server") // one of them may not run yet
	}
}

// capture records what is shown, until ctx is done.
func (t *terminal) capture(ctx context.Context, r *recording) error {
	began := time.Now()
	for {
		text, err := t.tmux("outer", "capture-pane", "-e", "-p")
		if err != nil {
			return err
		}
		at := time.Since(began).Seconds()
		if len(r.frames) == 0 {
			at = 0
		}
		r.add(at, screen(text))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(60 * time.Millisecond):
		}
	}
}

// actor is who plays a scene. The first failure ends it.
type actor struct {
	*terminal
	stop   func() // ends what is played
	played sync.WaitGroup
	err    error
}

// run runs a command that is not seen.
func (a *actor) run(name string, args ...string) {
	cmd := exec.CommandContext(a.ctx, filepath.Join(a.dir, name), args...)
	cmd.Env = a.env
	if out, err := cmd.CombinedOutput(); err != nil && a.err == nil {
		a.err = fmt.Errorf("%s: %w: %s", name, err, out)
	}
}

func (a *actor) do(args ...string) {
	if a.err == nil {
		_, a.err = a.tmux("inner", args...)
	}
}

// say shows what happens.
func (a *actor) say(text string) { a.do("set", "-g", "status-left", " "+text) }

// title names a pane.
func (a *actor) title(pane int, text string) {
	a.do("select-pane", "-t", strconv.Itoa(pane), "-T", text)
}

// enter types a command, as people do.
func (a *actor) enter(pane int, command string) {
	for len(command) > 0 {
		n := min(4, len(command))
		a.do("send-keys", "-t", strconv.Itoa(pane), "-l", "--", command[:n])
		command = command[n:]
		a.pause(0.12)
	}
	a.pause(0.3)
	a.keys(pane, "Enter")
}

// keys presses keys, by tmux's names.
func (a *actor) keys(pane int, keys ...string) {
	for _, k := range keys {
		a.do("send-keys", "-t", strconv.Itoa(pane), k)
		a.pause(0.25)
	}
}

// pause gives people the time to read.
func (a *actor) pause(seconds float64) {
	select {
	case <-time.After(time.Duration(seconds * float64(time.Second))):
	case <-a.ctx.Done():
		a.err = a.ctx.Err()
	}
}

// until waits for a pane that shows what matches.
func (a *actor) until(pane int, pattern string) {
	re := regexp.MustCompile("(?m)" + pattern)
	end := time.Now().Add(30 * time.Second)
	for a.err == nil {
		var shown string
		if shown, a.err = a.tmux("inner", "capture-pane", "-p", "-t", strconv.Itoa(pane)); re.MatchString(shown) {
			return
		}
		if time.Now().After(end) {
			a.err = fmt.Errorf("the screen never matched %s:\n%s", pattern, shown)
			return
		}
		a.pause(0.1)
	}
}
