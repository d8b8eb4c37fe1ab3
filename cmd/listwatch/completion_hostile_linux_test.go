package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/internal/shell"
)

// hostileNames attack shells: by commands, words that end early, flags, and what cobra
// takes for its own.
var hostileNames = []string{
	"`touch${IFS}pwned`a", "`touch${IFS}pwned`b", "$(touch${IFS}pwned)", "a;touch pwned;b", "a|touch${IFS}pwned", "a\ntouch pwned\n",
	"-oevil", "--kubeconfig=evil", "_activeHelp_ \x1b]0;evil\a", "_activeHelp_evil", "a\tevil", "a\x1b[31mevil", "\u009b31mevil", "\u202eevil", "~evil", "evil*", ">evil", "'evil", `"evil`, `\evil`,
}

// TestCompletionOffersOnlyWhatNoShellInterprets: names, types, namespaces and the entries
// of a kubeconfig.
func TestCompletionOffersOnlyWhatNoShellInterprets(t *testing.T) {
	h := &hostile{names: append([]string{"good-1", "system:good"}, hostileNames...)}
	var entries strings.Builder
	for _, kind := range []string{"contexts", "clusters", "users"} {
		fmt.Fprintf(&entries, "%s:\n- {name: good, %s: {}}\n", kind, strings.TrimSuffix(kind, "s"))
		for _, name := range hostileNames {
			fmt.Fprintf(&entries, "- {name: %q, %s: {}}\n", name, strings.TrimSuffix(kind, "s"))
		}
	}
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte(entries.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range hostileNames {
		h.resources = append(h.resources, hostileResource(name, "Evil", true))
	}
	srv := h.start(t)
	for _, args := range [][]string{
		{"list", "-s", srv.URL, ""}, {"list", "-s", srv.URL, "pods,"}, {"list", "-s", srv.URL, "pods", ""}, {"list", "-s", srv.URL, "pods/"},
		{"watch", "-s", srv.URL, "pods/x", ""}, {"watch", "-s", srv.URL, "-n", ""},
		{"watch", "--kubeconfig", kubeconfig, "--context", ""}, {"watch", "--kubeconfig", kubeconfig, "--cluster", ""}, {"watch", "--kubeconfig", kubeconfig, "--user", ""},
	} {
		_, stdout, _ := runProgram(t, nil, append([]string{"__complete"}, args...)...)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		offered := lines[:len(lines)-1] // the last is the directive
		if len(offered) == 0 {
			t.Errorf("%q: nothing is offered", args)
		}
		for _, line := range offered {
			if !shell.Inert(strings.TrimPrefix(line, "pods,")) {
				t.Errorf("%q: %q is offered", args, line)
			}
		}
	}
}

// TestCompletionSkipsInvalidNames: one of them does not hide the names after it, nor the paths.
func TestCompletionSkipsInvalidNames(t *testing.T) {
	srv := (&hostile{names: []string{"a\x1b[31mevil", "good"}}).start(t)
	for _, tt := range []struct{ want, flag, prefix string }{
		{"good\n:4\n", "pods", ""},
		{"good\n:4\n", "-n", ""},
		{".kind\n:6\n", "pods", "--where=.ki"},
	} {
		args := []string{"__complete", "watch", "-s", srv.URL, tt.flag, tt.prefix}
		if _, stdout, _ := runProgram(t, nil, args...); stdout != tt.want {
			t.Errorf("%q: %q, want %q", args[4:], stdout, tt.want)
		}
	}
}

// TestTabRunsNoCode: bash inserts what is common to the completions into the command line
// and evaluates that line on the next TAB.
func TestTabRunsNoCode(t *testing.T) {
	for name, names := range map[string][]string{
		"backticks": {"`touch${IFS}pwned`a", "`touch${IFS}pwned`b"},
		"one":       {"$(touch${IFS}pwned)"},
		"semicolon": {";touch${IFS}pwned;a", ";touch${IFS}pwned;b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := (&hostile{names: names}).start(t)
			p, dir := completingBash(t, srv.URL)
			p.send("listwatch list pods \t\t\t\x15echo the e''nd\n")
			p.until(`the end`)
			if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
				t.Errorf("TAB ran a command of the server:\n%q", p.screen)
			}
		})
	}
}

// TestTabWritesNoFile: a line may have a redirection.
func TestTabWritesNoFile(t *testing.T) {
	srv := (&hostile{names: []string{"harmless-pod"}}).start(t)
	p, dir := completingBash(t, srv.URL)
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, line := range []string{"pods >kept -", "pods >kept ", "pods 2>kept ", "pods >|kept ", "pods >>kept ", "<kept pods >kept har", `"pods">kept `, `pods 'a'\''b'>kept `} {
		p.send(fmt.Sprintf("listwatch list %s\t\t\x15echo the e''nd of %d\n", line, i))
		p.until(fmt.Sprintf("the end of %d", i))
		if b, err := os.ReadFile(kept); err != nil || string(b) != "kept" {
			t.Fatalf("%s: %q, %v", line, b, err)
		}
	}
	p.send(`__listwatch_redirects "list --where '.a > 1' \">\" a\\>b"; echo "it is $?"` + "\n")
	p.until("it is 1")
}

// TestTabCompletes: the terminal of TestTabRunsNoCode does complete what is harmless.
func TestTabCompletes(t *testing.T) {
	srv := (&hostile{names: []string{"harmless-pod"}}).start(t)
	p, _ := completingBash(t, srv.URL)
	p.send("listwatch list pods harm\t")
	p.until("pods harmless-pod")
}

// completingBash returns a bash that completes the words of listwatch, for a server, and
// its folder.
func completingBash(t *testing.T, server string) (p *pty, dir string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.Symlink(exe, filepath.Join(dir, "listwatch")); err != nil {
		t.Fatal(err)
	}
	// The function is that of the package bash-completion, as far as it is needed.
	rc := `PS1='ready> '; bind 'set bell-style none'
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; }
source <(listwatch completion bash)
`
	if err := os.WriteFile(filepath.Join(dir, "rc"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	kubeconfig := "{clusters: [{name: c, cluster: {server: '" + server + "'}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}"
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--rcfile", "rc", "-i")
	cmd.Dir = dir
	cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + dir, "KUBECONFIG=" + filepath.Join(dir, "config"), "PATH=" + dir + ":" + os.Getenv("PATH"), "TERM=dumb"}
	p = onPTY(t, cmd)
	p.until(`ready> `)
	return p, dir
}
