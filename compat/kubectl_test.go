package compat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/e2e/binaries"
)

// script is a story of kubectl: commands, one a line. NAMESPACE stands for a
// namespace of its own.
type script struct{ name, lines string }

// kubectls are the versions that play every script, and what the stories of each
// are called.
var kubectls = []struct {
	program binaries.Program
	prefix  string
}{
	{binaries.Kubectl, "Kubectl"},
	{binaries.Kubectl136, "Kubectl136"},
}

func scripts() []script {
	return slices.Concat(readScripts, writeScripts, createScripts, watchScripts, nodeScripts)
}

func kubectlStories() []story {
	var all []story
	for _, k := range kubectls {
		for _, c := range scripts() {
			all = append(all, story{name: k.prefix + c.name, inParallel: true, play: func(t *testing.T, s *server) *transcript {
				path, err := binaries.Ensure(t.Context(), k.program, os.Stderr)
				if err != nil {
					t.Fatal(err)
				}
				return playKubectl(t, s, path, strings.ToLower(strings.Replace(k.prefix, "Kubectl", "shop", 1)+"-"+c.name), c.lines)
			}})
		}
	}
	return all
}

// playKubectl runs a script of commands in a namespace of its own.
func playKubectl(t *testing.T, s *server, kubectl, ns, script string) *transcript {
	named := func(text string) string { return strings.ReplaceAll(text, "NAMESPACE", ns) }
	k := &shell{t: t, s: s, kubectl: kubectl, home: t.TempDir(), r: &transcript{}}
	for name, text := range manifests {
		if err := os.WriteFile(filepath.Join(k.home, name), []byte(named(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for line := range strings.Lines(named(script)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		k.step = fmt.Sprintf("%02d %s", n, line)
		k.perform(words(strings.NewReplacer(k.values...).Replace(line)))
	}
	for name := range k.running {
		t.Errorf("the script leaves %q running", name)
	}
	return k.r
}

// shell runs kubectl. A command with "& word" before it runs on. "until word text"
// waits until it has printed the text. Its output is noted at "end word", which
// interrupts it, or "join word", which waits for its own end; "exit word" is join
// without what it printed. A command with "retry" before it is noted when it has
// succeeded: documents of OpenAPI come late. "let WORD command" keeps what the
// command prints for {WORD} in later lines.
type shell struct {
	t       *testing.T
	s       *server
	kubectl string
	home    string
	step    string
	r       *transcript

	running map[string]*background
	values  []string // of let, as strings.NewReplacer takes them
}

func (k *shell) perform(args []string) {
	k.t.Helper()
	switch args[0] {
	case "&":
		k.start(args[1], args[2:])
	case "until":
		k.running[args[1]].waitFor(k.t, strings.Join(args[2:], " "))
	case "let":
		cmd, cancel := k.command(args[2:])
		defer cancel()
		out, err := cmd.Output()
		if err != nil {
			k.t.Fatalf("%s: %v", k.step, err)
		}
		k.values = append(k.values, "{"+args[1]+"}", string(out))
	case "end", "join", "exit":
		b := k.running[args[1]]
		delete(k.running, args[1])
		if args[0] == "end" {
			if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
				k.t.Error(err)
			}
		}
		err := b.cmd.Wait()
		b.cancel()
		if args[0] == "exit" {
			b.stdout.Reset()
		}
		k.note(err, b.stdout.String(), b.stderr.String())
	case "retry":
		if !eventually(k.t.Context(), func() bool {
			cmd, cancel := k.command(args[1:])
			defer cancel()
			return cmd.Run() == nil
		}) {
			k.t.Errorf("%s: not in time", k.step)
		}
		k.perform(args[1:])
	default:
		cmd, cancel := k.command(args)
		defer cancel()
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		k.note(err, stdout.String(), stderr.String())
	}
}

// command returns kubectl with a home of its own and nothing of our environment.
func (k *shell) command(args []string) (*exec.Cmd, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(k.t.Context(), patience, errors.New("kubectl did not end"))
	cmd := exec.CommandContext(ctx, k.kubectl, args...)
	cmd.Dir = k.home
	cmd.Env = []string{"HOME=" + k.home, "KUBECONFIG=" + k.s.kubeconfig, "PATH=" + os.Getenv("PATH"), "KUBECTL_EXTERNAL_DIFF=diff -U1 -N", "KUBE_EDITOR=sed -i -e s/apples/cherries/"}
	return cmd, cancel
}

// note writes down how a command ended and what it printed.
func (k *shell) note(err error, stdout, stderr string) {
	code := "0"
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		code = fmt.Sprint(exit.ExitCode())
	} else if err != nil {
		code = err.Error()
	}
	k.r.add(k.step, "exit "+code)
	for _, out := range []struct{ name, text string }{{"", settledOutput(stdout)}, {"! ", stderr}} {
		for line := range strings.Lines(out.text) {
			k.r.add(k.step, out.name+printed(k.home, line))
		}
	}
}

var (
	// ages are what passes between two requests, or since the server started. From ten
	// minutes on they are in minutes; three digits are the m of processor time.
	ages = regexp.MustCompile(`(^|[\s(=])(?:[0-9]{1,2}m|(?:[0-9]+m)?[0-9]+s)\b`)
	// gaps between columns are as wide as the longest cell.
	gaps      = regexp.MustCompile(`\S {2,}`)
	revisions = regexp.MustCompile(`((?:resourceVersion|Resource Version):? *\\?"?:? *\\?"?)[0-9]+`)
	clocks    = regexp.MustCompile(`[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} 20[0-9]{2} [0-9:]{8} \+0000`)
	diffTimes = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:.]+ \+0000`)
	folders   = regexp.MustCompile(`/[^ \t]*(LIVE|MERGED)-[0-9]+`)
	logLines  = regexp.MustCompile(`^[EWI][0-9]{4} [0-9:.]+ +[0-9]+ `)
	services  = regexp.MustCompile(`\b10\.0\.0\.[0-9]+\b`)        // allocated at random
	ports     = regexp.MustCompile(`\b3[0-2][0-9]{3}\b`)          // as are those of nodes
	tokens    = regexp.MustCompile(`^eyJ[\w-]+\.[\w-]+\.[\w-]+$`) // signed by each server's key
	edited    = regexp.MustCompile(`kubectl-edit-[0-9]+`)
	debuggers = regexp.MustCompile(`debugger-[a-z0-9]{5}\b`)
)

// printed returns a line of kubectl without what is not the same in two runs.
func printed(home, line string) string {
	line = normal(strings.TrimRight(line, " \n"))
	line = strings.ReplaceAll(line, home, "HOME")
	line = clocks.ReplaceAllString(line, "TIME")
	line = diffTimes.ReplaceAllString(line, "TIME")
	line = folders.ReplaceAllString(line, "$1")
	line = revisions.ReplaceAllString(line, "${1}RV")
	line = logLines.ReplaceAllString(line, "LOG ")
	line = services.ReplaceAllString(line, "IP")
	line = ports.ReplaceAllString(line, "PORT")
	line = tokens.ReplaceAllString(line, "TOKEN")
	line = debuggers.ReplaceAllString(line, "debugger")
	line = edited.ReplaceAllString(line, "kubectl-edit")
	line = ages.ReplaceAllString(line, "${1}AGE")
	return gaps.ReplaceAllStringFunc(line, func(gap string) string { return strings.TrimRight(gap, " ") + "  " })
}

// words splits a line at spaces outside of single quotes.
func words(line string) []string {
	var all []string
	quoted, open := false, false
	for _, c := range line {
		switch {
		case c == '\'':
			quoted = !quoted
			if !open {
				all, open = append(all, ""), true
			}
		case c == ' ' && !quoted:
			open = false
		default:
			if !open {
				all, open = append(all, ""), true
			}
			all[len(all)-1] += string(c)
		}
	}
	return all
}

// background is a kubectl that runs on.
type background struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	stderr bytes.Buffer

	mu      sync.Mutex
	stdout  bytes.Buffer
	changed chan struct{} // closed and replaced at each change
}

func (k *shell) start(name string, args []string) {
	k.t.Helper()
	b := &background{changed: make(chan struct{})}
	b.cmd, b.cancel = k.command(args)
	b.cmd.Stdout, b.cmd.Stderr = b, &b.stderr
	if err := b.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		if b.cmd.ProcessState == nil {
			b.cmd.Process.Kill()
			b.cmd.Wait()
		}
		b.cancel()
	})
	if k.running == nil {
		k.running = make(map[string]*background)
	}
	k.running[name] = b
}

func (b *background) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stdout.Write(p)
	close(b.changed)
	b.changed = make(chan struct{})
	return len(p), nil
}

// waitFor waits until the text has been printed, and the end of its line.
func (b *background) waitFor(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		b.mu.Lock()
		printed, changed := b.stdout.String(), b.changed
		b.mu.Unlock()
		if _, after, ok := strings.Cut(printed, text); ok && strings.Contains(after, "\n") {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s did not print %q, but %q and %q", b.cmd, text, printed, b.stderr.String())
		}
	}
}
