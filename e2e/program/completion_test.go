package program_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"

	"github.com/listwatch/listwatch/e2e/binaries"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// completionShell is a shell with the completions of listwatch and kubectl.
type completionShell struct {
	name  string
	files map[string]string // of its home folder
	start string
}

var completionShells = []completionShell{
	{"bash", map[string]string{".bashrc": `PS1='ready> '
source /usr/share/bash-completion/bash_completion
source <(listwatch completion bash)
source <(kubectl completion bash)
`}, "bash --noprofile --rcfile ~/.bashrc -i"},
	{"zsh", map[string]string{".zshrc": `PS1='ready> '
fpath=(~ $fpath)
autoload -U compinit; compinit -u
`}, "listwatch completion zsh > ~/_listwatch; kubectl completion zsh > ~/_kubectl; zsh -i"},
	{"fish", map[string]string{".config/fish/config.fish": `set fish_greeting
function fish_prompt; echo 'ready> '; end
`, ".config/fish/completions/none": ""}, "for c in listwatch kubectl; do $c completion fish > ~/.config/fish/completions/$c.fish; done; fish"},
}

// TestTerminalCompletion types a prefix and TAB in the shells that people use.
func TestTerminalCompletion(t *testing.T) {
	for _, path := range []string{"bash", "zsh", "fish", "/usr/share/bash-completion/bash_completion"} {
		_, err := exec.LookPath(path)
		if filepath.IsAbs(path) {
			_, err = os.Stat(path)
		}
		if err != nil {
			t.Fatalf("%s is not there, and this test wants real shells: make shells, or apt-get install bash-completion zsh fish", path)
		}
	}
	kubectl, err := binaries.Ensure(t.Context(), binaries.Kubectl, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	program := setup.BuildProgram(t)
	srv := apitest.New(t)
	srv.Put(kube.Namespaces, `{"metadata":{"name":"shop"}}`)
	const attack = "touch${IFS}pwned"
	for _, name := range []string{"harmless-pod", "`" + attack + "`", "$(" + attack + ")", ";" + attack + ";a", "(" + attack + ")", "a|" + attack} {
		srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q},"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running","conditions":[{"type":"Ready"},{"type":"$(%s)"}]}}`, name, attack))
	}
	srv.Put(kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Plural: "clusterroles"}, `{"metadata":{"name":"system:node:far"}}`)
	kubeconfig := fmt.Sprintf(`{"clusters": [{"name": "near", "cluster": {"server": %q}}, {"name": "$(%[2]s)", "cluster": {}}], "users": [{"name": "me", "user": {}}], "current-context": "only",
		"contexts": [{"name": "only", "context": {"cluster": "near", "user": "me", "namespace": "shop"}}, {"name": "arn:aws:eks/far@east", "context": {}}, {"name": "$(%[2]s)", "context": {}}]}`, srv.URL, attack)

	for _, shell := range completionShells {
		t.Run(shell.name, func(t *testing.T) {
			home := t.TempDir()
			for name, text := range shell.files {
				write(t, filepath.Join(home, name), text)
			}
			write(t, filepath.Join(home, "config"), kubeconfig)
			bin := filepath.Join(home, "bin")
			write(t, filepath.Join(bin, "kubectl_complete-listwatch"), program.Output(t, program.Path, "completion", "kubectl"))
			for name, path := range map[string]string{"listwatch": program.Path, "kubectl-listwatch": program.Path, "kubectl": kubectl} {
				if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
					t.Fatal(err)
				}
			}
			work := t.TempDir()
			w := openTerminal(t, 140, 30, fmt.Sprintf("export HOME=%s PATH=%s:$PATH KUBECONFIG=%s/config; cd %s; %s", home, bin, home, work, shell.start))
			w.until(`^ready>`)
			within := func(quote string) string { // zsh escapes a word in place of a quote within it
				if shell.name == "zsh" {
					return ""
				}
				return quote
			}
			for _, c := range []struct{ typed, want string }{
				{`listwatch watch deploym`, `listwatch watch deployments.apps`},
				{`listwatch watch pods,deploym`, `listwatch watch pods,deployments.apps`},
				{`listwatch list pods `, `listwatch list pods harmless-pod`},
				{`listwatch list pod/`, `listwatch list pod/harmless-pod`},
				{`listwatch list pods -n sh`, `listwatch list pods -n shop`},
				{`listwatch list pods --namespace=sh`, `listwatch list pods --namespace=shop`},
				{`listwatch list pods --context on`, `listwatch list pods --context only`},
				{`listwatch list pods --context arn`, `listwatch list pods --context arn:aws:eks/far@east`},
				{`listwatch list pods --context arn:a`, `listwatch list pods --context arn:aws:eks/far@east`},
				{`listwatch list clusterroles system:no`, `listwatch list clusterroles system:node:far`},
				{`listwatch list 'clusterrole/system:no`, `listwatch list 'clusterrole/system:node:far`},
				{`listwatch watch events --for deploym`, `listwatch watch events --for deployments.apps/`},
				{`listwatch watch events --for pod/`, `listwatch watch events --for pod/harmless-pod`},
				{`listwatch list pods --cluster `, `listwatch list pods --cluster near`},
				{`listwatch fake test gone/in`, `listwatch fake test gone/in-stream`},
				{`listwatch watch pods -o kya`, `listwatch watch pods -o kyaml`},
				{`listwatch watch pods -o custom-columns-`, `listwatch watch pods -o custom-columns-file=`},
				{`listwatch watch pods --diff-ag`, `listwatch watch pods --diff-against`},
				{`listwatch watch pods --diff-against fi`, `listwatch watch pods --diff-against first`},
				{`listwatch watch pods --where .sta`, `listwatch watch pods --where .status.`},
				{`listwatch watch pods --where=.sta`, `listwatch watch pods --where=.status.`},
				{`listwatch watch pods --where '.status.ph`, `listwatch watch pods --where '.status.phase`},
				{`listwatch watch pods --where='.status.ph`, `listwatch watch pods --where=` + within("'") + `.status.phase`},
				{`listwatch watch pods --where=".status.ph`, `listwatch watch pods --where=` + within(`"`) + `.status.phase`},
				{typed: `listwatch watch pods --where='$(touch pwned) .status.ph`},
				{`listwatch watch pods --until 'count(.a > 1 and .status.ph`, `listwatch watch pods --until 'count(.a > 1 and .status.phase`},
				{`listwatch watch pods --fail-on ".a - .b == .status.ph`, `listwatch watch pods --fail-on ".a - .b == .status.phase`},
				{`listwatch watch pods --until-any '.spec.containers[].ima`, `listwatch watch pods --until-any '.spec.containers[].image`},
				{`listwatch watch pods --until condition=`, `listwatch watch pods --until condition=Ready`},
				{`listwatch watch pods --until 'condition=`, `listwatch watch pods --until 'condition=Ready`},
				{`listwatch watch pods --on-change .status.ph`, `listwatch watch pods --on-change .status.phase`},
				{`listwatch watch pods --where '.a > "pwned"; .b' -n sh`, `listwatch watch pods --where '.a > "pwned"; .b' -n shop`},
				{typed: "listwatch watch pods --where \"$(touch pwned)\" -n sh"},
				{typed: "listwatch list -f <(touch pwned) -n sh"},
				{`kubectl listwatch watch deploym`, `kubectl listwatch watch deployments.apps`},
				{`kubectl listwatch watch pods `, `kubectl listwatch watch pods harmless-pod`},
			} {
				w.complete(c.typed, c.want)
			}
			if shell.name != "zsh" { // which itself replaces such a word by what it prints
				w.complete("listwatch watch pods --where \"$(touch pwned)", "")
				w.complete("listwatch watch pods --where \"`touch pwned`", "")
				w.complete("listwatch watch pods --where=\"`touch pwned`", "")
				w.complete("listwatch list pods -n sh", "listwatch list pods -n shop")
			}
			if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
				t.Errorf("TAB wrote files: %v, %v", left, err)
			}
		})
	}
}

// complete types a line and TAB, and waits for what the line is then, if it is to be
// another one. The characters that
// a shell writes behind it, such as a space or a quote that is closed, are its own.
func (w *terminal) complete(typed, want string) {
	w.Helper()
	w.tmux("send-keys", "C-u")
	w.tmux("send-keys", "C-l")
	w.until(`\Aready> *\n\s*\z`)
	w.tmux("send-keys", "-l", typed)
	w.until(`^ready> ` + regexp.QuoteMeta(strings.TrimRight(typed, " ")))
	w.tmux("send-keys", "Tab")
	if want == "" {
		return // what comes next is read after TAB
	}
	w.until(`^ready> ` + regexp.QuoteMeta(want) + `['"]?( |$)`)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
		t.Fatal(err)
	}
}
