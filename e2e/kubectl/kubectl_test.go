package kubectl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/binaries"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

// TestKubectl: what both kubectl and listwatch can print, they print alike.
func TestKubectl(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	p := setup.BuildProgram(t)
	kubectl, err := binaries.Ensure(t.Context(), binaries.Kubectl, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	const ns = "kubectl"
	if err := load.Setup(t.Context(), load.Config{URL: c.URL(), HTTP: c.HTTPClient(), Namespaces: []string{ns}}); err != nil {
		t.Fatal(err)
	}
	k := &pair{T: t, cluster: c, program: p, kubectl: kubectl, flags: []string{"--kubeconfig", setup.Kubeconfig(t, c, c.URL()), "-n", ns}, ns: ns}
	k.create("configmaps", setup.ConfigMap("aa", "one"))
	k.create("configmaps", setup.ConfigMap("bb", "two\nlines: \"quoted\" <&> é \u2028 日本\t"))
	k.create("configmaps", oddConfigMap(t))
	k.create("pods", setup.Pod("aa"))
	k.create("pods", setup.Pod("bb"))
	k.createFoo("aa", 3)
	t.Run("Lists", func(t *testing.T) { k.with(t).lists() })
	t.Run("Watches", func(t *testing.T) { k.with(t).watches() })
}

// pair runs kubectl and listwatch side by side.
type pair struct {
	*testing.T
	cluster *cluster.Cluster
	program *setup.Program
	kubectl string
	flags   []string
	ns      string
}

func (k *pair) with(t *testing.T) *pair {
	other := *k
	other.T = t
	return &other
}

// oddConfigMap has the strings that are hard to print. Not among them are U+007F,
// on which kubectl -o yaml fails, and those that YAML can quote in several ways
// of which kubectl prefers another: "<<", U+0085, and several lines with a tab.
func oddConfigMap(t *testing.T) string {
	t.Helper()
	long := strings.Repeat("twelve words of a line that is far too long to be one ", 6)
	data := make(map[string]string)
	for i, s := range []string{
		"", " ", "\n", "\n\n", "a\n", "a\n\n", "\na", " a", "a ", " a\n b", "a\n  b\n", "  a\nb", "a \nb", "\ta", "a\tb",
		"null", "~", "yes", "No", "on", "true", "1", "-1", "1.0", "1e3", "0x1f", "0o7", "010", "1_000", ".5", ".inf", "NaN", "=", "<",
		"2026-11-21", "2026-11-21T10:00:00Z", "12:30:45", "1:2", "- a", "-", "? a", ": a", "a: b", "a:", "a #b", "#a", "!a", "&a", "*a",
		"%a", "@a", "`a", "{a", "[a", "}", "]", ",", "|", ">", "'a'", "\"a\"", "it's", "a'b\"c", `a\b`, "---", "...", "--- a",
		"<&>", "\u2028", "\ufeff", "\u00a0", "\x01", "é", "日本", "😀", "a\rb", "a\r\nb", "key: value\nother: value\n",
		long, strings.TrimSpace(long), " " + long, long + "\n" + long, "x: " + long, strings.Repeat("x", 300), long + ": # 'x'",
		strings.Repeat("日本 ", 60), strings.Repeat("a  b ", 60), "'" + long + "'",
	} {
		data[fmt.Sprintf("key-%03d", i)] = s
	}
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": map[string]any{
		"name": "ab-odd", "annotations": map[string]string{"example.com/" + strings.Repeat("long-key", 7): long},
	}}
	b, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (k *pair) path(resource string) string { return "/api/v1/namespaces/" + k.ns + "/" + resource }

func (k *pair) create(resource, body string) {
	k.Helper()
	setup.MustSend(k.T, k.cluster, http.MethodPost, k.path(resource), "application/json", body)
}

func (k *pair) createFoo(name string, size int) {
	k.Helper()
	setup.MustSend(k.T, k.cluster, http.MethodPost, "/apis/example.com/v1/namespaces/"+k.ns+"/foos", "application/json",
		fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":%q},"spec":{"size":%d,"payload":"x"}}`, name, size))
}

func (k *pair) annotate(resource, name, value string) {
	k.Helper()
	setup.MustSend(k.T, k.cluster, http.MethodPatch, k.path(resource)+"/"+name, "application/merge-patch+json",
		fmt.Sprintf(`{"metadata":{"annotations":{"note":%q}}}`, value))
}

func (k *pair) delete(resource, name string) {
	k.Helper()
	setup.MustSend(k.T, k.cluster, http.MethodDelete, k.path(resource)+"/"+name, "application/json",
		`{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0}`)
}

// ages are what passes between two requests.
var ages = regexp.MustCompile(`\b[0-9]+m?[0-9]*s\b`)

// gaps between columns are as wide as what was known when they were printed.
var gaps = regexp.MustCompile(` {2,}`)

// cells leaves only what tables say.
func cells(table string) string {
	return gaps.ReplaceAllString(ages.ReplaceAllString(table, "AGE"), "  ")
}

func isTable(args string) bool {
	return !strings.Contains(args, "-o ") || strings.Contains(args, "wide")
}

func (k *pair) lists() {
	for _, args := range []string{
		"configmaps", "configmaps -o json", "configmaps -o yaml", "configmaps -o name", "configmaps -o wide",
		"configmaps -o yaml --show-managed-fields",
		"configmap aa -o json", "configmap/aa -o yaml", "configmap aa", "configmaps --no-headers",
		"configmaps -l app=nothing -o json", "configmaps -l app=nothing -o yaml",
		"pods", "pods -o wide", "pods -o json", "pods -o yaml", "pods -A", "pods -l app=web",
		"foos", "foos -o json", "foos.example.com -o name", "fo",
		"pods,configmaps", "pods,foos -o name", "nodes -o json", "namespaces -o name",
	} {
		k.Run(args, func(t *testing.T) {
			words := append(strings.Fields(args), k.flags...)
			want := k.program.Output(t, k.kubectl, append([]string{"get"}, words...)...)
			got := k.program.Output(t, k.program.Path, append([]string{"list"}, words...)...)
			if isTable(args) {
				want, got = cells(want), cells(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-kubectl +listwatch):\n%s", diff)
			}
		})
	}
}

// watches compares watches that run at the same time and see the same writes.
// kubectl does not hide managedFields inside events.
func (k *pair) watches() {
	var runs []*sideBySide
	for _, s := range []*sideBySide{
		{kubectl: "configmaps -o json --output-watch-events", listwatch: "configmaps -o json --output-watch-events --show-managed-fields"},
		{kubectl: "configmaps -o yaml --output-watch-events", listwatch: "configmaps -o yaml --output-watch-events --show-managed-fields"},
		{kubectl: "configmaps -o json", listwatch: "configmaps -o json"},
		{kubectl: "configmaps -o yaml", listwatch: "configmaps -o yaml"},
		{kubectl: "configmaps -o name", listwatch: "configmaps -o name"},
		{kubectl: "configmaps --output-watch-events", listwatch: "configmaps"},
		{kubectl: "pods --output-watch-events -o wide", listwatch: "pods -o wide"},
		{kubectl: "pods", listwatch: "pods --event-column=false"},
	} {
		s.a = k.start(k.kubectl, append(strings.Fields("get -w "+s.kubectl), k.flags...))
		s.b = k.start(k.program.Path, append(strings.Fields("watch "+s.listwatch), k.flags...))
		runs = append(runs, s)
	}
	for _, s := range runs {
		s.a.waitFor("bb")
		s.b.waitFor("bb")
	}
	k.create("configmaps", setup.ConfigMap("cc", strings.Repeat("long ", 2000)))
	k.annotate("configmaps", "aa", "changed")
	k.delete("configmaps", "bb")
	k.create("configmaps", setup.ConfigMap("bb", "again"))
	k.create("pods", setup.Pod("cc"))
	k.annotate("pods", "cc", "changed")
	k.delete("pods", "cc")
	k.create("configmaps", setup.ConfigMap("zz-end", "end"))
	k.create("pods", setup.Pod("zz-end"))
	for _, s := range runs {
		k.Run(s.listwatch, func(t *testing.T) {
			want, got := s.a.end(), s.b.end()
			if isTable(s.kubectl) {
				want, got = cells(want), cells(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-kubectl +listwatch):\n%s", diff)
			}
		})
	}
}

type sideBySide struct {
	kubectl, listwatch string
	a, b               *running
}

// running is a program that prints until it is interrupted.
type running struct {
	*testing.T
	ctx  context.Context
	name string
	cmd  *exec.Cmd

	mu      sync.Mutex
	text    []byte
	changed chan struct{} // closed and replaced at each change
}

func (k *pair) start(path string, args []string) *running {
	k.Helper()
	ctx, cancel := context.WithTimeoutCause(k.Context(), setup.Patience, fmt.Errorf("not within %s", setup.Patience))
	k.Cleanup(cancel)
	r := &running{T: k.T, ctx: ctx, name: strings.Join(append([]string{path}, args...), " "),
		cmd: k.program.Command(ctx, path, args...), changed: make(chan struct{})}
	r.cmd.Stdout = r
	if err := r.cmd.Start(); err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			r.cmd.Process.Kill()
			r.cmd.Wait()
		}
	})
	return r
}

func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, b...)
	close(r.changed)
	r.changed = make(chan struct{})
	return len(b), nil
}

// waitFor waits for a line with the word, or the first one of several lines.
func (r *running) waitFor(word string) {
	r.Helper()
	for {
		r.mu.Lock()
		text, changed := string(r.text), r.changed
		r.mu.Unlock()
		if _, after, ok := strings.Cut(text, word); ok && strings.Contains(after, "\n") {
			return
		}
		select {
		case <-changed:
		case <-r.ctx.Done():
			r.Fatalf("%s: wait for %q: %v; it printed:\n%s", r.name, word, context.Cause(r.ctx), text)
		}
	}
}

// end waits for the last object, interrupts the program and returns its output.
func (r *running) end() string {
	r.Helper()
	return r.endAt("zz-end")
}

// endAt is end where the last that is printed has this text.
func (r *running) endAt(text string) string {
	r.Helper()
	r.waitFor(text)
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		r.Fatal(err)
	}
	r.cmd.Wait() // both end with a code that says so
	return string(r.text)
}
